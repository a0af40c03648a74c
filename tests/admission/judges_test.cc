// What /validate says of the pods that the policies in the API server judge too: one table for both
// (tests/e2e/judged.json). The policies are CEL, which only an API server evaluates: tests/e2e/cases_judges.py asks one.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "fixture.h"

namespace subak {
namespace {

namespace bj = boost::json;

const bj::object& table() {
  static const bj::object read = [] {
    std::ifstream in("tests/e2e/judged.json");
    std::ostringstream text;
    text << in.rdbuf();
    return bj::parse(text.str()).as_object();
  }();
  return read;
}

// RFC 7396.
bj::value merged(const bj::value& old, const bj::value& patch) {
  if (!patch.is_object()) return patch;
  bj::object out = old.is_object() ? old.as_object() : bj::object();
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      out.erase(key);
    } else {
      const auto* const known = out.if_contains(key);
      out[key] = merged(known == nullptr ? bj::value() : *known, value);
    }
  }
  return out;
}

std::string text_of(const bj::value& value) { return bj::serialize(value); }

bool lets(const std::string& review) {
  return test::decide_text(review, Endpoint::kValidate).verdict != Verdict::kDenied;
}

TEST(Judges, OfAPodThatIsMade) {
  const bj::array& rows = table().at("created").as_array();
  EXPECT_GT(rows.size(), 30U);
  for (const bj::value& row : rows) {
    EXPECT_EQ(lets(test::review_text(text_of(row.at("pod")))), row.at("may").as_bool())
        << row.at("what");
  }
}

TEST(Judges, OfAPodThatIsChanged) {
  const bj::array& rows = table().at("changed").as_array();
  EXPECT_GT(rows.size(), 8U);
  for (const bj::value& row : rows) {
    const bj::value& old = table().at("pods").at(row.at("of").as_string());
    const std::string now = text_of(merged(old, row.at("patch")));
    EXPECT_EQ(lets(test::review_text(now, "team-a", "ana", "UPDATE", text_of(old))),
              row.at("may").as_bool())
        << row.at("what");
  }
}

}  // namespace
}  // namespace subak
