#include "cli/words.h"

#include <gtest/gtest.h>

#include <limits>

#include "cli/account_fields.h"
#include "cli/account_file.h"
#include "cli/failure.h"
#include "cli/job_submit.h"
#include "cli/text_form.h"

namespace subak::cli {
namespace {

// What the call throws; a Failure with exit code 0 if it does not.
template <class F>
Failure failure_of(F call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure;
  }
  return {kExitDone, "", ""};
}

std::string shape(SubmitFlags flags) { return shape_text(job_spec_of(flags).request()); }
SubmitFlags gpus(const std::string& amount, std::int64_t pods = 0,
                 const std::string& per_pod = "") {
  SubmitFlags flags;
  flags.gpus = amount;
  flags.pods = pods;
  flags.gpus_per_pod = per_pod;
  return flags;
}

TEST(JobSubmit, GpusBecomePods) {
  EXPECT_EQ(shape(gpus("1")), "1x1");
  EXPECT_EQ(shape(gpus("8")), "1x8");
  EXPECT_EQ(shape(gpus("32")), "4x8");
  EXPECT_EQ(shape(gpus("20")), "2x8+1x4");
  EXPECT_EQ(shape(gpus("16", 4)), "4x4");
  EXPECT_EQ(shape(gpus("16", 0, "4")), "4x4");
  EXPECT_EQ(shape(gpus("", 3, "2")), "3x2");
  EXPECT_EQ(shape(gpus("0.5")), "1x0.5");
  EXPECT_EQ(shape(gpus("1", 2)), "2x0.5");
  SubmitFlags mig;
  mig.mig = "1g.10gb=2";
  mig.pods = 3;
  EXPECT_EQ(shape(mig), "3x2 mig-1g.10gb");
  SubmitFlags wish = gpus("NVIDIA-H100-80GB-HBM3=16");
  wish.topology = "prefer:nvlink-exclusive";
  wish.segment = 2;
  EXPECT_EQ(shape(wish), "2x8 prefer:nvlink-exclusive seg=2");
  EXPECT_EQ(job_spec_of(wish).request().groups(0).shape().products(0), "NVIDIA-H100-80GB-HBM3");
}

TEST(JobSubmit, RefusesWhatCannotBeMeant) {
  const auto code = [](const SubmitFlags& flags) {
    return failure_of([&] { job_spec_of(flags); }).exit_code;
  };
  EXPECT_EQ(code(SubmitFlags()), kExitUsage);
  EXPECT_EQ(code(gpus("0")), kExitUsage);
  EXPECT_EQ(code(gpus("1.5")), kExitUsage);
  EXPECT_EQ(code(gpus("gpu=4,X=2")), kExitUsage);
  EXPECT_EQ(code(gpus("16", 3)), kExitUsage);
  EXPECT_EQ(code(gpus("16", 3, "4")), kExitUsage);
  EXPECT_EQ(code(gpus("16", -1)), kExitUsage);
  SubmitFlags both = gpus("1");
  both.mig = "1g.10gb";
  EXPECT_EQ(code(both), kExitUsage);
  both = gpus("1");
  both.topology = "near";
  EXPECT_EQ(code(both), kExitUsage);
  both.topology = "rack";
  both.time_limit = "4";
  EXPECT_EQ(failure_of([&] { job_spec_of(both); }).what.rfind("--time-limit", 0), 0U);
}

TEST(Words, TimesAndAges) {
  EXPECT_EQ(age_text(0), "0s");
  EXPECT_EQ(age_text(59'999), "59s");
  EXPECT_EQ(age_text(3 * kHourMs + 5 * kMinuteMs + 9 * kSecondMs), "3h5m");
  EXPECT_EQ(age_text(2 * kDayMs), "2d");
  EXPECT_EQ(time_text(Timestamp()), "-");
  EXPECT_EQ(time_text(to_timestamp(1'772'366'400'000)), "2026-03-01 12:00:00");
  EXPECT_EQ(to_ms(instant_of("2026-03-01", "--from", 0)), 1'772'323'200'000);
  EXPECT_EQ(to_ms(instant_of("1h", "--from", 1'772'366'400'000)), 1'772'362'800'000);
  EXPECT_EQ(failure_of([] { instant_of("noon", "--from", 0); }).exit_code, kExitUsage);
}

TEST(Words, Numbers) {
  EXPECT_EQ(fixed_text(std::numeric_limits<double>::infinity(), 2), "inf");
  EXPECT_EQ(significant_text(0.12345), "0.1235");
  EXPECT_EQ(significant_text(12345.6), "12346");
  v1::GpuTime time;
  time.set_gpu_seconds(3600);
  time.set_rest_milligpu_ms(500);
  EXPECT_EQ(seconds_text(time), "3600.000500");
  EXPECT_EQ(gpu_hours_text(time), "1.00");
}

TEST(AccountFields, MaskHasOnlyWhatWasGiven) {
  AccountWish wish;
  wish.path = "ml";
  wish.quota = "gpu=16";
  wish.borrow = "unlimited";
  v1::UpdateAccountRequest request;
  put_wish(wish, "--", &request);
  ASSERT_EQ(request.update_mask().paths_size(), 2);
  EXPECT_EQ(request.update_mask().paths(0), "quota");
  EXPECT_EQ(request.account().quota(0).milligpu(), 16'000);
  EXPECT_FALSE(request.account().has_borrow_milligpu());
  wish.quota = "lots";
  const Failure failure = failure_of([&] { put_wish(wish, "--", &request); });
  EXPECT_EQ(failure.exit_code, kExitUsage);
  EXPECT_EQ(failure.what.rfind("--quota", 0), 0U);
}

TEST(AccountFields, DiffShowsWhatChanged) {
  v1::Account before, after;
  before.set_shares(1);
  after.set_shares(3);
  after.set_lend_milligpu(500);
  const auto lines = account_diff(&before, &after);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].sign, '-');
  EXPECT_EQ(lines[0].text, "shares: 1");
  EXPECT_EQ(lines[1].text, "shares: 3");
  EXPECT_EQ(lines[2].text, "lend: unlimited");
  EXPECT_EQ(lines[3].text, "lend: 0.5");
  EXPECT_TRUE(account_diff(&after, &after).empty());
}

TEST(AccountFile, ReadsAndNamesTheLine) {
  const auto wishes = parse_account_file(
      "accounts:\n  - path: ml.vision\n    shares: 3\n    namespaces: [a, b]\n  - {path: ml, held: "
      "true}\n",
      "f.yaml");
  ASSERT_EQ(wishes.size(), 2U);
  EXPECT_EQ(wishes[0].path, "ml");
  EXPECT_TRUE(*wishes[0].held);
  EXPECT_EQ(*wishes[1].shares, "3");
  EXPECT_EQ(wishes[1].namespaces->size(), 2U);
  const auto what = [](const std::string& text) {
    return failure_of([&] { parse_account_file(text, "f.yaml"); }).what;
  };
  EXPECT_EQ(what("- path: a\n  colour: red\n"), "f.yaml:2: colour: not a field of an account");
  EXPECT_EQ(what("- shares: 1\n"), "f.yaml:1: path: missing");
  EXPECT_EQ(what("- path: a\n- path: a\n"), "f.yaml:2: path: \"a\" is there twice");
  EXPECT_EQ(what("- path: [\n").rfind("f.yaml:", 0), 0U);
  EXPECT_NE(what("trees: []\n").find("want accounts"), std::string::npos);
}

TEST(TextForm, YamlQuotesWhatItWouldMisread) {
  EXPECT_EQ(json_to_yaml(R"({"a":"16000","b":"no","c":"x","d":[],"e":[1,true,null],"f":{}})"),
            "a: \"16000\"\nb: \"no\"\nc: x\nd: []\ne:\n  - 1\n  - true\n  - ~\nf: {}\n");
}

}  // namespace
}  // namespace subak::cli
