#include "core/printable.h"

#include <gtest/gtest.h>

#include "core/text.h"

namespace subak {
namespace {

TEST(Printable, WhatIsSeenStaysAsItIs) {
  for (const std::string text : {"", "train-1", "=1+1", "a\\n", "naïve Größe", "训练", "обучение",
                                 "\xC2\xA0", "😀", "e\xCC\x81", "\xEF\xBF\xBD"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, WhatIsNotSeenIsAnEscape) {
  struct Case {
    const char* text;
    const char* shown;
  };
  for (const Case& c : {
           Case{"a\nb\tc\rd", "a\\nb\\tc\\rd"},
           Case{"\x1b[31m", "\\u001b[31m"},
           Case{"\x7f", "\\u007f"},
           Case{"\xC2\x80", "\\u0080"},
           Case{"\xC2\x9b", "\\u009b"},
           Case{"\xC2\xAD", "\\u00ad"},
           Case{"\xCD\x8F", "\\u034f"},
           Case{"a\xE2\x80\xAE"
                "b",
                "a\\u202eb"},
           Case{"\xE2\x80\x8B", "\\u200b"},
           Case{"\xE2\x80\xA8\xE2\x80\xA9", "\\u2028\\u2029"},
           Case{"\xE2\x81\xA6", "\\u2066"},
           Case{"\xEF\xB8\x8F", "\\ufe0f"},
           Case{"\xEF\xBB\xBF", "\\ufeff"},
           Case{"\xEF\xBF\xBF", "\\uffff"},
           Case{"\xF0\x9F\xBF\xBE", "\\U0001fffe"},
           Case{"\xF3\xA0\x80\x81", "\\U000e0001"},
       }) {
    EXPECT_FALSE(is_printable(c.text)) << c.shown;
    EXPECT_EQ(printable(c.text), c.shown);
  }
  EXPECT_EQ(printable(std::string("\0", 1)), "\\u0000");
}

TEST(Printable, WhatIsNoUtf8IsBytes) {
  EXPECT_EQ(printable("\xff"
                      "a"),
            "\\xffa");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf") << "too long a form";
  EXPECT_EQ(printable("\xE0\x80\xAF"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half a pair";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(printable("\xE2\x80"), "\\xe2\\x80") << "cut off";
  EXPECT_EQ(printable("\x80"), "\\x80");
}

// What is printable needs no escape a second time.
TEST(Printable, HtmlKeepsTextApartFromTags) {
  EXPECT_EQ(html_text("<b a=\"1\" c='2'>&amp;</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
  EXPECT_EQ(html_text("a\nb\xff"), "a\nb\xff");
}

TEST(Printable, HexOfBytes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(hex("\0\x0f\xf0\xff"sv), "000ff0ff");
  EXPECT_EQ(hex(""), "");
}

TEST(Printable, OfEveryCharacter) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    const auto add = [&text](char32_t byte) { text += static_cast<char>(byte); };
    if (c < 0x80) {
      add(c);
    } else if (c < 0x800) {
      add(0xC0 | c >> 6);
      add(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      add(0xE0 | c >> 12);
      add(0x80 | (c >> 6 & 0x3F));
      add(0x80 | (c & 0x3F));
    } else {
      add(0xF0 | c >> 18);
      add(0x80 | (c >> 12 & 0x3F));
      add(0x80 | (c >> 6 & 0x3F));
      add(0x80 | (c & 0x3F));
    }
    const std::string shown = printable(text);
    ASSERT_EQ(shown == text, is_printable(text)) << std::hex << static_cast<std::uint32_t>(c);
    ASSERT_TRUE(is_printable(shown));
  }
}

// A log line shows as little, and can be read back.
TEST(Printable, TheTextFormEscapesItsBytes) {
  const std::string value = "Größe \"a\\b\" \xE2\x80\xAE\xC2\x9b\xff\n😀";
  std::string out;
  text::write_string(out, value);
  EXPECT_EQ(out, "\"Größe \\\"a\\\\b\\\" \\xe2\\x80\\xae\\xc2\\x9b\\xff\\n😀\"");
  text::Reader reader(out);
  EXPECT_EQ(reader.read_string("value"), value);
}

TEST(OneLine, ShowsAsItReads) {
  EXPECT_EQ(one_line("0/3 nodes are available"), "0/3 nodes are available");
  EXPECT_EQ(one_line("  a\n\tb\r\nc  "), "a b c");
  EXPECT_EQ(one_line(""), "");
  EXPECT_EQ(one_line("\n\x01\x7f"), "");
  EXPECT_EQ(one_line("\u00e9\u4e2d\U0001F600"), "\u00e9\u4e2d\U0001F600");
  // Direction, zero width, separators, C1, soft hyphen, tags.
  for (const char* hidden :
       {"\u202e", "\u200b", "\u2028", "\u0085", "\u00ad", "\u2066", "\ufeff", "\U000E0041"}) {
    EXPECT_EQ(one_line(std::string("a") + hidden + "b"), "a b") << hidden;
  }
  EXPECT_EQ(one_line("a\x1b[31mb"), "a [31mb");
  // No UTF-8: cut short, overlong, a surrogate, beyond the last character.
  for (const char* bytes :
       {"a\xe4\xb8", "a\xc0\xaf", "a\xed\xa0\x80", "a\xf5\x80\x80\x80", "a\xff"}) {
    EXPECT_EQ(one_line(bytes), "a");
  }
}

}  // namespace
}  // namespace subak
