// Names that are hard to show, for tests of printable() and of each output: they move the cursor,
// reverse or end the line, are invisible, or are formulas. All are UTF-8 without NUL.
#pragma once

#include <array>
#include <string_view>

namespace subak::test {

struct OddName {
  std::string_view text;
  bool printable = false;  // printable(): a new object may have it
};

inline constexpr std::array<OddName, 64> kOddNames{{
    // Formulas.
    {"=1+1", true},
    {"=HYPERLINK(\"http://a.example\",\"b\")", true},
    {"=cmd|' /C calc'!A0", true},
    {"+1+1", true},
    {"-1+1", true},
    {"-2", true},
    {"@SUM(A1)", true},
    {"+", true},
    {"@", true},
    {"--", true},
    {"\xEF\xBC\x9D"
     "1",
     true},  // wide =
    {"\xEF\xBC\x8B"
     "1",
     true},  // wide +
    {"\xEF\xBC\x8D"
     "1",
     true},  // wide -
    {"\xEF\xBC\xA0"
     "a",
     true},  // wide @
    {"'=1", true},
    {"a;=1+1", true},
    {"a,=1+1", true},
    {"\"=1\"", true},
    {"\t=1+1"},
    {"\r=1+1"},
    {"\n=1+1"},
    {"=\t1"},
    // Controls.
    {"a\nb"},
    {"a\rb"},
    {"a\tb"},
    {"a\bb"},
    {"\x01"},
    {"\x1b[31mred"},
    {"\x1b]0;title\x07"},
    {"\x1b[2J\x1b[H"},
    {"a\x7f"},
    {"\xC2\x80"},
    {"\xC2\x85"},
    {"\xC2\x9b"
     "31mred"},
    {"\xC2\x9d"
     "0;title\xC2\x9c"},
    // Directions.
    {"a\xE2\x80\xAE"
     "gnp.exe"},
    {"\xE2\x80\xAA"
     "a\xE2\x80\xAC"},
    {"\xE2\x80\xAB"
     "a"},
    {"\xE2\x80\xAD"
     "a"},
    {"\xE2\x80\x8E"},
    {"a\xE2\x80\x8F"},
    {"\xE2\x81\xA6"
     "a\xE2\x81\xA9"},
    {"\xE2\x81\xA7"},
    {"\xD8\x9C"
     "a"},
    // Not seen.
    {"a\xE2\x80\x8B"
     "b"},
    {"a\xE2\x80\x8C"
     "b"},
    {"a\xE2\x80\x8D"
     "b"},
    {"a\xE2\x81\xA0"
     "b"},
    {"\xEF\xBB\xBF"
     "a"},
    {"a\xC2\xAD"
     "b"},
    {"\xE1\xA0\x8E"},
    {"\xE3\x85\xA4"},
    {"a\xCD\x8F"
     "b"},
    {"a\xEF\xB8\x8F"},
    {"a\xF3\xA0\x80\x81"},
    {"a\xF3\xA0\x81\xA1"},
    {"a\xF3\xA0\x84\x80"},
    {"\xE2\x80\xA8"},
    {"a\xE2\x80\xA9"
     "b"},
    {"a\xEF\xBF\xBA"
     "b"},
    {"a\xEF\xBF\xBF"},
    // Odd and harmless.
    {"naive \xC3\xA9t\xC3\xA9", true},
    {"\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", true},
    {"\xF0\x9F\x98\x80 <b>&amp;</b>", true},
}};

}  // namespace subak::test
