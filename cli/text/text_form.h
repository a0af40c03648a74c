// Messages as JSON and YAML. JSON is protobuf's own mapping (lowerCamelCase names, int64 as
// strings, all fields written out). YAML has the same names and values. YAML escapes characters
// that are not printable().
// Threads: any; pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace subak::cli {

// Returns indented JSON, which ends with a newline.
std::string to_json(const google::protobuf::Message& message);
// Returns JSON in one line, without a newline.
std::string to_json_line(const google::protobuf::Message& message);
// Returns one YAML document, which ends with a newline.
std::string to_yaml(const google::protobuf::Message& message);
// Converts any JSON document to YAML. It quotes strings that YAML would read as another type.
std::string json_to_yaml(std::string_view json);

}  // namespace subak::cli
