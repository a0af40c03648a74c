// Reads YAML that people write, and refuses a text that yaml-cpp alone would read only in part.
// yaml-cpp alone reads only the first document, takes one of two equal keys, and stops at a control
// character. The caller interprets the keys and refuses unknown ones. Threads: any; pure functions.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace subak {

// The first mistake in a file.
struct YamlMistake {
  std::size_t line = 1;
  std::string what;  // "mode: was \"mode\", want each key once"
};

// A document, or the first mistake in its text.
struct YamlDocument {
  // The root of the document; null if the text is empty. Every key is a text and occurs once in its
  // map.
  YAML::Node root;
  // The first mistake in the text; nullopt: there is none. If `mistake` is set, `root` is null.
  std::optional<YamlMistake> mistake{};
};

// Reads a text of any size; read_written_file() limits the size of a file. These are the mistakes,
// and the function reports the first of them:
// - bytes that are not UTF-8,
// - a control character,
// - text that is not YAML,
// - a second document,
// - a key that occurs twice or is not a text,
// - a tag of another type.
YamlDocument read_yaml(const std::string& text);

// All documents of a text, or the first mistake in it.
struct YamlDocuments {
  // The roots in the order of the text. A document without content has a null root.
  std::vector<YAML::Node> roots;
  // The first mistake in the text; nullopt: there is none. If `mistake` is set, `roots` is empty.
  std::optional<YamlMistake> mistake{};
};

// Reads a text with any number of documents, such as Kubernetes manifests. The mistakes are those
// of read_yaml(), except a second document. An alias may make the documents much larger than the
// text: the caller must limit how many nodes it visits.
YamlDocuments read_yaml_documents(const std::string& text);

// Returns the line of a node, from 1.
std::size_t line_of(const YAML::Node& node);

}  // namespace subak
