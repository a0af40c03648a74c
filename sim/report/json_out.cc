#include "sim/report/json_out.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace subak::sim {

void JsonOut::new_line() { out_ << '\n' << std::string(2 * has_items_.size(), ' '); }

void JsonOut::begin_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ << ',';
  has_items_.back() = true;
  new_line();
}

JsonOut& JsonOut::open(char bracket) {
  begin_value();
  out_ << bracket;
  has_items_.push_back(false);
  return *this;
}

JsonOut& JsonOut::close(char bracket) {
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) new_line();
  out_ << bracket;
  if (has_items_.empty()) out_ << '\n';
  return *this;
}

JsonOut& JsonOut::key(std::string_view name) {
  value(name);
  out_ << ": ";
  after_key_ = true;
  return *this;
}

JsonOut& JsonOut::value(std::string_view text) {
  begin_value();
  out_ << '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ << '\\' << c;
    } else if (byte < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out_ << "\\u00" << kHex[byte >> 4] << kHex[byte & 15];
    } else {
      out_ << c;
    }
  }
  out_ << '"';
  return *this;
}

JsonOut& JsonOut::value(double number) { return put(number, 9); }
JsonOut& JsonOut::exact(double number) { return put(number, 0); }

JsonOut& JsonOut::put(double number, int digits) {
  if (!std::isfinite(number)) return null();
  begin_value();
  std::array<char, 40> text{};
  char* const last = text.data() + text.size();
  const auto end =
      digits > 0 ? std::to_chars(text.data(), last, number, std::chars_format::general, digits)
                 : std::to_chars(text.data(), last, number);
  out_.write(text.data(), end.ptr - text.data());
  return *this;
}

JsonOut& JsonOut::value(std::int64_t number) {
  begin_value();
  out_ << number;
  return *this;
}

JsonOut& JsonOut::null() {
  begin_value();
  out_ << "null";
  return *this;
}

}  // namespace subak::sim
