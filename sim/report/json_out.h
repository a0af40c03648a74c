// A small writer of JSON text: values in the order of the calls, two spaces of indent, doubles with
// nine digits except in exact().
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

namespace subak::sim {

class JsonOut {
 public:
  explicit JsonOut(std::ostream& out) : out_(out) {}
  JsonOut& open(char bracket);   // '{' or '['
  JsonOut& close(char bracket);  // '}' or ']'
  JsonOut& key(std::string_view name);
  JsonOut& value(std::string_view text);
  JsonOut& value(const char* text) { return value(std::string_view(text)); }
  JsonOut& value(double number);  // null unless finite
  JsonOut& exact(double number);  // as value(), all digits
  JsonOut& value(std::int64_t number);
  JsonOut& value(std::size_t number) { return value(static_cast<std::int64_t>(number)); }
  JsonOut& value(std::optional<double> number) { return number ? value(*number) : null(); }
  JsonOut& null();
  template <class T>
  JsonOut& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

 private:
  void begin_value();
  void new_line();
  JsonOut& put(double number, int digits);  // 0: as many digits as needed to read it back
  std::ostream& out_;
  std::vector<bool> has_items_;
  bool after_key_ = false;
};

}  // namespace subak::sim
