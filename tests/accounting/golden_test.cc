// Against figures printed by a real slurmctld. The folder is SUBAK_GOLDEN, else ../shared/golden
// beside the source; without it everything here skips.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "accounting/fairtree/fairtree.h"
#include "accounting/order.h"

namespace subak {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

fs::path golden_folder() {
  const char* set = std::getenv("SUBAK_GOLDEN");
  return set != nullptr ? fs::path(set) : fs::path("../shared/golden");
}

json::value read_json(const fs::path& path) {
  std::ifstream in(path);
  return json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

std::string text_or_empty(const json::value& v) {
  return v.is_null() ? std::string() : std::string(v.as_string());
}

std::vector<fs::path> cases(std::string_view ending) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(golden_folder())) {
    if (entry.path().filename().string().ends_with(ending)) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ShareRow> rows_of(const json::value& document) {
  std::vector<ShareRow> rows;
  for (const json::value& v : document.at("tree").as_array()) {
    ShareRow row;
    row.account = text_or_empty(v.at("account"));
    row.user = text_or_empty(v.at("user"));
    row.parent = text_or_empty(v.at("parent"));
    row.parent_shares = v.at("shares").is_string();
    if (!row.parent_shares) row.shares = v.at("shares").as_int64();
    row.raw_usage = v.at("raw_usage").to_number<double>();
    row.order = v.at("order").as_int64();
    rows.push_back(row);
  }
  return rows;
}

const ShareFactors& find(const std::vector<ShareFactors>& factors, const json::value& expected) {
  const std::string account = text_or_empty(expected.at("account"));
  const std::string user = text_or_empty(expected.at("user"));
  const auto it = std::find_if(factors.begin(), factors.end(), [&](const ShareFactors& f) {
    return f.account == account && f.user == user;
  });
  EXPECT_TRUE(it != factors.end()) << account << "/" << user;
  return *it;
}

// Relative: |got - want| <= tolerance x |want|.
void expect_close(double got, const json::value& want, double tolerance, std::string_view what) {
  if (want.is_null()) return;
  if (want.is_string()) {
    EXPECT_TRUE(std::isinf(got)) << what;
    return;
  }
  const auto w = want.to_number<double>();
  EXPECT_LE(std::fabs(got - w), tolerance * std::fabs(w)) << what << ": " << got << " want " << w;
}

bool is_root_account(const json::value& row) {
  return text_or_empty(row.at("account")) == "root" && row.at("user").is_null();
}

class Golden : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(golden_folder())) {
      GTEST_SKIP() << "no reference figures at " << golden_folder() << "; set SUBAK_GOLDEN";
    }
  }
};

TEST_F(Golden, FairTree) {
  const auto files = cases(".fairtree.json");
  ASSERT_GE(files.size(), 7u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const json::value document = read_json(file);
    const double tolerance = file.filename().string().starts_with("13_") ? 1e-7 : 1e-9;
    const auto rows = rows_of(document);
    const auto documented = fair_tree(rows, TieRule::kDocumented);
    const auto shipped = fair_tree(rows, TieRule::kAsShipped);
    ASSERT_TRUE(documented.ok() && shipped.ok());
    for (const json::value& want : document.at("expected").as_array()) {
      if (is_root_account(want)) continue;
      const ShareFactors& got = find(*documented, want);
      SCOPED_TRACE(got.account + "/" + got.user);
      expect_close(got.norm_shares, want.at("norm_shares"), tolerance, "norm_shares");
      expect_close(got.norm_usage, want.at("norm_usage"), tolerance, "norm_usage");
      expect_close(got.effective_usage, want.at("effective_usage"), tolerance, "effective_usage");
      expect_close(got.level_fs, want.at("level_fs"), tolerance, "level_fs");
      EXPECT_EQ(got.fairshare.has_value(), !want.at("fairshare").is_null());
      if (!got.fairshare) continue;
      const json::value* merged =
          want.as_object().if_contains("fairshare_if_tied_accounts_were_merged");
      expect_close(*got.fairshare, merged != nullptr ? *merged : want.at("fairshare"), tolerance,
                   "fairshare, ties as documented");
      expect_close(*find(*shipped, want).fairshare, want.at("fairshare"), tolerance,
                   "fairshare, ties as shipped");
    }
  }
}

TEST_F(Golden, Classic) {
  const auto files = cases(".classic.json");
  ASSERT_GE(files.size(), 7u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const json::value document = read_json(file);
    const auto factors =
        classic_fair_share(rows_of(document), document.at("dampening").to_number<double>());
    ASSERT_TRUE(factors.ok());
    for (const json::value& want : document.at("expected").as_array()) {
      if (is_root_account(want)) continue;
      const ShareFactors& got = find(*factors, want);
      SCOPED_TRACE(got.account + "/" + got.user);
      expect_close(got.norm_shares, want.at("norm_shares"), 1e-9, "norm_shares");
      expect_close(got.norm_usage, want.at("norm_usage"), 1e-9, "norm_usage");
      expect_close(got.effective_usage, want.at("effective_usage"), 1e-9, "effective_usage");
      expect_close(*got.fairshare, want.at("fairshare"), 1e-9, "fairshare");
    }
  }
}

struct RealJob {
  TimeMs start, end;
};

std::vector<RealJob> jobs_of(const json::value& user) {
  std::vector<RealJob> jobs;
  for (const json::value& job : user.at("jobs").as_array()) {
    jobs.push_back({std::llround(job.at(0).to_number<double>() * 1000),
                    std::llround(job.at(1).to_number<double>() * 1000)});
  }
  return jobs;
}

// The rule's usage at t when `rate` runs during the jobs.
double tick_usage(const json::value& run, const std::vector<RealJob>& jobs, MilliGpu rate,
                  TimeMs t) {
  AccountTree tree;
  AccountSpec spec;
  spec.path = "u";
  const AccountId id(2);
  tree.set(id, spec, 1, 0, {}, {});
  const auto ms = [&](const char* name) { return run.at(name).to_number<std::int64_t>() * 1000; };
  UsageTick tick(ms("half_life_s"), ms("calc_period_s"), run.at("enforce_limits").as_bool(), 0);
  for (TimeMs now = 0; now <= t; now += 1000) {
    tick.advance(tree, now);
    for (const RealJob& job : jobs) {
      if (job.end == now) tick.job_end(id, rate, job.start, now);
    }
    for (const RealJob& job : jobs) {
      if (job.start == now) tick.job_start(id, rate, now);
    }
  }
  tick.advance(tree, t);
  return tick.usage(id);
}

double exact_usage(const json::value& run, const std::vector<RealJob>& jobs, MilliGpu rate,
                   TimeMs t) {
  const DecayClock clock(run.at("half_life_s").to_number<std::int64_t>() * 1000);
  DecayedMeter meter;
  for (const RealJob& job : jobs) {
    if (job.start <= t) meter.change_rate(clock, rate, job.start);
    if (job.end <= t) meter.change_rate(clock, -rate, job.end);
  }
  return meter.value(clock, t);
}

TEST_F(Golden, DecayAgainstTheRuleAndTheIntegral) {
  const json::value document = read_json(golden_folder() / "decay.json");
  int compared = 0;
  for (const auto& [name, run] : document.as_object()) {
    const auto rate = run.at("weight").to_number<MilliGpu>();
    for (const auto& [user_name, user] : run.at("users").as_object()) {
      const auto jobs = jobs_of(user);
      for (const json::value& tick : user.at("ticks").as_array()) {
        const TimeMs t = std::llround(tick.at("t").to_number<double>() * 1000);
        SCOPED_TRACE(std::string(name) + " " + std::string(user_name) + " " + std::to_string(t));
        // Written to one decimal place, in seconds.
        EXPECT_NEAR(tick_usage(run, jobs, rate, t) / 1000,
                    tick.at("slurm_rule").to_number<double>(), 0.06);
        EXPECT_NEAR(exact_usage(run, jobs, rate, t) / 1000,
                    tick.at("exact_integral").to_number<double>(), 0.06);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 100);
}

}  // namespace
}  // namespace subak
