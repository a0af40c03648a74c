// What the Events say of jobs that start, and of jobs that end for others.
#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

#include "kube_answers.h"
#include "kube_seen.h"
#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/notices.h"
#include "server/edge/cluster/watches.h"
#include "server/edge/cluster/writes.h"

namespace subak {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The API server of the edge; the context owns it.
AnswersAtOnce* api_of(EdgeContext& context) {
  return static_cast<AnswersAtOnce*>(context.api.get());
}

class NoticesTest : public ::testing::Test {
 protected:
  static EdgeOptions options() {
    EdgeOptions out;
    out.cluster = "east";
    return out;
  }
  EdgePorts ports() {
    EdgePorts out;
    out.post = [this](Input input, const ReplyFn&) {
      posted.push_back(std::move(input));
      return true;
    };
    out.now_ms = [this] { return now; };
    out.view = [this] { return std::make_shared<const View>(view); };
    out.monotonic_ms = [this] { return clock_ms; };
    return out;
  }
  void see_pod(const PodText& pod) {
    WatchEvent event;
    event.kind = WatchKind::kModified;
    event.object = parser.parse(text_of(pod));
    context.cache.see_pod(event, clock_ms);
  }
  void see_job(const std::string& spec, const std::string& status = "{}") {
    WatchEvent event;
    event.kind = WatchKind::kModified;
    event.object = parser.parse(
        R"({"metadata":{"uid":"J","namespace":"a","name":"j","resourceVersion":"5"},"spec":{)" +
        spec + R"(},"status":)" + status + "}");
    context.cache.see_owner(event, kJobsPath);
  }
  std::vector<KubeCall> sent() {
    for (int i = 0; i < 20; ++i, clock_ms += kSecondMs) notices.turn(false);
    return std::exchange(api_of(context)->calls, {});
  }
  static Preemption preemption() {
    Preemption p;
    p.claimant = JobId(ClusterId(1), 3);
    p.account = "ml.audio";
    p.quota = 16'000;
    p.used = 4'500;
    p.started_ms = kNow;
    p.asked_ms = kNow + 10 * kMinuteMs + 250;
    p.submit_ms = kNow - kMinuteMs;
    p.times = 2;
    return p;
  }
  static KubeWrite ending(WriteKind kind, const std::string& uid) {
    KubeWrite write{kind, uid, JobId(ClusterId(1), 1), "", Cause::kPreempted, 1, 1};
    write.preemption = preemption();
    return write;
  }

  View view;
  TimeMs now = kNow + kHourMs;
  std::int64_t clock_ms = 1'000'000;
  std::vector<Input> posted;
  simdjson::dom::parser parser;
  EdgeContext context{options(), ports(), std::make_unique<AnswersAtOnce>()};
  Watches watches{context, [] {}};
  EdgeSession session{context, watches, {}};
  Notices notices{context, session};
};

constexpr const char* kWords =
    "Subak preempts job 1-1 for job 1-3 of ml.audio, which is within its quota (4.5 of 16 GPUs in "
    "use); it ran for 10m; it waits again with its first submit time, 1970-01-01T00:15:40.000Z; "
    "preempted 2 times";

TEST_F(NoticesTest, OwnerAndPodOfAVictimAreTold) {
  see_job(R"("parallelism":1)");
  see_pod({"1", 1, false, "n1", "J", "Running"});
  KubeWrite write = ending(WriteKind::kSuspend, "J");
  write.pod = "1";
  notices.tell_written(write);
  const auto calls = sent();
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(calls[0].body, HasSubstr(R"("regarding":{"apiVersion":"batch/v1","kind":"Job")"));
  EXPECT_THAT(calls[1].body, HasSubstr(R"("regarding":{"apiVersion":"v1","kind":"Pod")"));
  for (const KubeCall& call : calls) {
    EXPECT_THAT(call.body, AllOf(HasSubstr(kWords), HasSubstr(R"("reason":"Preempted")"),
                                 HasSubstr("which counts no failure")));
  }
}

TEST_F(NoticesTest, AnEvictedVictimIsTold) {
  see_job(R"("parallelism":1)");
  see_pod({"1", 1, false, "n1", "J", "Running"});
  notices.tell_written(ending(WriteKind::kEvict, "1"));
  const auto calls = sent();
  ASSERT_THAT(calls, SizeIs(2)) << "the pod and its owner";
  for (const KubeCall& call : calls) {
    EXPECT_THAT(call.body, AllOf(HasSubstr(kWords), HasSubstr(R"("reason":"Preempted")"),
                                 HasSubstr("may count as a failure")));
  }
}

TEST_F(NoticesTest, AStartSaysWhatIsBeyondQuota) {
  see_pod({"1"});
  KubeWrite write{WriteKind::kRelease, "1", JobId(ClusterId(1), 1), "n1", Cause::kNone, 1, 1};
  notices.tell_written(write);
  auto calls = sent();
  ASSERT_FALSE(calls.empty());
  EXPECT_THAT(calls[0].body,
              AllOf(HasSubstr(R"("reason":"Released")"), Not(HasSubstr("beyond quota"))));
  write.attempt = 2;
  write.loan = {1'000, kNow};
  notices.tell_written(write);
  calls = sent();
  ASSERT_FALSE(calls.empty());
  EXPECT_THAT(calls[0].body, HasSubstr("1 GPU beyond quota: jobs within quota may preempt "
                                       "the job from 1970-01-01T00:16:40.000Z on"));
}

// The core has to learn at once that the pod stays.
TEST_F(NoticesTest, AnEvictionThatIsLeftOutIsReportedOnce) {
  WriteQueue queue(context.cache);
  Writes writes(context, session, queue, notices);
  see_job(R"("parallelism":2,"backoffLimit":1)");
  see_pod({"1", 1, false, "n1", "J", "Running"});
  see_pod({"2", 1, false, "n1", "J", "Running"});
  Effect effect;
  effect.kind = EffectKind::kEvict;
  effect.cluster = ClusterId(1);
  effect.job = JobId(ClusterId(1), 1);
  effect.attempt = 1;
  effect.cause = Cause::kPreempted;
  effect.pods.emplace_back().uid = "1";
  queue.want(effect, false);
  writes.turn();
  ASSERT_THAT(posted, SizeIs(1));
  const auto& refused = std::get<in::PodRefused>(posted[0].body);
  EXPECT_EQ(refused.pod.uid, "1");
  EXPECT_EQ(refused.cause, Cause::kEvictRefused);
  EXPECT_THAT(refused.words, HasSubstr("its Job allows too few more"));
  const auto calls = sent();
  ASSERT_THAT(calls, SizeIs(2)) << "the pod and its owner are told, and nothing is evicted";
  EXPECT_THAT(calls[0].body, HasSubstr(R"("reason":"EvictRefused")"));
  queue.want(effect, false);
  writes.turn();
  EXPECT_THAT(posted, SizeIs(1));
  see_job(R"("parallelism":2,"backoffLimit":6)");
  queue.outdate();
  writes.turn();
  EXPECT_THAT(posted, SizeIs(1));
  ASSERT_THAT(api_of(context)->calls, SizeIs(1));
  EXPECT_THAT(api_of(context)->calls[0].path, HasSubstr("/eviction"));
}

// A pod that Subak released and that is not Ready is reported once the policy's time is over, and
// again each minute.
TEST_F(NoticesTest, APodThatIsNotReadyInTimeIsReported) {
  WriteQueue queue(context.cache);
  Writes writes(context, session, queue, notices);
  const auto see = [&](const std::string& uid, const std::string& ready, bool ours = true) {
    PodText pod{uid, 1, false, "n1", "J", "Pending"};
    pod.meta = ours ? R"(,"annotations":{"subak.gpu/status":"released"})" : "";
    pod.status = R"(,"conditions":[{"type":"Ready","status":")" + ready +
                 R"(","reason":"ContainersNotReady","lastTransitionTime":"1970-01-01T01:00:00Z"}])";
    std::string text = text_of(pod);
    const std::string pin =
        R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
        R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}},"nodeName")";
    text.replace(text.find("\"nodeName\""), 10, pin);
    WatchEvent event;
    event.kind = WatchKind::kModified;
    event.object = parser.parse(text);
    context.cache.see_pod(event, clock_ms);
  };
  see("1", "False");
  see("2", "False", false);
  see("3", "True");
  now = kHourMs + 10 * kMinuteMs;
  writes.report_not_ready();
  EXPECT_THAT(posted, IsEmpty()) << "the policy allows any time";
  view.policy.gangs.ready_within_ms = 10 * kMinuteMs;
  --now;
  writes.report_not_ready();
  EXPECT_THAT(posted, IsEmpty()) << "not yet";
  const auto later = [&](DurationMs ms) {
    now += ms;
    clock_ms += ms;
    writes.report_not_ready();
  };
  later(kSecondMs);
  ASSERT_THAT(posted, SizeIs(1)) << "only the pod that Subak released";
  const auto& refused = std::get<in::PodRefused>(posted[0].body);
  EXPECT_EQ(refused.pod.uid, "1");
  EXPECT_EQ(refused.cause, Cause::kNotReady);
  EXPECT_EQ(refused.words, "ContainersNotReady");
  later(30 * kSecondMs);
  EXPECT_THAT(posted, SizeIs(1));
  later(kMinuteMs);
  EXPECT_THAT(posted, SizeIs(2));
  const auto calls = sent();
  ASSERT_THAT(calls, SizeIs(2)) << "the pod and its owner, once";
  EXPECT_THAT(calls[0].body, AllOf(HasSubstr(R"("reason":"NotReady")"), HasSubstr("for 10m")));
  see("1", "True");
  later(kHourMs);
  EXPECT_THAT(posted, SizeIs(2));
}

}  // namespace
}  // namespace subak
