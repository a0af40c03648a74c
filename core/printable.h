// Makes text that other programs sent safe to show in tables, CSV, charts, logs, events and
// messages. Invisible characters, and characters that change the text around them, become escapes:
// controls (C0, DEL, C1), format characters (U+202E, U+200B), line and paragraph separators,
// default-ignorable characters, and noncharacters. JSON output does not use these functions.
// Threads: any; pure functions.
// Source: Unicode 15, general categories Cc, Cf, Zl, Zp, and Default_Ignorable_Code_Point.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace subak {

// One character of a text, or one byte that is not UTF-8.
struct Piece {
  // The length of the piece in bytes, 1 to 4.
  std::size_t bytes = 0;
  // True if the piece needs no escape.
  bool printable = false;
};
// Returns the first piece of `text`, which must not be empty.
Piece first_piece(std::string_view text);

// True if no character of `text` needs an escape. New names must be printable.
bool is_printable(std::string_view text);

// Returns the text with escapes: "\n", "\t", "\u202e", "\U000e0001"; "\xff" for a byte that is not
// UTF-8. A backslash in the text stays unchanged.
std::string printable(std::string_view text);

// Returns the text as one line without escapes. The function turns unprintable characters into
// spaces, replaces several spaces by one, and trims both ends.
std::string one_line(std::string_view text);

// Returns the text for HTML and SVG: & < > and both quotes become entities. Unprintable characters
// stay, so call printable() first if the text may have some.
std::string html_text(std::string_view text);

// Returns the bytes as hexadecimal digits, two for each byte.
std::string hex(std::string_view bytes);

// The text of the error (Error::want) for a new name that is not printable.
inline constexpr std::string_view kWantPrintable =
    "want text without control and format characters";

}  // namespace subak
