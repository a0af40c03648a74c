#include "admission/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "fixture.h"

namespace subak {
namespace {

using test::Parsed;
using ::testing::HasSubstr;

std::string error_of(std::string text) {
  const Parsed p(std::move(text));
  return p.result->ok() ? "" : p.result->error().message();
}

TEST(Review, ReadsARequest) {
  const Parsed p(test::review_text(
      R"({"metadata":{}})", "team-a", "ana", "UPDATE", R"({"metadata":{"name":"old"}})",
      R"({"group":"batch","version":"v1","kind":"Job"})", R"(["a","b"])"));
  const Review& r = p.review();
  EXPECT_EQ(r.uid, "u-1");
  EXPECT_EQ(r.group, "batch");
  EXPECT_EQ(r.kind, "Job");
  EXPECT_EQ(r.ns, "team-a");
  EXPECT_EQ(r.operation, "UPDATE");
  EXPECT_EQ(r.username, "ana");
  EXPECT_EQ(r.groups, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(r.object && r.old_object);
  EXPECT_FALSE(r.dry_run);
}

TEST(Review, RefusesWhatIsNoReview) {
  EXPECT_THAT(error_of(""), HasSubstr("body"));
  EXPECT_THAT(error_of("nonsense"), HasSubstr("body"));
  EXPECT_THAT(error_of("[]"), HasSubstr("kind"));
  EXPECT_THAT(error_of("{}"), HasSubstr("kind"));
  EXPECT_THAT(error_of(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})"),
              HasSubstr("apiVersion"));
  EXPECT_THAT(error_of(R"({"kind":"Pod","apiVersion":"admission.k8s.io/v1"})"),
              HasSubstr("want AdmissionReview"));
  EXPECT_THAT(error_of(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})"),
              HasSubstr("request"));
  EXPECT_THAT(
      error_of(
          R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""}})"),
      HasSubstr("uid"));
}

TEST(Review, RefusesEveryTruncation) {
  const std::string whole = test::review_text(test::pod(test::container("nvidia.com/gpu", "1")));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(Parsed(whole.substr(0, n)).result->ok()) << n;
  }
  EXPECT_TRUE(Parsed(whole).result->ok());
}

TEST(Review, RefusesMistakesInPartsThatNobodyReads) {
  EXPECT_NE(error_of(test::review_text(R"({"metadata":{"managedFields":[{"a":tru}]}})")), "");
  EXPECT_NE(error_of(test::review_text("{\"x\":\"\xff\xfe\"}")), "");
}

TEST(Review, RefusesTooMuch) {
  std::string big = test::review_text("{}");
  big.append(limits::kMaxReviewBytes, ' ');
  EXPECT_THAT(error_of(big), HasSubstr("3145728"));
  Parsed again(test::review_text("{}"));
  EXPECT_TRUE(again.result->ok());
}

TEST(Review, RefusesAUidThatIsNone) {
  const auto with = [](std::size_t bytes) {
    std::string text = test::review_text("{}");
    text.replace(text.find("u-1"), 3, std::string(bytes, 'u'));
    return error_of(text);
  };
  EXPECT_EQ(with(limits::kMaxNameBytes), "");
  EXPECT_THAT(with(limits::kMaxNameBytes + 1), HasSubstr("request.uid: was \"uuu"));
}

TEST(Review, OneParserServesManyReviews) {
  ReviewParser parser;
  for (int i = 0; i < 3; ++i) {
    std::string text = test::review_text("{}");
    if (i == 1) text.append(1u << 20, ' ');
    text.reserve(text.size() + kBodyPadding);
    EXPECT_TRUE(parser.parse({text.data(), text.size()}).ok());
    EXPECT_FALSE(parser.parse({text.data(), 5}).ok());
  }
}

TEST(Review, WritesAnAllowedAnswer) {
  ReviewAnswer a;
  a.patch = "[]";
  a.warnings = {"one \"two\"", "three"};
  EXPECT_EQ(
      write_answer("u\"1", a),
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u\"1",)"
      R"("allowed":true,"patchType":"JSONPatch","patch":"W10=","warnings":["one \"two\"","three"]}})");
}

TEST(Review, WritesADenial) {
  ReviewAnswer a;
  a.allowed = false;
  a.code = 403;
  a.reason = "Forbidden";
  a.message = "no\n";
  EXPECT_EQ(write_answer("u", a),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u",)"
            R"("allowed":false,"status":{"code":403,"reason":"Forbidden","message":"no\u000a"}}})");
}

TEST(Review, JsonStringsAreEscapedWhereTheyMustBe) {
  const auto quoted = [](std::string_view s) {
    std::string out;
    append_json_string(out, s);
    return out;
  };
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("plain"), R"("plain")");
  EXPECT_EQ(quoted("\"a\"b\\"), R"("\"a\"b\\")");
  EXPECT_EQ(quoted(std::string_view("x\0\x1f y\n", 6)), R"("x\u0000\u001f y\u000a")");
  EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(Review, Base64) {
  const auto encode = [](std::string_view s) {
    std::string out;
    append_json_bytes(out, s);
    return out;
  };
  EXPECT_EQ(encode(""), R"("")");
  EXPECT_EQ(encode("f"), R"("Zg==")");
  EXPECT_EQ(encode("fo"), R"("Zm8=")");
  EXPECT_EQ(encode("foobar"), R"("Zm9vYmFy")");
  EXPECT_EQ(encode("\xff\xef\xbe"), R"("/+++")");
}

}  // namespace
}  // namespace subak
