// Conversions: what goes in comes out, and no enum of the API has drifted from the core's.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/printable.h"
#include "server/api/common/paging.h"
#include "server/api/common/status.h"
#include "server/api/convert/check.h"
#include "server/api/convert/convert.h"
#include "tests/core/odd_names.h"

namespace subak::api {
namespace {

using google::protobuf::util::MessageDifferencer;

// "open_gate" and EFFECT_KIND_OPEN_GATE are the same word. `shift`: the API's 0 is "unspecified".
template <class Core>
void expect_same_words(const google::protobuf::EnumDescriptor* api, const std::string& prefix,
                       int shift) {
  const auto& names = EnumText<Core>::names;
  EXPECT_EQ(api->value_count(), static_cast<int>(names.size()) + shift);
  for (std::size_t i = 1 - static_cast<std::size_t>(shift); i < names.size(); ++i) {
    std::string word = prefix + std::string(names[i]);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    const auto* value = api->FindValueByNumber(static_cast<int>(i) + shift);
    ASSERT_NE(value, nullptr) << word;
    EXPECT_EQ(value->name(), word);
  }
}

TEST(ApiEnums, SayTheCoresWords) {
  expect_same_words<JobState>(v1::JobState_descriptor(), "JOB_STATE_", 1);
  expect_same_words<JobOrigin>(v1::JobOrigin_descriptor(), "JOB_ORIGIN_", 1);
  expect_same_words<PodState>(v1::PodState_descriptor(), "POD_STATE_", 1);
  expect_same_words<Mode>(v1::Mode_descriptor(), "MODE_", 1);
  expect_same_words<UsageState>(v1::UsageState_descriptor(), "USAGE_STATE_", 1);
  expect_same_words<EffectKind>(v1::EffectKind_descriptor(), "EFFECT_KIND_", 1);
  expect_same_words<Topology>(v1::Topology_descriptor(), "TOPOLOGY_", 1);
  expect_same_words<PodGate>(v1::PodGate_descriptor(), "POD_GATE_", 0);
  expect_same_words<Cause>(v1::Cause_descriptor(), "CAUSE_", 0);
  expect_same_words<TimeLimits>(v1::TimeLimits_descriptor(), "TIME_LIMITS_", 0);
  expect_same_words<GpuKind>(v1::GpuKind_descriptor(), "GPU_KIND_", 0);
}

v1::GangRequest full_request() {
  v1::GangRequest request;
  auto* group = request.add_groups();
  group->set_count(4);
  auto* shape = group->mutable_shape();
  shape->set_kind(v1::GPU_KIND_MIG);
  shape->set_gpus(2);
  shape->set_mig_profile("1g.10gb");
  shape->add_products("H100");
  shape->set_cpu_milli(1500);
  shape->set_memory_bytes(1 << 20);
  shape->set_container_gpus(1);
  auto* extended = shape->add_extended();
  extended->set_name("rdma/hca");
  extended->set_count(1);
  auto* label = shape->add_node_selector();
  label->set_key("zone");
  label->set_value("a");
  auto* requirement = shape->add_affinity()->add_requirements();
  requirement->set_key("kind");
  requirement->set_op("NotIn");
  requirement->add_values("old");
  auto* toleration = shape->add_tolerations();
  toleration->set_key("gpu");
  toleration->set_op("Equal");
  toleration->set_value("yes");
  toleration->set_effect("NoSchedule");
  auto* port = shape->add_host_ports();
  port->set_port(80);
  port->set_protocol("UDP");
  port->set_host_ip("10.0.0.1");
  auto* spread = shape->add_spread();
  spread->set_key("zone");
  spread->set_max_skew(1);
  spread->set_min_domains(3);
  spread->set_any_node(true);
  spread->set_only_tolerated(true);
  spread->set_group(7);
  auto* near = shape->add_near();
  near->set_key("rack");
  near->set_group(8);
  request.set_topology(v1::TOPOLOGY_NODE);
  request.set_prefer(true);
  request.set_segment(2);
  request.set_mixed_products(true);
  request.set_balanced(true);
  request.set_spare(2);
  request.set_compute_domain(true);
  return request;
}

TEST(ApiConvert, RequestsComeBackWhole) {
  const v1::GangRequest in = full_request();
  Check check;
  const GangRequest core = get(check, in);
  ASSERT_TRUE(check.ok()) << check.error().message();
  v1::GangRequest out;
  put(core, &out);
  EXPECT_TRUE(MessageDifferencer::Equals(in, out)) << out.DebugString();
  EXPECT_EQ(shape_text(core),
            "4x2 mig-1g.10gb prefer:node segment 2 balanced spare 2 mixed-products compute-domain");
}

TEST(ApiConvert, NodesComeBackWhole) {
  v1::NodeSpec in;
  in.set_name("n");
  in.set_product("H100");
  in.set_gpus(8);
  in.set_unhealthy_gpus(1);
  in.set_replicas(4);
  in.set_mig_gpus(2);
  in.add_mig()->set_profile("1g.10gb");
  in.mutable_mig(0)->set_count(7);
  in.set_clique("c1");
  in.set_rack("r1");
  for (const char* name : {"r1", "", "s1"}) in.add_levels(name);
  in.set_gpus_per_domain(4);
  in.set_cpu_milli(1);
  in.set_memory_bytes(2);
  in.set_pod_slots(3);
  in.add_extended()->set_name("x");
  in.mutable_extended(0)->set_count(5);
  in.add_labels()->set_key("k");
  in.mutable_labels(0)->set_value("v");
  in.add_taints()->set_key("t");
  in.mutable_taints(0)->set_effect("NoExecute");
  in.set_not_ready(true);
  in.set_unschedulable(true);
  in.set_unfit("condition GpuMemWatch");
  in.set_contradicts(true);
  in.set_fabric("ib-a");
  in.set_numa_gpus(4);
  in.set_numa_cpu_milli(56'000);
  in.set_one_replica(true);
  in.set_gpus_unknown(true);
  in.mutable_not_ready_since()->set_seconds(12);
  in.mutable_not_ready_since()->set_nanos(5'000'000);
  Check check;
  const NodeSpec core = get(check, in);
  ASSERT_TRUE(check.ok()) << check.error().message();
  v1::NodeSpec out;
  put(core, &out);
  EXPECT_TRUE(MessageDifferencer::Equals(in, out)) << out.DebugString();
}

TEST(ApiConvert, ARackAloneIsOneLevel) {
  const auto read = [](const std::string& rack, const std::vector<std::string>& levels) {
    v1::NodeSpec in;
    in.set_name("n");
    in.set_rack(rack);
    for (const std::string& name : levels) in.add_levels(name);
    Check check;
    const NodeSpec core = get(check, in);
    return check.ok() ? core.levels : std::vector<std::string>{check.error().message()};
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(read("", {}), Names());
  EXPECT_EQ(read("r1", {}), Names{"r1"});
  EXPECT_EQ(read("", {"r1", "b1", ""}), Names({"r1", "b1"}));
  EXPECT_EQ(read("r2", {"r1"}), Names{"rack: was \"r2\", want the first of levels, or nothing"});
  EXPECT_EQ(read("", {"1", "2", "3", "4", "5"}), Names{"levels: was \"5\", want at most 4"});
}

TEST(ApiConvert, AccountsComeBackWhole) {
  v1::Account in;
  in.set_path("ml");
  in.set_shares(3);
  in.add_quota()->set_product("gpu");
  in.mutable_quota(0)->set_milligpu(1500);
  in.add_limit()->set_product("H100");
  in.mutable_limit(0)->set_milligpu(8000);
  in.set_borrow_milligpu(2500);
  in.set_lend_milligpu(0);
  in.add_namespaces("a");
  in.set_held(true);
  in.set_draining(true);
  in.set_time_limits(v1::TIME_LIMITS_ENFORCED);
  in.set_job_limits("jobs=20,time=2d");
  in.set_user_limits("gpu=8");
  in.set_revision(4);
  Check check;
  const AccountSpec core = get(check, in, {});
  ASSERT_TRUE(check.ok()) << check.error().message();
  EXPECT_EQ(core.borrow, "2.5");
  EXPECT_EQ(core.lend, "none");
  EXPECT_EQ(core.time_limits, TimeLimits::kEnforced);
  v1::Account out;
  put(core, 4, &out);
  EXPECT_TRUE(MessageDifferencer::Equals(in, out)) << out.DebugString();
}

TEST(ApiConvert, TwiceTheSameProductIsRefused) {
  v1::Account in;
  in.add_quota()->set_product("gpu");
  in.add_quota()->set_product("gpu");
  Check check;
  get_amounts(check, "quota", in.quota());
  ASSERT_FALSE(check.ok());
  EXPECT_EQ(check.error().field, "quota");
  EXPECT_EQ(check.error().got, "gpu");
}

// New names are printable. What is there already, and what a person says, may be anything but controls.
TEST(ApiCheck, NewNamesArePrintable) {
  for (const test::OddName& odd : test::kOddNames) {
    const std::string name(odd.text);
    const bool has_control = std::any_of(name.begin(), name.end(),
                                         [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    const auto is_taken = [&](auto read) {
      Check check;
      read(check);
      EXPECT_TRUE(check.ok() || is_printable(check.error().message()));
      return check.ok();
    };
    EXPECT_EQ(is_taken([&](Check& c) { c.name("name", name, true); }), odd.printable);
    EXPECT_EQ(is_taken([&](Check& c) { c.key("key", name); }), odd.printable);
    EXPECT_EQ(is_taken([&](Check& c) { c.known_name("node", name, true); }), !has_control);
    EXPECT_EQ(is_taken([&](Check& c) { c.sentence("reason", name, 100); }), !has_control);
    Check stored(Check::Texts::kStored);
    stored.name("product", name, true);
    EXPECT_EQ(stored.ok(), !has_control) << printable(name);
  }
}

TEST(ApiCheck, NewNamesInEachMessageThatBringsThem) {
  for (const test::OddName& odd : test::kOddNames) {
    const std::string name(odd.text);
    SCOPED_TRACE(printable(name));
    {
      v1::JobSpec job;
      job.set_account("ml");
      job.set_name(name);
      job.mutable_request()->add_groups()->set_count(1);
      auto* const shape = job.mutable_request()->mutable_groups(0)->mutable_shape();
      shape->set_kind(v1::GPU_KIND_WHOLE);
      shape->set_gpus(1);
      Check check;
      get(check, job);
      EXPECT_EQ(check.ok(), odd.printable);
      job.set_name("train");
      shape->add_products(name);
      Check product;
      get(product, job);
      EXPECT_EQ(product.ok(), odd.printable);
    }
    v1::NodeSpec node;
    node.set_name(name);
    node.set_product("H100");
    node.set_gpus(1);
    Check check;
    get(check, node);
    EXPECT_EQ(check.ok(), odd.printable);
    v1::Account account;
    account.add_quota()->set_product(name);
    Check quota;
    get_amounts(quota, "quota", account.quota());
    EXPECT_EQ(quota.ok(), odd.printable);
  }
}

TEST(ApiCheck, FirstMistakeIsKeptWithItsPath) {
  Check check;
  {
    const auto outer = check.in("jobs", 3);
    const auto inner = check.in("spec");
    check.number("size", 11, 0, 10);
    check.number("other", -1, 0, 10);
  }
  ASSERT_FALSE(check.ok());
  EXPECT_EQ(check.error().field, "jobs[3].spec.size");
  EXPECT_EQ(check.error().got, "11");
}

// What one error takes in the trailers: its message percent-encoded, its details in base64.
std::size_t trailer_bytes(const grpc::Status& status) {
  std::size_t bytes = status.error_details().size() * 4 / 3 + 4;
  for (const char c : status.error_message()) bytes += c < 0x20 || c > 0x7e || c == '%' ? 3 : 1;
  return bytes;
}

TEST(ApiStatus, LongErrorsFitIntoTheTrailersOfAClient) {
  constexpr std::size_t kClientTakes = 8192, kOtherTrailers = 256;
  for (const std::string& piece : {std::string("p"), std::string("\xc3\xa9"), std::string("%")}) {
    std::string text;
    while (text.size() < 20'000) text += piece;
    for (const ErrorCode code :
         {ErrorCode::kInvalid, ErrorCode::kConflict, ErrorCode::kPrecondition,
          ErrorCode::kExhausted, ErrorCode::kNotFound}) {
      const grpc::Status status = to_status({code, text, text, "want less than " + text});
      EXPECT_LE(trailer_bytes(status), kClientTakes - kOtherTrailers) << to_string(code);
      EXPECT_NE(status.error_message().find("more bytes)"), std::string::npos);
    }
  }
}

TEST(ApiCheck, TimesAndDurationsHaveEdges) {
  google::protobuf::Timestamp time;
  time.set_seconds(253'402'300'799);
  time.set_nanos(999'999'999);
  Check check;
  EXPECT_EQ(check.time("t", time), 253'402'300'799'999);
  EXPECT_TRUE(check.ok());
  google::protobuf::Duration duration;
  duration.set_seconds(1);
  duration.set_nanos(1'000'000);
  EXPECT_EQ(check.duration("d", duration, 1001), 1001);
  EXPECT_TRUE(check.ok());
  check.duration("d", duration, 1000);
  EXPECT_FALSE(check.ok());
  Check negative;
  time.set_nanos(-1);
  negative.time("t", time);
  EXPECT_FALSE(negative.ok());
}

// A forecast made at 1,000 s that has a start for one job, with factors 1, 2 and 4.
ForecastStarts forecast_of(JobId job, TimeMs start_ms, bool assumed = false) {
  Forecast::Start start;
  start.job = job;
  start.at_ms = start_ms;
  start.assumed = assumed;
  ForecastStarts out;
  out.forecast = std::make_shared<const Forecast>(1, 1'000'000, 90'000'000, false,
                                                  std::vector<Forecast::Start>{start});
  out.odds = {1, 2, 4, true};
  return out;
}

TEST(ApiConvert, WhoWaitsHasTheForecastsStart) {
  JobRow row;
  row.id = JobId(ClusterId(1), 7);
  row.state = JobState::kQueued;
  const ForecastStarts starts = forecast_of(row.id, 4'540'000);
  auto out = expected_start(row, starts, 1'000'000);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->earliest().seconds(), 4540);
  EXPECT_EQ(out->expected().seconds(), 1000 + 2 * 3540 + 600);
  EXPECT_EQ(out->latest().seconds(), 1000 + 4 * 3540 + 3 * 600);
  EXPECT_FALSE(out->promised());
  EXPECT_EQ(out->cause(), "forecast");
  // Nothing is told of the past.
  out = expected_start(row, starts, 9'000'000);
  EXPECT_EQ(out->earliest().seconds(), 9000);
  EXPECT_EQ(out->expected().seconds(), 9000);
  EXPECT_EQ(out->latest().seconds(), 1000 + 4 * 3540 + 3 * 600);
  row.state = JobState::kRunning;
  EXPECT_FALSE(expected_start(row, starts, 1'000'000));
}

// It would be told of a day that nobody chose.
TEST(ApiConvert, WithoutAnEstimateTheReasonIsSaid) {
  JobRow row;
  row.id = JobId(ClusterId(1), 7);
  row.state = JobState::kQueued;
  ForecastStarts starts = forecast_of(row.id, 4'540'000, true);
  EXPECT_TRUE(expected_start(row, starts, 1'000'000)->calibrated());
  EXPECT_EQ(no_estimate(row, starts, 1'000'000), "");
  starts.odds = {};
  EXPECT_FALSE(expected_start(row, starts, 1'000'000));
  EXPECT_EQ(no_estimate(row, starts, 1'000'000),
            "what runs before it has no time limit, and too few starts have come to learn from");
  starts = forecast_of(row.id, 4'540'000);
  starts.odds = {};
  EXPECT_FALSE(expected_start(row, starts, 1'000'000)->calibrated());
  EXPECT_EQ(no_estimate(row, starts, 1'000'000), "");
}

// The forecast was cut short: only that it does not start before is known.
TEST(ApiConvert, BeyondTheForecastOnlyTheEarliestIsKnown) {
  JobRow row;
  row.id = JobId(ClusterId(1), 8);
  row.state = JobState::kQueued;
  const auto out = expected_start(row, forecast_of(JobId(ClusterId(1), 7), 4'540'000), 1'000'000);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->earliest().seconds(), 90'000);
  EXPECT_FALSE(out->has_expected());
  EXPECT_FALSE(out->has_latest());
  EXPECT_FALSE(expected_start(row, ForecastStarts{std::make_shared<const Forecast>(), {}}, 9));
  row.state = JobState::kPaused;
  EXPECT_FALSE(expected_start(row, forecast_of(JobId(), 1), 1'000'000));
}

// The forecast says when, the promise by when.
TEST(ApiConvert, APromiseBoundsTheForecast) {
  JobRow row;
  row.id = JobId(ClusterId(1), 7);
  row.state = JobState::kQueued;
  row.start_ms = 6'000'000;
  row.start_expected_ms = 6'000'000;
  row.start_promised = true;
  const auto out = expected_start(row, forecast_of(row.id, 4'540'000), 1'000'000);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->promised());
  EXPECT_EQ(out->earliest().seconds(), 4540);
  EXPECT_EQ(out->expected().seconds(), 6000);
  EXPECT_EQ(out->latest().seconds(), 6000);
}

TEST(ApiConvert, AStartIsPromisedOrAnEstimate) {
  constexpr TimeMs kNow = 1'000'000;
  const ForecastStarts nothing{std::make_shared<const Forecast>(), {}};
  JobRow row;
  row.state = JobState::kQueued;
  row.start_ms = 9'000'000;
  row.start_expected_ms = 5'000'000;
  row.start_promised = true;
  row.start_moved.cause = ReserveCause::kOverrun;
  row.start_moved.times = 2;
  v1::ExpectedStart out = *expected_start(row, nothing, kNow);
  EXPECT_EQ(out.earliest().seconds(), 1000);
  EXPECT_EQ(out.expected().seconds(), 5000);
  EXPECT_EQ(out.latest().seconds(), 9000);
  EXPECT_TRUE(out.promised());
  EXPECT_EQ(out.cause(), "overrun");
  EXPECT_EQ(out.moved_later(), 2);
  const std::string promise = out.assumption();
  row.start_promised = false;
  row.start_expected_ms = 900'000;  // it is late already
  EXPECT_FALSE(expected_start(row, nothing, kNow)) << "it may rest on a day that nobody chose";
  out = *expected_start(row, {nothing.forecast, {1, 1, 1, true}}, kNow);
  EXPECT_EQ(out.earliest().seconds(), 900);
  EXPECT_FALSE(out.promised());
  EXPECT_NE(out.assumption(), promise);
}

TEST(ApiPaging, DefaultsAndBounds) {
  Check check;
  EXPECT_EQ(read_page(check, 0, "").size, 100u);
  EXPECT_EQ(read_page(check, 1'000'000, "").size, 10'000u);
  EXPECT_EQ(read_page(check, 7, "42").after, 42u);
  EXPECT_TRUE(check.ok());
  read_page(check, 7, "42x");
  EXPECT_FALSE(check.ok());
  PageMeter rows({2, 0});
  EXPECT_TRUE(rows.add(1));
  EXPECT_FALSE(rows.add(1));
  PageMeter bytes({100, 0});
  EXPECT_FALSE(bytes.add(limits::kMaxPageBytes)) << "a page ends at its bytes too";
}

}  // namespace
}  // namespace subak::api
