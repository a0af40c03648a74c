// Events about spent budgets: on which namespaces, how many, and what they say.
#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/edge_limits.h"
#include "kube_answers.h"
#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/notices.h"
#include "server/edge/cluster/watches.h"

namespace subak {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BudgetEvents : public ::testing::Test {
 protected:
  void SetUp() override {
    in::SetCluster east{"east", Mode::kEnforce, {{"watched", Mode::kObserve}}, "", false};
    send(east);
    account("ml", {"east/b", "watched", "west/c"});
    account("ml.vision", {"a"});
    account("other", {"o"});
    send(in::ListBegin{"east"});
    NodeSpec node;
    node.name = "n1";
    node.product = "H100";
    node.gpus = 8;
    send(in::NodeSeen{"east", node});
    send(in::ListComplete{"east"});
    send(in::NamespaceSeen{"east", "labelled", "ml.vision"});
    send(in::NamespaceSeen{"east", "o", "ml"});  // the account's own list decides
  }
  void send(in::Body body) {
    Input input;
    input.time_ms = 1000;
    input.actor = "test";
    input.body = std::move(body);
    const ApplyOutcome done = engine.apply(input);
    ASSERT_FALSE(done.reply.error) << done.reply.error->message();
  }
  void account(const std::string& path, std::vector<std::string> namespaces) {
    in::SetAccount edit;
    edit.spec.path = path;
    edit.spec.namespaces = std::move(namespaces);
    edit.reason = "test";
    send(edit);
  }
  EdgePorts ports() {
    EdgePorts out;
    out.now_ms = [] { return kHourMs; };
    out.monotonic_ms = [this] { return clock_ms; };
    out.read_expensive = [this](const std::function<void(const Engine&)>& read) {
      if (refuses) return false;
      read(engine);
      return true;
    };
    return out;
  }
  static EdgeOptions options() {
    EdgeOptions out;
    out.cluster = "east";
    return out;
  }
  // Runs turns of the edge until all Events are sent.
  std::vector<KubeCall> sent() {
    for (int i = 0; i < 60; ++i, clock_ms += kSecondMs) {
      for (const auto& task : context.inbox->take()) task();
      notices.look_at_budgets();
      notices.turn(false);
    }
    return std::exchange(static_cast<AnswersAtOnce*>(context.api.get())->calls, {});
  }
  std::vector<std::string> told_of(const std::string& path) {
    notices.tell_budget({path, "10h/day", 80, 1000});
    std::vector<std::string> paths;
    for (const KubeCall& call : sent()) paths.push_back(call.path);
    return paths;
  }

  Engine engine;
  bool refuses = false;
  std::int64_t clock_ms = 1'000'000;
  EdgeContext context{options(), ports(), std::make_unique<AnswersAtOnce>()};
  Watches watches{context, [] {}};
  EdgeSession session{context, watches, {}};
  Notices notices{context, session};
};

std::string events_of(const std::string& ns) {
  return "/apis/events.k8s.io/v1/namespaces/" + ns + "/events";
}

TEST_F(BudgetEvents, AreOnTheNamespacesOfTheAccountAndBelow) {
  EXPECT_THAT(told_of("ml"), ElementsAre(events_of("a"), events_of("b"), events_of("labelled")));
  EXPECT_THAT(told_of("ml.vision"), ElementsAre(events_of("a"), events_of("labelled")));
  EXPECT_THAT(told_of("none"), IsEmpty());
}

TEST_F(BudgetEvents, SayHowMuchIsSpent) {
  notices.tell_budget({"ml.vision", "10h/day", 80, 1000});
  notices.tell_budget({"ml.vision", "10h/day", 100, 2000});
  const auto calls = sent();
  ASSERT_THAT(calls, SizeIs(4));
  EXPECT_THAT(
      calls[0].body,
      AllOf(HasSubstr(R"("reason":"BudgetNearlySpent")"), HasSubstr(R"("type":"Warning")"),
            HasSubstr(R"("regarding":{"apiVersion":"v1","kind":"Namespace","namespace":"a")"),
            HasSubstr("account ml.vision has spent 80 % of its budget 10h/day at "
                      "1970-01-01T00:00:01.000Z")));
  EXPECT_THAT(calls[2].body, AllOf(HasSubstr(R"("reason":"BudgetSpent")"),
                                   HasSubstr("has spent 100 % of its budget 10h/day")));
}

TEST_F(BudgetEvents, OfAUserAreWhereItsPodsHoldGpus) {
  EXPECT_THAT(told_of("ml.vision/eve"), IsEmpty());
  for (const char* ns : {"a", "watched"}) {
    PodRecord pod;
    pod.uid = pod.name = std::string("p-") + ns;
    pod.ns = ns;
    pod.user = "eve";
    pod.gang_size = 1;
    pod.shape.kind = GpuKind::kWhole;
    pod.shape.gpus = 1;
    pod.node = "n1";
    pod.running = true;
    send(in::PodSeen{"east", pod});
  }
  EXPECT_THAT(told_of("ml.vision/eve"), ElementsAre(events_of("a")));
  EXPECT_THAT(told_of("ml/eve"), IsEmpty()) << "its namespace is only watched";
}

TEST_F(BudgetEvents, AreBounded) {
  std::vector<std::string> many;
  for (int i = 0; i < 150; ++i) many.push_back("n" + std::to_string(1000 + i));
  account("many", many);
  EXPECT_THAT(told_of("many"), SizeIs(limits::kMaxBudgetNamespaces));
}

TEST_F(BudgetEvents, WaitUntilTheFollowerAnswers) {
  refuses = true;
  for (std::size_t i = 0; i < limits::kMaxBudgetNotices + 7; ++i)
    notices.tell_budget({"other", "10h/day", 80, static_cast<TimeMs>(i)});
  EXPECT_THAT(sent(), IsEmpty());
  refuses = false;
  std::size_t calls = 0;
  for (std::size_t more = 1; more > 0; calls += more) more = sent().size();
  EXPECT_EQ(calls, limits::kMaxBudgetNotices) << "the oldest ones are dropped";
}

}  // namespace
}  // namespace subak
