// Expands short text to a large input, so that a fuzzer finds faults that only size causes.
// `%1000%` becomes 1,000 bytes of text. `@1000(f: 1 )` repeats the text in parentheses 1,000 times.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace subak::fuzz {

class Expander {
 public:
  // All expansions of this object together add at most `room` bytes. Others stay unexpanded.
  explicit Expander(std::size_t room) : room_(room) {}

  std::string expand(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      if (!take_text(text, out) && !take_list(text, out)) {
        out += text.front();
        text.remove_prefix(1);
      }
    }
    return out;
  }

 private:
  // Takes `mark`, a number and `end` from the front of `text`. 0: the text has another form.
  static std::size_t take_number(std::string_view& text, char mark, char end) {
    if (text.front() != mark) return 0;
    std::size_t n = 0;
    const char* const last = text.data() + text.size();
    const auto [stop, ec] = std::from_chars(text.data() + 1, last, n);
    if (ec != std::errc() || stop == last || *stop != end) return 0;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
    return n;
  }
  bool pay(std::size_t bytes, std::size_t times) {
    if (times == 0 || bytes > room_ / times) return false;
    room_ -= bytes * times;
    return true;
  }
  bool take_text(std::string_view& text, std::string& out) {
    std::string_view rest = text;
    const std::size_t n = take_number(rest, '%', '%');
    if (!pay(1, n)) return false;
    out.append(n, 'x');
    text = rest;
    return true;
  }
  bool take_list(std::string_view& text, std::string& out) {
    std::string_view rest = text;
    const std::size_t n = take_number(rest, '@', '(');
    const auto close = rest.find(')');
    if (n == 0 || close == std::string_view::npos) return false;
    std::string item;
    for (std::string_view inner = rest.substr(0, close); !inner.empty();) {
      if (take_text(inner, item)) continue;
      item += inner.front();
      inner.remove_prefix(1);
    }
    if (!pay(item.size(), n)) return false;
    for (std::size_t i = 0; i < n; ++i) out += item;
    text = rest.substr(close + 1);
    return true;
  }

  std::size_t room_;
};

}  // namespace subak::fuzz
