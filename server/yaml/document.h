// Reads a YAML file that people write, completely or not at all. yaml-cpp alone reads the first
// document and ignores others, takes one of two equal keys, and stops at a control character. The
// caller interprets keys and refuses unknown ones. Threads: pure functions.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <optional>
#include <string>

namespace subak {

// The first mistake in a file.
struct YamlMistake {
  std::size_t line = 1;
  std::string what;  // "mode: was \"mode\", want each key once"
};

// A document, or its first mistake.
struct YamlDocument {
  // Null if the text is empty; every key is a text and unique in its map.
  YAML::Node root;
  // The first mistake; then `root` is null.
  std::optional<YamlMistake> mistake{};
};

// Reads a text of any size; code that reads the file applies limits::kMaxWrittenFileBytes. It
// reports the first mistake:
// - bytes that are not UTF-8,
// - a control character,
// - text that is not YAML,
// - a second document,
// - a key that occurs twice or is not a text,
// - a tag of another type.
YamlDocument read_yaml(const std::string& text);

// Returns the line of a node, from 1.
std::size_t line_of(const YAML::Node& node);

}  // namespace subak
