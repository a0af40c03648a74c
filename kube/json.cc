#include "kube/json.h"

namespace subak {

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  std::size_t plain = 0;  // no character after this needed an escape
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

void append_json_bytes(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto at = [bytes](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
  };
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4 + 2);
  out += '"';
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned three = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    const std::size_t digits = std::min<std::size_t>(bytes.size() - i, 3) + 1;
    for (std::size_t d = 0; d < 4; ++d) {
      out += d < digits ? kDigits[three >> (18 - 6 * d) & 63] : '=';
    }
  }
  out += '"';
}

void append_json_member(std::string& out, std::string_view key, std::string_view text) {
  if (!out.ends_with('{')) out += ',';
  append_json_string(out, key);
  out += ':';
  append_json_string(out, text);
}

}  // namespace subak
