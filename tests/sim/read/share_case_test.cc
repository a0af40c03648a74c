#include "sim/read/share_case.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/commands.h"
#include "sim/read/json_file.h"
#include "tests/sim/temp_dir.h"

namespace subak::sim {
namespace {

namespace json = boost::json;

json::value read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str());
}

// "inf", null and numbers as one double each; null is NaN.
double number(const json::value& v) {
  if (v.is_string()) return INFINITY;
  return v.is_null() ? NAN : v.to_number<double>();
}

void expect_close(const json::value& got, const json::value& want, const std::string& what) {
  const double w = number(want), g = number(got);
  if (std::isnan(w) || std::isinf(w)) {
    EXPECT_EQ(std::isnan(g), std::isnan(w)) << what;
    EXPECT_EQ(std::isinf(g), std::isinf(w)) << what;
  } else {
    EXPECT_NEAR(g, w, 1e-9 * std::max(1.0, std::abs(w))) << what;
  }
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, MatchesARealSlurm) {
  SUBAK_NEED_DATA(golden_dir());
  const std::string path = golden_dir() + "/" + GetParam();
  const json::value golden = read(path);
  const bool classic = golden.at("algorithm") == "classic";
  ShareOptions options;
  options.case_path = path;
  options.policy = classic ? "classic" : "fair-tree";
  options.output = "json";
  std::ostringstream out, err;
  ASSERT_EQ(sim_share(options, out, err), 0) << err.str();
  std::map<std::string, json::value> rows;
  const auto key = [](const json::value& row) {
    const json::value& user = row.at("user");
    return std::string(row.at("account").as_string()) + "/" +
           (user.is_null() ? std::string() : std::string(user.as_string()));
  };
  const json::value ours = json::parse(out.str());
  for (const json::value& row : ours.at("rows").as_array()) rows[key(row)] = row;
  for (const json::value& want : golden.at("expected").as_array()) {
    if (key(want) == "root/") continue;
    ASSERT_TRUE(rows.contains(key(want))) << key(want);
    const json::value& got = rows[key(want)];
    for (const char* field : {"norm_shares", "effective_usage", "level_fs", "fairshare"}) {
      if (want.at(field).is_null()) continue;  // Slurm has none, or the account has no factor
      const auto* merged = want.as_object().if_contains("fairshare_if_tied_accounts_were_merged");
      const bool documented =
          std::string_view(field) == "fairshare" && merged && !merged->is_null();
      expect_close(got.at(field), documented ? *merged : want.at(field),
                   std::string(GetParam()) + " " + key(want) + " " + field);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Golden,
    testing::Values("01_base.fairtree.json", "01_base.classic.json", "02_zero_usage.fairtree.json",
                    "03_ties.fairtree.json", "04_parent_share.fairtree.json",
                    "04_parent_share.classic.json", "05_users_and_accounts_mixed.fairtree.json",
                    "08_deep_lopsided.fairtree.json", "10_dampening5.classic.json"));

TEST(ShareCase, NamesTheBadField) {
  TempDir dir;
  const std::pair<const char*, const char*> bad[] = {
      {"{", "bad.json"},
      {"{\"tree\": 3}", "bad.json"},
      {"{\"tree\": [3]}", "tree[0]"},
      {"{\"tree\": [{\"account\": \"\"}]}", "tree[0].account"},
      {"{\"tree\": [{\"account\": \"a\", \"shares\": 1.5}]}", "tree[0].shares"},
      {"{\"tree\": [{\"account\": \"a\", \"shares\": 1, \"raw_usage\": -1}]}", "tree[0].raw_usage"},
      {"{\"tree\": [], \"dampening\": 0}", "dampening"}};
  for (const auto& [text, where] : bad) {
    const auto result = read_share_case(dir.write("bad.json", text));
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_NE(result.error().field.find(where), std::string::npos) << result.error().field;
  }
  std::ostringstream out, err;
  ShareOptions missing;
  missing.case_path = dir.path("none.json");
  EXPECT_EQ(sim_share(missing, out, err), 4);
  EXPECT_NE(err.str().find("none.json"), std::string::npos);
}

TEST(JsonFile, LargerOnesAreRefused) {
  TempDir dir;
  const std::string path = dir.write("list.json", "[1, 2, 3]");
  EXPECT_TRUE(read_json_file(path, 9, "a list").ok());
  const auto refused = read_json_file(path, 8, "a list");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, path);
  EXPECT_EQ(refused.error().want, "at most 8 bytes");
}

}  // namespace
}  // namespace subak::sim
