// A small writer of JSON text. The writer writes values in the order of the calls, with an indent
// of two spaces. Doubles have nine digits, except in exact().
// Threads: one at a time for each object.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

namespace subak::sim {

// Writes one value to a stream. The caller must make sure that brackets and keys match.
class JsonOut {
 public:
  explicit JsonOut(std::ostream& out) : out_(out) {}
  // Begins an object or a list: '{' or '['.
  JsonOut& open(char bracket);
  // Ends the object or list: '}' or ']'.
  JsonOut& close(char bracket);
  // Writes the name of the next value of an object.
  JsonOut& key(std::string_view name);
  // Each of these writes one value. Texts are quoted and escaped.
  JsonOut& value(std::string_view text);
  JsonOut& value(const char* text) { return value(std::string_view(text)); }
  // Writes the number with nine digits; null if the number is not finite.
  JsonOut& value(double number);
  // Writes the number like value(), but with so many digits that a reader gets exactly the same
  // number.
  JsonOut& exact(double number);
  JsonOut& value(std::int64_t number);
  JsonOut& value(std::size_t number) { return value(static_cast<std::int64_t>(number)); }
  JsonOut& value(std::optional<double> number) { return number ? value(*number) : null(); }
  JsonOut& null();
  // Writes a name and its value.
  template <class T>
  JsonOut& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

 private:
  // Writes the comma and the new line that the next value needs.
  void begin_value();
  // Writes a line end and the indent.
  void new_line();
  // Writes a number. `digits` is the number of significant digits; 0 means as many as in exact().
  JsonOut& put(double number, int digits);
  std::ostream& out_;
  // For each open bracket: true if a value was already written inside the bracket.
  std::vector<bool> has_items_;
  // True: the next value follows its name on the same line.
  bool after_key_ = false;
};

}  // namespace subak::sim
