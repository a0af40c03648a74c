// ComputeDomains: what the edge sees of them, when it makes and deletes them, and when gates open.
#include <gmock/gmock.h>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "server/edge/events/domain_notices.h"
#include "server/edge/writes/domain_state.h"
#include "server/edge/writes/writer.h"
#include "tests/server/edge/kube_answers.h"
#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kKey = "a/subak-t";
const std::string kMake = "make_domain make-domain 1-1.1 a/subak-t";
const std::string kDrop = "drop_domain drop-domain a/subak-t";

// A pod with Subak's claim. `node` empty: it is not bound.
std::string claiming(const std::string& uid, bool gated, const std::string& node = "",
                     const std::string& phase = "Pending", const std::string& claim = "") {
  const std::string ours =
      R"([{"name":"subak-compute-domain","resourceClaimTemplateName":"subak-t"}])";
  std::string text = text_of({uid, 1, gated, node, "", phase});
  const std::string before = R"("containers":[)";
  return text.replace(text.find(before), before.size(),
                      R"("resourceClaims":)" + (claim.empty() ? ours : claim) + "," + before);
}

class KubeDomain : public Kube {
 protected:
  WatchEvent event_of(const std::string& text, WatchKind kind) {
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(text);
    return event;
  }
  void see_domain(const std::string& label = "1-1.1", const std::string& meta = "",
                  const std::string& of = "subak-t", const std::string& status = "{}",
                  WatchKind kind = WatchKind::kModified) {
    cache.domains().see_domain(
        event_of(R"({"metadata":{"namespace":"a","name":"subak-t","uid":"D","resourceVersion":"5",)"
                 R"("labels":{"subak.gpu/attempt":")" +
                     label + "\"}" + meta +
                     R"(},"spec":{"channel":{"resourceClaimTemplate":{"name":")" + of +
                     R"("}}},"status":)" + status + "}",
                 kind),
        monotonic);
  }
  void see_template(const std::string& uid = "D",
                    const std::string& of = std::string(names::kChannelClass),
                    const std::string& name = "subak-t", WatchKind kind = WatchKind::kModified) {
    const WatchEvent event = event_of(
        R"({"metadata":{"namespace":"a","name":")" + name +
            R"(","labels":{"resource.nvidia.com/computeDomain":")" + uid +
            R"("}},"spec":{"spec":{"devices":{"requests":[{"exactly":{"deviceClassName":")" + of +
            R"("}}]}}}})",
        kind);
    cache.domains().see_template(event);
    cache.needs().claims().see_template(event);
  }
  void see_slice(const std::string& node, WatchKind kind = WatchKind::kModified) {
    cache.domains().see_slice(event_of(
        R"({"metadata":{"name":"s-)" + node +
            R"("},"spec":{"driver":"compute-domain.nvidia.com","nodeName":")" + node +
            R"(","devices":[{"attributes":{"type":{"string":"channel"},"id":{"int":0}}}]}})",
        kind));
  }
  std::string why(std::uint32_t job = 1, std::uint32_t attempt = 1) {
    return check_domain(cache, kKey, JobId(ClusterId(1), job), attempt).why;
  }
  // Returns the record of the pod that waits for the core.
  PodRecord told_pod() {
    PodRecord out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* const seen = std::get_if<in::PodSeen>(&news->body)) out = seen->pod;
      cache.outbox().answered(news->uid);
    }
    return out;
  }

 private:
  json::Parser parser_;
};

TEST_F(KubeDomain, IsMadeOnceBeforeAnyGateOpens) {
  see_text(claiming("1", true));
  see_text(claiming("2", true));
  want(EffectKind::kOpenGate, 1, {"1", "2"});
  EXPECT_THAT(plan(), ElementsAre(kMake));
  attempts["make-domain 1-1.1 a/subak-t"].under_way = true;
  EXPECT_THAT(plan(), IsEmpty());
  attempts.clear();
  see_domain();
  EXPECT_THAT(why(), HasSubstr("ResourceClaimTemplate a/subak-t: does not exist"));
  EXPECT_THAT(plan(), ElementsAre(kMake));  // the writer counts how long it waits
  see_template();
  EXPECT_THAT(plan(), ElementsAre("release 1", "release 2"));
}

TEST_F(KubeDomain, IsDeletedWhenNothingUsesIt) {
  see_domain();
  see_template();
  EXPECT_THAT(plan(), ElementsAre(kDrop)) << "found by its label after a start";
  see_text(claiming("1", true));
  EXPECT_THAT(plan(), ElementsAre(kDrop)) << "a pod that waits again uses none";
  want(EffectKind::kOpenGate, 1, {"1"});
  EXPECT_THAT(plan(), ElementsAre("release 1"));
  see_text(claiming("1", false));
  jobs.clear();
  EXPECT_THAT(plan(), IsEmpty()) << "the gate is open";
  see_text(claiming("1", false, "n1", "Running"));
  EXPECT_THAT(plan(), IsEmpty());
  see_text(claiming("1", false, "n1", "Succeeded"));
  EXPECT_THAT(plan(), ElementsAre(kDrop));
  see_domain("1-1.1", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_THAT(plan(), IsEmpty());
}

// Such a pod would run in its ComputeDomain.
TEST_F(KubeDomain, StaysWhileAnOutdatedPatchMayOpenItsPod) {
  see_domain();
  see_template();
  see_text(claiming("1", true));
  Effect effect;
  effect.kind = EffectKind::kKeepClosed;
  effect.cluster = ClusterId(1);
  effect.job = JobId(ClusterId(1), 1);
  effect.attempt = 1;
  effect.keep_closed.emplace_back().uid = "1";
  fence.take(effect, false);
  EXPECT_THAT(plan(), ElementsAre("keep 1"));
  fence.give_up("1");
  EXPECT_THAT(plan(), ElementsAre(kDrop)) << "nothing can mark the pod";
}

// The core may extend a hold, so only the core says that an attempt has ended.
TEST_F(KubeDomain, StaysUntilTheCoreWithdrawsItsAttempt) {
  see_domain();
  see_template();
  see_text(claiming("1", true));
  want(EffectKind::kOpenGate, 1, {"1"});
  EXPECT_THAT(plan(100, kNow + 5000), IsEmpty()) << "the hold has ended";
  jobs.begin()->second.given_up = true;
  EXPECT_THAT(plan(), IsEmpty()) << "the edge has given the release up";
  jobs.clear();
  EXPECT_THAT(plan(), ElementsAre(kDrop));
}

// The answer to a call may come after the event that the object is gone.
TEST_F(KubeDomain, ALateAnswerBringsNoDeletedObjectBack) {
  const std::string answer =
      R"({"metadata":{"namespace":"a","name":"subak-t","uid":"D","resourceVersion":"4",)"
      R"("labels":{"subak.gpu/attempt":"1-1.1"}},"spec":{}})";
  see_domain();
  see_domain("1-1.1", "", "subak-t", "{}", WatchKind::kDeleted);
  cache.domains().see_answered_domain(event_of(answer, WatchKind::kModified).object, monotonic);
  EXPECT_EQ(cache.domains().find(kKey), nullptr);
  std::string newer = answer;
  newer.replace(newer.find("\"4\""), 3, "\"6\"");
  cache.domains().see_answered_domain(event_of(newer, WatchKind::kModified).object, monotonic);
  EXPECT_NE(cache.domains().find(kKey), nullptr) << "the watch has not reported it yet";
}

TEST_F(KubeDomain, OneOfAnotherAttemptGoesFirst) {
  see_text(claiming("1", true));
  see_domain("1-1.7");
  see_template();
  want(EffectKind::kOpenGate, 1, {"1"});
  EXPECT_THAT(plan(), ElementsAre(kDrop, kMake));
  EXPECT_THAT(why(), AllOf(HasSubstr("metadata.labels[subak.gpu/attempt] was 1-1.7"),
                           HasSubstr("want 1-1.1")));
  // A replacement joins pods of its gang that run on.
  see_text(claiming("2", false, "n2", "Running"));
  EXPECT_EQ(why(), "");
  EXPECT_THAT(plan(), ElementsAre("release 1"));
}

TEST_F(KubeDomain, AUsersObjectIsLeftAlone) {
  see_text(claiming("1", true));
  see_domain("mine");
  see_template();
  want(EffectKind::kOpenGate, 1, {"1"});
  EXPECT_THAT(plan(), ElementsAre(kMake));
  EXPECT_THAT(why(), HasSubstr("names no attempt of a job, so Subak did not make the object"));
}

TEST_F(KubeDomain, AWrongObjectIsNamedWithItsField) {
  see_domain("1-1.1", "", "other");
  EXPECT_THAT(why(), HasSubstr("spec.channel.resourceClaimTemplate.name was \"other\""));
  see_domain();
  see_template("E");
  EXPECT_THAT(why(), HasSubstr("metadata.labels[resource.nvidia.com/computeDomain] was \"E\""));
  see_template("D", "gpu.nvidia.com");
  EXPECT_THAT(why(), HasSubstr("spec.spec.devices.requests"));
  see_template();
  EXPECT_EQ(why(), "");
  see_template("D", std::string(names::kChannelClass), "subak-t", WatchKind::kDeleted);
  EXPECT_THAT(why(), HasSubstr("does not exist"));
  see_domain("1-1.1", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_THAT(why(), HasSubstr("metadata.deletionTimestamp"));
}

TEST_F(KubeDomain, AUsersClaimIsRecognisedByItsTemplate) {
  const std::string own = R"([{"name":"x","resourceClaimTemplateName":"own"}])";
  see_text(claiming("1", true, "", "Pending", own));
  EXPECT_NE(cache.find_gpu_pod("1")->gpu->claims.waits.claim, "");
  see_template("D", std::string(names::kChannelClass), "own");
  outdate();
  EXPECT_THAT(cache.marks().take_outdated(10), SizeIs(1));
  see_text(claiming("1", true, "", "Pending", own));
  EXPECT_TRUE(told_pod().terms.compute_domain);
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->claims.waits.claim, "");
  EXPECT_EQ(cache.find_gpu_pod("1")->gpu->claims.domain, "") << "Subak makes and deletes none";
}

TEST_F(KubeDomain, ANodeOffersAChannelWhileItsSliceIsThere) {
  const auto extended = [this](const std::string& name) {
    see_node(name);
    std::size_t count = 9;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* const seen = std::get_if<in::NodeSeen>(&news->body))
        count = seen->node.extended.size();
      cache.outbox().answered(news->uid);
    }
    return count;
  };
  see_slice("n1");
  EXPECT_EQ(extended("n1"), 0u) << "the cluster has no ComputeDomains";
  cache.domains().complete_domains();
  EXPECT_THAT(cache.nodes().take_changed(), ElementsAre("n1"));
  EXPECT_EQ(extended("n1"), 1u);
  EXPECT_EQ(extended("n2"), 0u);
  see_slice("n2");
  EXPECT_THAT(cache.nodes().take_changed(), ElementsAre("n2"));
  see_slice("n1", WatchKind::kDeleted);
  EXPECT_EQ(extended("n1"), 0u);
  cache.domains().begin_slices();
  cache.domains().complete_slices();
  EXPECT_FALSE(cache.domains().offers_channel("n2")) << "a list that does not name it";
}

class DomainWriter : public KubeDomain {
 protected:
  DomainWriter() { see_text(claiming("1", true)); }
  void make(std::size_t pods = 1) {
    KubeWrite write;
    write.kind = WriteKind::kMakeDomain;
    write.job = JobId(ClusterId(1), 1);
    write.uid = make_domain_id(kKey, write.job, 1);
    write.attempt = 1;
    write.pods = pods;
    write.pod = "1";
    writer.begin(write);
  }
  void drop() {
    KubeWrite write;
    write.kind = WriteKind::kDropDomain;
    write.uid = drop_domain_id(kKey);
    writer.begin(write);
  }
  WriterHooks hooks() {
    WriterHooks out;
    out.see_pod = [](json::Value) {};
    out.see_owner = [](json::Value, const std::string&) {};
    out.see_domain = [this](json::Value domain) {
      cache.domains().see_answered_domain(domain, monotonic);
    };
    out.forget_domain = [this](const std::string& key) { cache.domains().forget_domain(key); };
    out.done = [this](const KubeWrite& write) { done.emplace_back(enum_name(write.kind)); };
    out.give_up = [this](const KubeWrite&, const CallAnswer& answer) {
      given_up.push_back(answer.message);
    };
    out.monotonic_ms = [this] { return monotonic; };
    return out;
  }

  AnswersAtOnce api;
  std::vector<std::string> done, given_up;
  Writer writer{api, cache, hooks()};
};

TEST_F(DomainWriter, PostsAndTakesTheAnswer) {
  api.answer = {Outcome::kDone, "", "", 0};
  api.body = R"({"metadata":{"namespace":"a","name":"subak-t","uid":"D","resourceVersion":"5",)"
             R"("labels":{"subak.gpu/attempt":"1-1.1"}},)"
             R"("spec":{"channel":{"resourceClaimTemplate":{"name":"subak-t"}}}})";
  make();
  ASSERT_THAT(api.calls, SizeIs(1));
  EXPECT_EQ(api.calls[0].method, "POST");
  EXPECT_EQ(api.calls[0].path, "/apis/resource.nvidia.com/v1beta1/namespaces/a/computedomains");
  EXPECT_THAT(api.calls[0].body, HasSubstr(R"("subak.gpu/attempt":"1-1.1")"));
  EXPECT_THAT(done, ElementsAre("make_domain"));
  EXPECT_NE(cache.domains().find(kKey), nullptr);
  make();
  EXPECT_THAT(api.calls, SizeIs(1)) << "it exists and waits for its template";
}

TEST_F(DomainWriter, AnAnswerThatSaysNothingIsFollowedByARead) {
  api.next = CallAnswer{Outcome::kUnknown, "", "no answer", 0};
  api.answer = {Outcome::kNotFound, "", "", 0};
  make();
  ASSERT_THAT(api.calls, SizeIs(2));
  EXPECT_EQ(api.calls[1].method, "GET");
  EXPECT_THAT(done, IsEmpty());
}

TEST_F(DomainWriter, WithoutTheKindOrTheRightItIsGivenUp) {
  for (const Outcome outcome : {Outcome::kNotFound, Outcome::kRefused, Outcome::kInvalid}) {
    api.answer = {outcome, "", "not today", 0};
    make();
    EXPECT_THAT(given_up, IsEmpty());
    monotonic += limits::kReleaseRefusedMs;
    make();
    ASSERT_THAT(given_up, SizeIs(1));
    EXPECT_THAT(given_up[0], AllOf(HasSubstr("ComputeDomain a/subak-t"), HasSubstr("not today")));
    given_up.clear();
  }
}

TEST_F(DomainWriter, ATemplateThatNeverComesIsGivenUp) {
  see_domain();
  make();
  monotonic += limits::kReleaseRefusedMs;
  make();
  EXPECT_THAT(api.calls, IsEmpty());
  EXPECT_THAT(given_up, ElementsAre(HasSubstr("does not exist")));
}

TEST_F(DomainWriter, AGangOfNineteenIsGivenUp) {
  make(kMaxDomainNodes + 1);
  monotonic += limits::kReleaseRefusedMs;
  make(kMaxDomainNodes + 1);
  EXPECT_THAT(given_up, ElementsAre(HasSubstr("has 19 pods, want at most 18")));
  EXPECT_THAT(api.calls, IsEmpty());
}

TEST_F(DomainWriter, DeletesOnlyTheObjectThatItKnows) {
  see_domain();
  api.next = CallAnswer{Outcome::kDone, "", "", 0};
  api.answer = {Outcome::kNotFound, "", "", 0};
  drop();
  ASSERT_THAT(api.calls, SizeIs(2));
  EXPECT_EQ(api.calls[0].method, "DELETE");
  EXPECT_EQ(api.calls[0].path,
            "/apis/resource.nvidia.com/v1beta1/namespaces/a/computedomains/subak-t");
  EXPECT_EQ(api.calls[0].body, R"({"preconditions":{"uid":"D"}})");
  EXPECT_THAT(done, ElementsAre("drop_domain"));
  EXPECT_EQ(cache.domains().find(kKey), nullptr) << "the read has shown that it is gone";
  drop();
  EXPECT_THAT(api.calls, SizeIs(2));
}

TEST_F(KubeDomain, ANodeThatIsNotReadyForFiveMinutesIsReportedOnce) {
  AnswersAtOnce api;
  EventRecorder recorder(
      api, [] { return kNow; }, [this] { return monotonic; });
  DomainNotices notices(cache, recorder);
  const auto look = [&](DurationMs later) {
    monotonic += later;
    notices.look(monotonic);
    recorder.turn();
    return std::exchange(api.calls, {}).size();
  };
  const std::string owner =
      R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"J"}])";
  const std::string slow =
      R"({"nodes":[{"name":"n1","status":"NotReady"},{"name":"n2","status":"Ready"}]})";
  see_domain("1-1.1", owner, "subak-t", slow);
  EXPECT_EQ(look(limits::kDomainNodeLateMs - 1), 0u);
  see_domain("1-1.1", owner, "subak-t", slow);
  monotonic += 10 * kSecondMs;
  notices.look(monotonic);
  EXPECT_EQ(notices.late(), 1u);
  recorder.turn();
  ASSERT_THAT(api.calls, SizeIs(1));
  EXPECT_THAT(api.calls[0].body,
              AllOf(HasSubstr("ComputeDomainNotReady"), HasSubstr("status.nodes[n1].status"),
                    HasSubstr(R"("kind":"Job")"), HasSubstr("5m")));
  api.calls.clear();
  EXPECT_EQ(look(10 * kSecondMs), 0u) << "once";
  EXPECT_EQ(notices.late(), 1u);
  see_domain("1-1.1", owner, "subak-t", R"({"nodes":[{"name":"n1","status":"Ready"}]})");
  EXPECT_EQ(look(10 * kSecondMs), 0u);
  EXPECT_EQ(notices.late(), 0u);
}

TEST_F(KubeDomain, RowsSayTheState) {
  const auto state = [this] { return enum_name(domain_rows(cache.domains()).at(0).state); };
  see_domain();
  EXPECT_EQ(state(), "waiting");
  see_template();
  EXPECT_EQ(state(), "joining");
  see_domain("1-1.1", "", "subak-t", R"({"nodes":[{"name":"n1","status":"Ready"}]})");
  EXPECT_EQ(state(), "ready");
  see_domain("1-1.1", "", "subak-t", R"({"nodes":[{"name":"n1","status":"Ready"},{"name":"n2"}]})");
  EXPECT_EQ(state(), "not_ready");
  const ComputeDomainRow row = domain_rows(cache.domains()).at(0);
  EXPECT_EQ(row.name, kKey);
  EXPECT_EQ(row.job, "1-1");
  EXPECT_EQ(row.ready, 1u);
  EXPECT_THAT(row.not_ready, ElementsAre("n2"));
  see_domain("1-1.1", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_EQ(state(), "ending");
  see_domain("mine");
  EXPECT_THAT(domain_rows(cache.domains()), IsEmpty());
}

}  // namespace
}  // namespace subak
