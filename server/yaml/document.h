// Reads a YAML file that people write: whole, or not at all. yaml-cpp alone reads the first document and ignores the
// others, takes one of two equal keys, and stops at a control character. What a key means is for the caller, who refuses
// the keys that it does not know. Threads: pure functions.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <optional>
#include <string>

namespace subak {

struct YamlMistake {
  std::size_t line = 1;
  std::string what;  // "mode: was \"mode\", want each key once"
};

struct YamlDocument {
  YAML::Node
      root;  // null where the text holds nothing; every key in it is a text that stands once in its map
  std::optional<YamlMistake> mistake{};  // then root is null
};

// A mistake is the first of: bytes that are no UTF-8, a control character, what is no YAML, a second document, a key
// that stands twice or is no text, a tag of another type. Takes texts of any size; limits::kMaxWrittenFileBytes is for
// who reads the file.
YamlDocument read_yaml(const std::string& text);

// The line of a node, from 1.
std::size_t line_of(const YAML::Node& node);

}  // namespace subak
