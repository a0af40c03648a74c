#include "kube/json.h"

namespace subak {

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  std::size_t plain = 0;  // from here on nothing had to be escaped
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto u = static_cast<unsigned char>(text[i]);
    if (u >= 0x20 && u != '"' && u != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    if (u >= 0x20) {
      out += '\\';
      out += text[i];
    } else {
      out += "\\u00";
      out += kHex[u >> 4];
      out += kHex[u & 15];
    }
  }
  out.append(text, plain);
  out += '"';
}

simdjson::simdjson_result<json::Value> json::Parser::parse(std::string_view text, bool padded) {
  const bool grown = parser_ && parser_->capacity() > kKeptBytes;
  if (!parser_ || (grown && text.size() <= kKeptBytes)) {
    parser_ = std::make_unique<simdjson::dom::parser>();
  }
  return parser_->parse(text.data(), text.size(), !padded);
}

void append_json_member(std::string& out, std::string_view key, std::string_view text) {
  if (!out.ends_with('{')) out += ',';
  append_json_string(out, key);
  out += ':';
  append_json_string(out, text);
}

}  // namespace subak
