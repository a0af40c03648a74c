#include "cli/text/text_form.h"

#include <google/protobuf/util/json_util.h>
#include <strings.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <boost/json.hpp>
#include <cassert>
#include <charconv>

#include "core/printable.h"

namespace subak::cli {
namespace {

std::string json_text(const google::protobuf::Message& message, bool indented) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = indented;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  assert(status.ok());
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

// True if a YAML reader would take the plain text for a number, a truth value or null.
bool is_ambiguous(const std::string& text) {
  if (text.empty()) return true;
  static const char* const kWords[] = {"true", "false", "yes", "no", "on", "off", "null", "~"};
  for (const char* word : kWords) {
    if (strcasecmp(text.c_str(), word) == 0) return true;
  }
  const char first = text.front();
  return (first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.';
}

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void emit(YAML::Emitter& out, const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out << YAML::Null;
      return;
    case boost::json::kind::bool_:
      out << value.get_bool();
      return;
    case boost::json::kind::int64:
      out << value.get_int64();
      return;
    case boost::json::kind::uint64:
      out << value.get_uint64();
      return;
    case boost::json::kind::double_:
      out << shortest(value.get_double());
      return;
    case boost::json::kind::string: {
      const std::string text(value.get_string());
      if (is_ambiguous(text)) out << YAML::DoubleQuoted;
      if (!is_printable(text)) out << YAML::DoubleQuoted << YAML::EscapeNonAscii;
      out << text;
      return;
    }
    case boost::json::kind::array:
      if (value.get_array().empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const auto& item : value.get_array()) emit(out, item);
      out << YAML::EndSeq;
      return;
    case boost::json::kind::object:
      if (value.get_object().empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& member : value.get_object()) {
        out << YAML::Key << std::string(member.key()) << YAML::Value;
        emit(out, member.value());
      }
      out << YAML::EndMap;
      return;
  }
}

}  // namespace

std::string to_json(const google::protobuf::Message& message) { return json_text(message, true); }
std::string to_json_line(const google::protobuf::Message& message) {
  return json_text(message, false);
}

std::string json_to_yaml(std::string_view json) {
  YAML::Emitter out;
  emit(out, boost::json::parse(json));
  return std::string(out.c_str()) + "\n";
}

std::string to_yaml(const google::protobuf::Message& message) {
  return json_to_yaml(to_json(message));
}

}  // namespace subak::cli
