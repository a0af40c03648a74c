#include "cli/text/words.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <limits>

#include "cli/commands/import_diff.h"
#include "cli/commands/job_submit.h"
#include "cli/products.h"
#include "cli/text/account_fields.h"
#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "cli/text/local_time.h"
#include "cli/text/nearest.h"
#include "cli/text/text_form.h"

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
  flags.account = "ml";
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
  SubmitFlags mig = gpus("");
  mig.mig = "1g.10gb=2";
  mig.pods = 3;
  EXPECT_EQ(shape(mig), "3x2 mig-1g.10gb");
  SubmitFlags wish = gpus("NVIDIA-H100-80GB-HBM3=16");
  WishFlags& wishes = wish.wishes;
  wishes.of(wish_of<&GangTerms::topology>()) = "prefer:nvlink-exclusive";
  wishes.of(wish_of<&GangTerms::segment>()) = 2;
  EXPECT_EQ(shape(wish), "2x8 prefer:nvlink-exclusive seg=2");
  wishes.of(wish_of<&GangTerms::topology>()) = "nvlink";
  wishes.of(wish_of<&GangTerms::balanced>()) = true;
  wishes.of(wish_of<&GangTerms::mixed_products>()) = true;
  wishes.of(wish_of<&GangTerms::spare>()) = 2;
  EXPECT_EQ(shape(wish), "2x8 nvlink seg=2 balanced spare=2 mixed-products");
  wishes.of(wish_of<&GangTerms::compute_domain>()) = true;
  EXPECT_EQ(shape(wish), "2x8 nvlink seg=2 balanced spare=2 mixed-products compute-domain");
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
  both.wishes.of(wish_of<&GangTerms::topology>()) = "near";
  EXPECT_EQ(code(both), kExitUsage);
  both.wishes.of(wish_of<&GangTerms::topology>()) = "rack";
  for (const std::int64_t beyond : {std::int64_t{-1}, std::int64_t{1} << 32}) {
    SubmitFlags segments = both;
    segments.wishes.of(wish_of<&GangTerms::segment>()) = beyond;
    EXPECT_EQ(failure_of([&] { job_spec_of(segments); }).what,
              "--segment: was \"" + std::to_string(beyond) + "\", want 1 to 10000");
  }
  both.time_limit = "4";
  EXPECT_EQ(failure_of([&] { job_spec_of(both); }).what.rfind("--time-limit", 0), 0U);
}

TEST(Words, TimesAndAges) {
  EXPECT_EQ(age_text(0), "0s");
  EXPECT_EQ(age_text(59'999), "59s");
  EXPECT_EQ(age_text(3 * kHourMs + 5 * kMinuteMs + 9 * kSecondMs), "3h5m");
  EXPECT_EQ(age_text(2 * kDayMs), "2d");
  EXPECT_EQ(time_text(Timestamp()), "-");
  EXPECT_EQ(to_ms(instant_of("2026-03-01", "--from", 0)), 1'772'323'200'000);
  EXPECT_EQ(to_ms(instant_of("1h", "--from", 1'772'366'400'000)), 1'772'362'800'000);
  EXPECT_EQ(failure_of([] { instant_of("noon", "--from", 0); }).exit_code, kExitUsage);
}

// A zone whose summer time is written out, so that no zone data is needed.
class Zone {
 public:
  explicit Zone(const char* tz) {
    ::setenv("TZ", tz, 1);
    ::tzset();
  }
  ~Zone() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

TEST(Words, TimesAreLocalAndNameTheirZone) {
  const Zone zone("CET-1CEST,M3.5.0,M10.5.0/3");
  const Timestamp winter = to_timestamp(1'772'366'400'000),
                  summer = to_timestamp(1'780'000'000'000);
  EXPECT_EQ(time_text(winter), "2026-03-01 13:00:00 CET");
  EXPECT_EQ(time_text(summer), "2026-05-28 22:26:40 CEST");
  EXPECT_EQ(time_cell(winter).exact, "2026-03-01T12:00:00.000Z");
  const bool now_is_winter = zone_name(now_ms()) == "CET";
  EXPECT_EQ(time_cell(winter).text,
            now_is_winter ? "2026-03-01 13:00:00" : "2026-03-01 13:00:00 CET");
  EXPECT_EQ(time_cell(summer).text,
            now_is_winter ? "2026-05-28 22:26:40 CEST" : "2026-05-28 22:26:40");
  EXPECT_EQ(time_cell(Timestamp()).text, "-");
  // What is shown can be typed.
  EXPECT_EQ(to_ms(instant_of("2026-03-01 13:00:00", "--from", 0)), to_ms(winter));
  EXPECT_EQ(to_ms(instant_of("2026-03-01 13:00", "--from", 0)), to_ms(winter));
  const Zone odd("<+0530>-5:30");
  EXPECT_EQ(time_text(winter), "2026-03-01 17:30:00 UTC+0530");
}

TEST(JobSubmit, AsksForAllThatTheApiCan) {
  SubmitFlags flags = gpus("8");
  flags.pod.selectors = {"zone=a"};
  flags.pod.tolerations = {"gpu", "team=ml:NoSchedule", "*:NoExecute"};
  flags.pod.affinity = {"gen in (h100, h200),!spot,tier!=low", "cores>64"};
  flags.pod.resources = {"rdma/hca=2"};
  flags.pod.host_ports = {"8080", "10.0.0.1:53/UDP", "[::1]:9000"};
  const v1::JobSpec spec = job_spec_of(flags);
  const v1::PodShape& pod = spec.request().groups(0).shape();
  EXPECT_EQ(pod.node_selector(0).key() + pod.node_selector(0).value(), "zonea");
  ASSERT_EQ(pod.tolerations_size(), 3);
  EXPECT_EQ(pod.tolerations(0).op(), "Exists");
  EXPECT_EQ(pod.tolerations(1).op(), "Equal");
  EXPECT_EQ(pod.tolerations(1).value(), "ml");
  EXPECT_EQ(pod.tolerations(1).effect(), "NoSchedule");
  EXPECT_EQ(pod.tolerations(2).key(), "");
  EXPECT_EQ(pod.tolerations(2).effect(), "NoExecute");
  ASSERT_EQ(pod.affinity_size(), 2);
  ASSERT_EQ(pod.affinity(0).requirements_size(), 3);
  EXPECT_EQ(pod.affinity(0).requirements(0).op(), "In");
  EXPECT_EQ(pod.affinity(0).requirements(0).values(1), "h200");
  EXPECT_EQ(pod.affinity(0).requirements(1).op(), "DoesNotExist");
  EXPECT_EQ(pod.affinity(0).requirements(1).key(), "spot");
  EXPECT_EQ(pod.affinity(0).requirements(2).op(), "NotIn");
  EXPECT_EQ(pod.affinity(1).requirements(0).op(), "Gt");
  EXPECT_EQ(pod.affinity(1).requirements(0).values(0), "64");
  EXPECT_EQ(pod.extended(0).count(), 2);
  EXPECT_EQ(pod.host_ports(0).port(), 8080);
  EXPECT_EQ(pod.host_ports(1).protocol(), "UDP");
  EXPECT_EQ(pod.host_ports(1).host_ip(), "10.0.0.1");
  EXPECT_EQ(pod.host_ports(2).host_ip(), "::1");
  SubmitFlags shared = gpus("", 2);
  shared.shared = 3;
  EXPECT_EQ(shape(shared), "2x3 shared");
}

TEST(JobSubmit, NamesTheFlagThatIsWrong) {
  const auto what = [](const PodFlags& pod) {
    return failure_of([&] {
             v1::PodShape shape;
             put_pod_flags(pod, &shape);
           })
        .what;
  };
  EXPECT_EQ(what({{"zone"}, {}, {}, {}, {}}).rfind("--selector: was \"zone\"", 0), 0U);
  EXPECT_EQ(what({{}, {"a b"}, {}, {}, {}}).rfind("--affinity: was \"a b\"", 0), 0U);
  EXPECT_EQ(what({{}, {"a in (b"}, {}, {}, {}}).rfind("--affinity", 0), 0U);
  EXPECT_EQ(what({{}, {}, {"a:Never"}, {}, {}}).rfind("--toleration: was \"a:Never\"", 0), 0U);
  EXPECT_EQ(what({{}, {}, {}, {"rdma"}, {}}).rfind("--resource: was \"rdma\"", 0), 0U);
  EXPECT_EQ(what({{}, {}, {}, {}, {"70000"}}).rfind("--host-port: was \"70000\"", 0), 0U);
}

TEST(JobSubmit, AFileSaysAllOfIt) {
  SubmitFlags flags;
  flags.account = "ml";
  flags.file = R"({"name":"mixed","request":{"groups":[
    {"count":1,"shape":{"cpuMilli":"4000"}},
    {"count":4,"shape":{"kind":"GPU_KIND_WHOLE","gpus":"8"}}]}})";
  const v1::JobSpec spec = job_spec_of(flags);
  EXPECT_EQ(spec.account(), "ml");
  EXPECT_EQ(spec.name(), "mixed");
  EXPECT_EQ(spec.request().groups_size(), 2);
  flags.gpus = "8";
  EXPECT_EQ(failure_of([&] { job_spec_of(flags); }).exit_code, kExitUsage);
  flags.gpus = "";
  flags.file = R"({"colour":"red"})";
  EXPECT_EQ(failure_of([&] { job_spec_of(flags); }).what.rfind("--file", 0), 0U);
}

TEST(Nearest, SlipsAndNothingElse) {
  const std::vector<std::string> known{"ml.vision", "ml.speech", "bio", "status", "submit"};
  EXPECT_EQ(nearest("ml.vison", known), std::vector<std::string>{"ml.vision"});
  EXPECT_EQ(nearest("SUBMTI", known), std::vector<std::string>{"submit"});
  EXPECT_EQ(nearest("chemistry", known), std::vector<std::string>());
  EXPECT_EQ(nearest("", known), std::vector<std::string>());
  EXPECT_EQ(did_you_mean({"a", "b", "c"}), "did you mean a, b or c?");
}

TEST(Products, ShortNamesMeanOneOrSeveral) {
  const std::vector<std::string> fleet{"NVIDIA-A10", "NVIDIA-A100-SXM4-80GB",
                                       "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(products_like("A10", fleet), Names{"NVIDIA-A10"});
  EXPECT_EQ(products_like("a100", fleet), Names{"NVIDIA-A100-SXM4-80GB"});
  EXPECT_EQ(products_like("h100", fleet), (Names{"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe"}));
  EXPECT_EQ(products_like("H100-pcie", fleet), Names{"NVIDIA-H100-PCIe"});
  EXPECT_EQ(products_like("HBM", fleet), Names{"NVIDIA-H100-80GB-HBM3"});
  EXPECT_EQ(products_like("B200", fleet), Names());
}

TEST(ImportDiff, SaysWhatIsAddedChangedAndRemoved) {
  v1::NodeSpec a, b, c;
  a.set_name("a");
  a.set_product("H100");
  a.set_gpus(8);
  b = a;
  b.set_name("b");
  for (const char* key : {"x", "y"}) b.add_labels()->set_key(key);
  c = b;
  c.mutable_labels()->SwapElements(0, 1);
  EXPECT_TRUE(import_diff({a, b}, {c, a}).lines.empty()) << "the order of labels is nothing";
  c.set_gpus(4);
  c.mutable_not_ready_since()->set_seconds(7);
  v1::NodeSpec d;
  d.set_name("d");
  const ImportDiff diff = import_diff({a, b}, {c, d});
  ASSERT_EQ(diff.lines.size(), 3U);
  EXPECT_EQ(diff.lines[0].sign, '-');
  EXPECT_EQ(diff.lines[0].text, "node a: 8 x H100");
  EXPECT_EQ(diff.lines[1].text, "node b: gpus 8 -> 4");
  EXPECT_EQ(diff.lines[2].text, "node d: no GPUs");
  EXPECT_EQ(diff.summary(), "1 added, 1 changed, 1 removed");
}

TEST(Words, NegativeSeconds) {
  v1::GpuTime time;
  time.set_gpu_seconds(-1);  // half a second less than nothing, as a correction may be
  time.set_rest_milligpu_ms(500'000);
  EXPECT_EQ(seconds_text(time), "-0.500000");
  time.set_gpu_seconds(-3);
  time.set_rest_milligpu_ms(0);
  EXPECT_EQ(seconds_text(time), "-3.000000");
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
  wish.quota.reset();
  wish.time_limits = "hard";
  EXPECT_EQ(failure_of([&] { put_wish(wish, "--", &request); }).what,
            "--time-limits: was \"hard\", want enforced, advised or inherit");
  wish.time_limits.reset();
  for (const char* wrong : {"4", "0s", "-4h", "never", ""}) {
    wish.default_time_limit = wrong;
    EXPECT_EQ(failure_of([&] { put_wish(wish, "--", &request); }).what,
              "--default-time-limit: was \"" + std::string(wrong) +
                  "\", want a duration such as 4h, or inherit");
  }
}

std::string field_of(const v1::Account& account, std::string_view name) {
  for (const FieldText& field : account_fields(account)) {
    if (field.name == name) return field.text;
  }
  return "(no such field)";
}

TEST(AccountFields, ADefaultTimeLimitIsSetAndInherited) {
  AccountWish wish;
  wish.path = "ml";
  EXPECT_TRUE(wish.empty());
  wish.default_time_limit = "4h30m";
  EXPECT_FALSE(wish.empty());
  v1::UpdateAccountRequest request;
  put_wish(wish, "--", &request);
  EXPECT_EQ(request.update_mask().paths(0), "default_time_limit");
  EXPECT_EQ(request.account().default_time_limit().seconds(), 4 * 3600 + 1800);
  EXPECT_EQ(field_of(request.account(), "default-time-limit"), "4h30m");
  wish.default_time_limit = "inherit";
  v1::UpdateAccountRequest none;
  put_wish(wish, "--", &none);
  EXPECT_FALSE(none.account().has_default_time_limit());
  EXPECT_EQ(field_of(none.account(), "default-time-limit"), "inherit");
  EXPECT_EQ(parse_account_file("- {path: ml, default-time-limit: 4h}\n", "f")[0].default_time_limit,
            "4h");
}

TEST(AccountFields, OneListLimitsGpusAndJobs) {
  AccountWish wish;
  wish.path = "ml";
  wish.limit = "H100=2,jobs=20,gpu=16,time=2d";
  wish.user_limit = "gpu=8,jobs=2";
  v1::UpdateAccountRequest request;
  put_wish(wish, "--", &request);
  const v1::Account& account = request.account();
  ASSERT_EQ(account.limit_size(), 2);
  EXPECT_EQ(account.job_limits(), "jobs=20,time=2d");
  EXPECT_EQ(account.user_limits(), "gpu=8,jobs=2");
  ASSERT_EQ(request.update_mask().paths_size(), 3);
  EXPECT_EQ(request.update_mask().paths(0), "limit");
  EXPECT_EQ(request.update_mask().paths(1), "job_limits");
  EXPECT_EQ(request.update_mask().paths(2), "user_limits");
  const std::vector<FieldText> fields = account_fields(account);
  EXPECT_EQ(fields[2].text, "H100=2,gpu=16,jobs=20,time=2d");
  EXPECT_EQ(field_of(account, "user-limit"), "gpu=8,jobs=2");
  v1::UpdateAccountRequest none;
  wish.limit = wish.user_limit = "none";
  put_wish(wish, "--", &none);
  EXPECT_EQ(none.update_mask().paths_size(), 3);
  EXPECT_TRUE(none.account().job_limits().empty() && none.account().user_limits().empty());
  EXPECT_EQ(account_fields(none.account())[2].text, "none");
}

TEST(AccountFields, DiffShowsWhatChanged) {
  v1::Account before, after;
  before.set_shares(1);
  after.set_shares(3);
  after.set_lend_milligpu(500);
  after.set_time_limits(v1::TIME_LIMITS_ENFORCED);
  const auto lines = account_diff(&before, &after);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].sign, '-');
  EXPECT_EQ(lines[0].text, "shares: 1");
  EXPECT_EQ(lines[1].text, "shares: 3");
  EXPECT_EQ(lines[2].text, "lend: unlimited");
  EXPECT_EQ(lines[3].text, "lend: 0.5");
  EXPECT_EQ(lines[4].text, "time-limits: inherit");
  EXPECT_EQ(lines[5].text, "time-limits: enforced");
  EXPECT_TRUE(account_diff(&after, &after).empty());
}

TEST(AccountFile, ReadsAndNamesTheLine) {
  const auto wishes = parse_account_file(
      "accounts:\n  - path: ml.vision\n    shares: 3\n    namespaces: [a, b]\n  - {path: ml, held: "
      "true, time-limits: enforced, user-limit: 'jobs=2', managed-by: ci}\n",
      "f.yaml");
  ASSERT_EQ(wishes.size(), 2U);
  EXPECT_EQ(wishes[0].path, "ml");
  EXPECT_TRUE(*wishes[0].held);
  EXPECT_EQ(*wishes[0].time_limits, "enforced");
  EXPECT_EQ(*wishes[0].user_limit, "jobs=2");
  EXPECT_EQ(*wishes[0].managed_by, "ci");
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

TEST(Words, NumbersOfAWorkload) {
  v1::Job job;
  job.set_gang_size(1);
  v1::Workload& of = *job.mutable_workload();
  of.set_kind("Deployment");
  of.set_name("serving/llm");
  of.set_jobs(5);
  of.set_running(3);
  of.set_waiting(2);
  EXPECT_EQ(workload_text(of), "3 of 5 run, Deployment serving/llm");
  EXPECT_EQ(siblings_text(job), "one of 5 pods of Deployment serving/llm: 3 run, 2 wait");
  job.set_gang_size(4);
  of.set_running(1);
  of.set_waiting(1);
  EXPECT_EQ(siblings_text(job),
            "one of 5 gangs of Deployment serving/llm: 1 runs, 1 waits, 3 start or end");
  of.set_waiting(3);
  EXPECT_EQ(siblings_text(job),
            "one of 5 gangs of Deployment serving/llm: 1 runs, 3 wait, 1 starts or ends");
}

TEST(Words, StatesOfAComputeDomain) {
  v1::ComputeDomain domain;
  domain.set_name("ml/subak-train");
  const auto in_state = [&](const char* state) {
    domain.set_state(state);
    return compute_domain_text(domain);
  };
  EXPECT_EQ(in_state("waiting"),
            "ml/subak-train, waiting for its ResourceClaimTemplate; no gate opens");
  EXPECT_EQ(in_state("joining"), "ml/subak-train, no node has joined yet");
  EXPECT_EQ(in_state("ending"), "ml/subak-train, is being deleted");
  domain.set_nodes(3);
  domain.set_ready_nodes(2);
  domain.add_not_ready("n2");
  EXPECT_EQ(in_state("not_ready"), "ml/subak-train, 2 of 3 joined nodes ready; not ready: n2");
}

}  // namespace
}  // namespace subak::cli
