// Text from outside as it is shown: in tables, CSV, pictures, logs, events and messages. A character that is not
// seen where it stands, or that changes what stands around it, is shown as an escape: controls (C0, DEL, C1),
// format characters (U+202E, U+200B), line and paragraph separators, what is ignored where it is shown, and
// noncharacters. JSON alone keeps text as it is. Threads: pure functions.
// (Unicode 15: general categories Cc, Cf, Zl, Zp, and Default_Ignorable_Code_Point.)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace subak {

// A character, or a byte that is no UTF-8.
struct Piece {
  std::size_t bytes = 0;
  bool printable = false;  // not to be escaped
};
// `text` is not empty.
Piece first_piece(std::string_view text);

// Nothing in it is to be escaped. New names are like this.
bool is_printable(std::string_view text);

// With escapes: "\n", "\t", "\u202e", "\U000e0001"; "\xff" for a byte that is no UTF-8. A backslash of the text
// stays as it is.
std::string printable(std::string_view text);

// In one line without escapes: what is not printable is a space, several spaces are one, and none is at the ends.
std::string one_line(std::string_view text);

// What is wrong with a new name that is not printable.
inline constexpr std::string_view kWantPrintable =
    "want text without control and format characters";

}  // namespace subak
