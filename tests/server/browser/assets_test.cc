#include "server/http/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Asset kFiles[] = {
    {"/", "text/html; charset=utf-8", "\"p1\"", "<!doctype html>", "packed page"},
    {"/assets/main.1f.js", "text/javascript", "\"j1\"", "let a", "", true},
};

TEST(Assets, AFileAndItsHeaders) {
  const Assets assets(kFiles);
  const auto page = assets.answer("/", "", "");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->body, "<!doctype html>");
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page->headers, HasSubstr("\r\nETag: \"p1\"\r\n"));
  EXPECT_THAT(page->headers, HasSubstr("\r\nCache-Control: no-cache\r\n"));
  EXPECT_THAT(page->headers, HasSubstr("script-src 'self'"));
  EXPECT_THAT(page->headers, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page->headers, Not(HasSubstr("Content-Encoding")));
  EXPECT_THAT(assets.answer("/assets/main.1f.js", "", "")->headers, HasSubstr("immutable"));
}

TEST(Assets, PackedForWhoReadsIt) {
  const Assets assets(kFiles);
  for (const char* accept : {"gzip", "br, gzip;q=0.5", "*", "deflate,gzip"}) {
    const auto page = assets.answer("/", accept, "");
    EXPECT_EQ(page->body, "packed page") << accept;
    EXPECT_THAT(page->headers, HasSubstr("\r\nContent-Encoding: gzip"));
  }
  for (const char* accept : {"", "br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"}) {
    EXPECT_EQ(assets.answer("/", accept, "")->body, "<!doctype html>") << accept;
  }
  EXPECT_EQ(assets.answer("/assets/main.1f.js", "gzip", "")->body, "let a") << "not packed";
}

TEST(Assets, NotSentTwice) {
  const Assets assets(kFiles);
  for (const char* has : {"\"p1\"", "\"x\", W/\"p1\"", "*"}) {
    const auto page = assets.answer("/", "gzip", has);
    EXPECT_EQ(page->status, 304) << has;
    EXPECT_EQ(page->body, "");
    EXPECT_THAT(page->headers, HasSubstr("ETag"));
  }
  EXPECT_EQ(assets.answer("/", "", "\"p2\"")->status, 200);
}

TEST(Assets, ViewsAreThePage) {
  const Assets assets(kFiles);
  EXPECT_EQ(assets.answer("/jobs/1-42", "", "")->body, "<!doctype html>");
  EXPECT_FALSE(assets.answer("/assets/main.js", "", ""));
  EXPECT_FALSE(Assets({}).answer("/", "", ""));
  EXPECT_TRUE(Assets({}).empty());
}

}  // namespace
}  // namespace subak
