#include "core/printable.h"

#include <algorithm>
#include <array>

namespace subak {
namespace {

struct Range {
  char32_t first, last;
};

// The hidden characters, sorted. The noncharacters at the end of each plane are not in the list:
// the code finds them by their last 16 bits.
constexpr std::array kHidden{
    Range{0x00, 0x1F},       Range{0x7F, 0x9F},       Range{0xAD, 0xAD},
    Range{0x34F, 0x34F},     Range{0x600, 0x605},     Range{0x61C, 0x61C},
    Range{0x6DD, 0x6DD},     Range{0x70F, 0x70F},     Range{0x890, 0x891},
    Range{0x8E2, 0x8E2},     Range{0x115F, 0x1160},   Range{0x17B4, 0x17B5},
    Range{0x180B, 0x180F},   Range{0x200B, 0x200F},   Range{0x2028, 0x202E},
    Range{0x2060, 0x206F},   Range{0x3164, 0x3164},   Range{0xFDD0, 0xFDEF},
    Range{0xFE00, 0xFE0F},   Range{0xFEFF, 0xFEFF},   Range{0xFFA0, 0xFFA0},
    Range{0xFFF0, 0xFFFB},   Range{0x110BD, 0x110BD}, Range{0x110CD, 0x110CD},
    Range{0x13430, 0x1343F}, Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A},
    Range{0xE0000, 0xE0FFF}};

bool is_hidden(char32_t c) {
  if ((c & 0xFFFE) == 0xFFFE) return true;
  const auto* const it = std::lower_bound(kHidden.begin(), kHidden.end(), c,
                                          [](const Range& r, char32_t of) { return r.last < of; });
  return it != kHidden.end() && it->first <= c;
}

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the first byte begins no character
};

// Returns the first character of `text`, which must not be empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  char32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool is_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return is_long || is_surrogate || code > 0x10FFFF ? Character{} : Character{code, bytes};
}

void append_hex(std::string& out, char32_t value, int digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[value >> shift & 15U];
}

// Appends the escape of `text`, which is one piece that is not printable.
void append_escape(std::string& out, std::string_view text) {
  const Character c = first_character(text);
  if (c.bytes == 0) {
    out += "\\x";
    append_hex(out, static_cast<unsigned char>(text[0]), 2);
  } else if (c.code == '\n' || c.code == '\t' || c.code == '\r') {
    out += c.code == '\n' ? "\\n" : c.code == '\t' ? "\\t" : "\\r";
  } else {
    out += c.code > 0xFFFF ? "\\U" : "\\u";
    append_hex(out, c.code, c.code > 0xFFFF ? 8 : 4);
  }
}

// Returns the number of bytes before the first byte that is not printable ASCII.
std::size_t plain_bytes(std::string_view text) {
  const auto it =
      std::find_if(text.begin(), text.end(), [](char c) { return c < 0x20 || c >= 0x7F; });
  return static_cast<std::size_t>(it - text.begin());
}

}  // namespace

Piece first_piece(std::string_view text) {
  const Character c = first_character(text);
  return c.bytes == 0 ? Piece{1, false} : Piece{c.bytes, !is_hidden(c.code)};
}

bool is_printable(std::string_view text) {
  for (text.remove_prefix(plain_bytes(text)); !text.empty();
       text.remove_prefix(plain_bytes(text))) {
    const Piece piece = first_piece(text);
    if (!piece.printable) return false;
    text.remove_prefix(piece.bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const std::size_t plain = plain_bytes(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return out;
    const Piece piece = first_piece(text);
    const std::string_view bytes = text.substr(0, piece.bytes);
    if (piece.printable) {
      out += bytes;
    } else {
      append_escape(out, bytes);
    }
    text.remove_prefix(piece.bytes);
  }
}

std::string one_line(std::string_view text) {
  std::string out;
  bool space = false;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (!piece.printable || text[0] == ' ') {
      space = !out.empty();
    } else {
      if (space) out += ' ';
      space = false;
      out += text.substr(0, piece.bytes);
    }
    text.remove_prefix(piece.bytes);
  }
  return out;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace subak
