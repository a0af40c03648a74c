// The edge makes ProvisioningRequests for the jobs of an engine, watches them and deletes them. The
// API server is played.
#include "server/edge/provisioning/provisioner.h"

#include <gmock/gmock.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/edge_limits.h"
#include "engine/forecast/growth_run.h"
#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kClass = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
constexpr const char* kRequests = "/apis/autoscaling.x-k8s.io/v1/namespaces/a/provisioningrequests";
constexpr const char* kTemplates = "/api/v1/namespaces/a/podtemplates";

// An API server with the one watch of the test. It stores the calls, and answers each at once.
class PlayedServer final : public KubeApi {
 public:
  bool call(KubeCall call, Answered answered) override {
    calls.push_back(call);
    if (full) return false;
    CallAnswer answer;
    answer.outcome = Outcome::kDone;
    for (auto it = refusals.begin(); it != refusals.end(); ++it) {
      if (call.method != it->first || it->second.outcome == Outcome::kDone) continue;
      answer = it->second;
      refusals.erase(it);
      break;
    }
    if (silent) {
      held.push_back([answered, answer] { answered(answer, ""); });
    } else {
      answered(answer, call.method == "GET" ? pods.at(call.path.substr(call.path.rfind('/') + 1))
                                            : made(call.body));
    }
    return true;
  }
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override {
    watches.push_back(std::move(path));
    take_ = std::move(take);
    ended_ = std::move(ended);
    return watches.size();
  }
  void stop(WatchId) override { take_ = nullptr; }
  void turn(DurationMs) override {}
  void wake() override {}

  // The object as it is once it was made.
  std::string made(std::string body) const {
    constexpr std::string_view kMetadata = R"("metadata":{)";
    const std::size_t at = body.find(kMetadata);
    if (at != std::string::npos) body.insert(at + kMetadata.size(), R"("uid":")" + uid + R"(",)");
    return body;
  }
  bool watched() const { return take_ != nullptr; }
  void send(const std::string& object, WatchKind kind) {
    WatchEvent event;
    event.kind = kind;
    event.object = parser_.parse(object);
    event.resource_version = "9";
    event.list_complete = kind == WatchKind::kBookmark;
    take_(event);
  }
  void end(Outcome outcome) {
    CallAnswer answer;
    answer.outcome = outcome;
    answer.message = "the server could not find the requested resource";
    const Ended ended = std::exchange(ended_, nullptr);
    ended(answer);
  }

  std::vector<KubeCall> calls;
  std::vector<std::string> watches;
  std::vector<std::pair<std::string, CallAnswer>> refusals;  // by method, once each
  std::map<std::string, std::string> pods;                   // by name
  std::deque<std::function<void()>> held;
  bool silent = false, full = false;
  std::string uid;  // of objects that are made; empty: the answer cannot be read

 private:
  simdjson::dom::parser parser_;
  WatchStream::Take take_;
  Ended ended_;
};

class ProvisionerTest : public Kube {
 protected:
  void SetUp() override {
    send(in::SetCluster{"east", Mode::kEnforce, {{"watched", Mode::kObserve}}, "", false});
    in::SetAccount account;
    account.spec.path = "ml";
    account.spec.namespaces = {"a", "watched"};
    account.reason = "test";
    send(account);
    set_class(kClass);
    send(in::ListBegin{"east"});
    send(in::ListComplete{"east"});
  }
  void send(in::Body body) {
    Input input;
    input.time_ms = ++now;
    input.actor = "test";
    input.body = std::move(body);
    const ApplyOutcome done = engine.apply(input);
    ASSERT_FALSE(done.reply.error) << done.reply.error->message();
  }
  void set_class(const std::string& name) {
    Policy policy;
    NodePool pool{"h100", "", {"pool", "h100"}, 0, 4, {}};
    pool.node.product = "H100";
    pool.node.gpus = 8;
    pool.node.labels = {pool.label};
    pool.provisioning_class = name;
    policy.queue.node_pools = {pool};
    send(in::SetPolicy{policy, {}});
  }
  // A gated pod of a gang. The edge and the core know it.
  void add(const std::string& uid, std::int64_t gpus, const std::string& gang, std::uint32_t size,
           const std::string& ns = "a") {
    PodRecord pod;
    pod.uid = uid;
    pod.ns = ns;
    pod.name = "p" + uid;
    pod.gang = gang;
    pod.gang_size = size;
    pod.owner = "J";
    pod.gated = true;
    pod.controlled = true;
    pod.shape.kind = GpuKind::kWhole;
    pod.shape.gpus = gpus;
    send(in::PodSeen{"east", pod});
    PodText text{uid, 1, true, "", "J"};
    see(text);
    api.pods["p" + uid] = text_of(text);
  }
  ProvisionerPorts ports() {
    ProvisionerPorts out;
    out.cluster = "east";
    out.read_starts = [this](const auto& read) {
      ForecastStarts starts{std::make_shared<const Forecast>(), {}, growth};
      read(engine, starts);
      return true;
    };
    out.view = [this] { return engine.view(); };
    out.now_ms = [this] { return now; };
    out.monotonic_ms = [this] { return monotonic; };
    out.put = [this](std::function<void()> task) { tasks.push_back(std::move(task)); };
    out.tell_pod = [this](const std::string& uid, const char* reason, const char*,
                          const std::string& note,
                          bool) { told.push_back(uid + " " + reason + ": " + note); };
    return out;
  }
  void forecast() {
    send(in::Pass{});
    growth = std::make_shared<const Growth>(plan_growth(engine.forecast_basis(engine.now())));
  }
  // Returns "METHOD path" of the calls of the next look.
  std::vector<std::string> look(bool full = false) {
    forecast();
    now += limits::kLookProvisioningMs;
    monotonic += limits::kLookProvisioningMs;
    provisioner.turn(full);
    for (const auto& task : std::exchange(tasks, {})) task();
    std::vector<std::string> out;
    last = std::exchange(api.calls, {});
    for (const KubeCall& call : last) out.push_back(call.method + " " + call.path);
    return out;
  }
  void follow() {
    look();
    api.send(R"({"metadata":{"resourceVersion":"9"}})", WatchKind::kBookmark);
    api.calls.clear();
  }
  // The request of the job as the watch reports it.
  std::string request(int number, const std::string& condition = "",
                      const std::string& digest = "") {
    const std::string name = "subak-1-1-" + std::to_string(number);
    const auto seen = requests.all().find("a/" + name);
    const std::string mine =
        !digest.empty() || seen == requests.all().end() ? digest : seen->second.request.digest;
    const std::string conditions =
        condition.empty() ? ""
                          : R"({"type":")" + condition +
                                R"(","status":"True","reason":"Why","message":"no quota",)" +
                                R"("lastTransitionTime":"1970-01-01T00:16:40Z"})";
    return R"({"metadata":{"namespace":"a","name":")" + name + R"(","uid":"U","labels":{)" +
           R"("subak.gpu/provisioning":"1-1.)" + std::to_string(number) + R"("},)" +
           R"("annotations":{"subak.gpu/provisioning-digest":")" + mine + R"("}},"spec":{)" +
           R"("provisioningClassName":")" + kClass + R"(","podSets":[{"count":2,)" +
           R"("podTemplateRef":{"name":")" + name + R"(-5"}},{"count":1,)" +
           R"("podTemplateRef":{"name":"theirs"}}]},"status":{"conditions":[)" + conditions + "]}}";
  }

  TimeMs now = kNow;
  Engine engine;
  std::shared_ptr<const Growth> growth;
  PlayedServer api;
  RequestCache requests;
  std::vector<std::string> told;
  std::vector<KubeCall> last;
  std::vector<std::function<void()>> tasks;
  Provisioner provisioner{ports(), api, cache, requests};
};

TEST_F(ProvisionerTest, AGangGetsTemplatesAndOneRequest) {
  see_job("J", 3);
  add("1", 8, "g", 3);
  add("2", 8, "g", 3);
  add("3", 4, "g", 3);
  follow();
  ASSERT_THAT(api.watches, SizeIs(1));
  EXPECT_THAT(api.watches[0],
              StartsWith("/apis/autoscaling.x-k8s.io/v1/provisioningrequests?labelSelector="
                         "subak.gpu/provisioning&watch=1"));
  const std::string templates = std::string("POST ") + kTemplates;
  EXPECT_THAT(look(), ElementsAre("GET /api/v1/namespaces/a/pods/p1", templates,
                                  "GET /api/v1/namespaces/a/pods/p3", templates,
                                  std::string("POST ") + kRequests));
  const std::string& body = last.back().body;
  EXPECT_THAT(body, AllOf(HasSubstr(R"("name":"subak-1-1-1")"), HasSubstr(kClass),
                          HasSubstr(R"("subak.gpu/provisioning":"1-1.1")"),
                          HasSubstr(R"("kind":"Job","name":"j","uid":"J")"),
                          HasSubstr(R"([{"count":2,"podTemplateRef":{"name":"subak-1-1-1-)")));
  EXPECT_THAT(last[1].body, HasSubstr(R"("nvidia.com/gpu":"1")")) << "as the pod itself says";
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("1 NodesRequested: job 1-1 waits for nodes of pool h100: "
                                 "ProvisioningRequest subak-1-1-1 of class " +
                                 std::string(kClass) + " asks for nodes for 3 pods"));
}

// The answer to the POST shows the request, even if the watch is late.
TEST_F(ProvisionerTest, ARequestIsMadeOnce) {
  add("1", 8, "g", 1);
  follow();
  api.uid = "U";
  EXPECT_THAT(look(), SizeIs(3));
  ASSERT_THAT(requests.all(), SizeIs(1));
  EXPECT_EQ(requests.all().begin()->second.request.uid, "U");
  for (int i = 0; i < 5; ++i) EXPECT_THAT(look(), IsEmpty());
  ASSERT_THAT(growth->jobs, SizeIs(1)) << "the job still waits for nodes";
}

TEST_F(ProvisionerTest, WithoutANeedForNodesNothingIsMade) {
  follow();
  EXPECT_THAT(look(), IsEmpty());
  add("1", 64, "g", 1);
  EXPECT_THAT(look(), IsEmpty()) << "too large for the pool";
  add("2", 8, "h", 1, "watched");
  EXPECT_THAT(look(), IsEmpty()) << "Subak does not manage the namespace";
}

TEST_F(ProvisionerTest, NoWriteBeginsWhileOthersUseAllConnections) {
  add("1", 8, "g", 1);
  follow();
  EXPECT_THAT(look(true), IsEmpty());
  EXPECT_THAT(look(), SizeIs(3));
}

TEST_F(ProvisionerTest, FewRequestsAreMadeAtATime) {
  for (std::size_t i = 0; i <= limits::kMaxProvisioningWrites; ++i)
    add(std::to_string(i), 4, "g" + std::to_string(i), 1);
  follow();
  api.silent = true;
  EXPECT_THAT(look(), SizeIs(limits::kMaxProvisioningWrites));
  EXPECT_THAT(look(), IsEmpty()) << "no answer has come yet";
  provisioner.forget();
  api.silent = false;
  follow();
  EXPECT_THAT(look(), SizeIs(3 * (limits::kMaxProvisioningWrites + 1))) << "each answer at once";
}

TEST_F(ProvisionerTest, ACallForWhichThereIsNoRoomIsMadeLater) {
  add("1", 8, "g", 1);
  follow();
  api.full = true;
  EXPECT_THAT(look(), SizeIs(1));
  api.full = false;
  EXPECT_THAT(look(), SizeIs(3));
}

TEST_F(ProvisionerTest, AJobThatIsGoneLosesItsRequestAndItsTemplates) {
  follow();
  api.send(request(1), WatchKind::kAdded);
  EXPECT_THAT(look(), ElementsAre(std::string("DELETE ") + kTemplates + "/subak-1-1-1-5",
                                  std::string("DELETE ") + kRequests + "/subak-1-1-1"))
      << "not the template of others";
  EXPECT_THAT(last.back().body, HasSubstr(R"("preconditions":{"uid":"U"})"));
  api.send(request(1), WatchKind::kDeleted);
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(ProvisionerTest, UsersLearnWhatTheAutoscalerSays) {
  add("1", 8, "g", 1);
  follow();
  forecast();
  const DemandPage page =
      read_demand(engine, {std::make_shared<const Forecast>(), {}, growth}, "east", {});
  ASSERT_THAT(page.jobs, SizeIs(1));
  const std::string& digest = page.jobs[0].digest;
  api.send(request(1, "", digest), WatchKind::kAdded);
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(told, IsEmpty());
  api.send(request(1, "Provisioned"), WatchKind::kModified);
  look();
  look();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("1 NodesProvisioned: ProvisioningRequest subak-1-1-1"));
  EXPECT_EQ(requests.provisioned(JobId(ClusterId(1), 1), "a")->class_name, kClass);
  api.send(request(1, "Failed"), WatchKind::kModified);
  look();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_THAT(told[1], HasSubstr("has the condition Failed (Why): no quota; Subak makes a new "
                                 "request after 1m"));
  now += limits::kProvisioningRetryMs;
  EXPECT_THAT(look(), SizeIs(3));
  EXPECT_THAT(last.back().body, HasSubstr(R"("name":"subak-1-1-2")"));
}

TEST_F(ProvisionerTest, ARefusalIsToldAndTriedAgainLater) {
  add("1", 8, "g", 1);
  follow();
  api.refusals = {{"POST", {Outcome::kRefused, "Forbidden", "not allowed", 0}}};
  EXPECT_THAT(look(), SizeIs(2));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], AllOf(HasSubstr("NodesNotRequested"), HasSubstr("refuses the PodTemplate"),
                             HasSubstr("not allowed")));
  EXPECT_THAT(look(), SizeIs(3)) << "after a pause";
}

TEST_F(ProvisionerTest, ATemplateThatExistsHasTheSameContent) {
  add("1", 8, "g", 1);
  follow();
  api.refusals = {{"POST", {Outcome::kConflict, "AlreadyExists", "", 0}}};
  EXPECT_THAT(look(), SizeIs(3));
  EXPECT_EQ(last.back().path, kRequests);
}

TEST_F(ProvisionerTest, AnAnswerFromAnEarlierSessionHasNoEffect) {
  add("1", 8, "g", 1);
  follow();
  api.silent = true;
  EXPECT_THAT(look(), SizeIs(1));
  provisioner.forget();
  api.silent = false;
  ASSERT_THAT(api.held, SizeIs(1));
  api.held.front()();
  EXPECT_THAT(api.calls, IsEmpty());
  follow();
  EXPECT_THAT(look(), SizeIs(3)) << "the new session begins again";
}

TEST_F(ProvisionerTest, AClusterWithoutTheKindGetsNoRequest) {
  add("1", 8, "g", 1);
  look();
  api.end(Outcome::kNotFound);
  EXPECT_THAT(look(), IsEmpty());
  for (int i = 0; i < 100; ++i) EXPECT_THAT(look(), IsEmpty());
  EXPECT_LE(api.watches.size(), 30U) << "it asks again, but seldom";
}

TEST_F(ProvisionerTest, WithoutAClassOneListShowsWhatIsLeft) {
  set_class("");
  add("1", 8, "g", 1);
  look();
  EXPECT_FALSE(api.watched()) << "not while the edge starts";
  const auto later = [this] {
    monotonic += limits::kSearchProvisioningMs;
    now += limits::kSearchProvisioningMs;
    return look();
  };
  later();
  ASSERT_THAT(api.watches, SizeIs(1));
  api.send(request(1), WatchKind::kAdded);
  api.send(R"({"metadata":{"resourceVersion":"9"}})", WatchKind::kBookmark);
  EXPECT_THAT(look(), SizeIs(2)) << "the job waits, but no pool has a class";
  api.send(request(1), WatchKind::kDeleted);
  later();
  look();
  EXPECT_FALSE(api.watched()) << "nothing is left";
  provisioner.forget();
  const std::size_t watches = api.watches.size();
  for (int i = 0; i < 10; ++i) EXPECT_THAT(later(), IsEmpty());
  EXPECT_EQ(api.watches.size(), watches) << "it does not search again";
}

TEST_F(ProvisionerTest, ASearchThatFailsIsNotRepeated) {
  set_class("");
  look();
  monotonic += limits::kSearchProvisioningMs;
  look();
  ASSERT_THAT(api.watches, SizeIs(1));
  api.end(Outcome::kNotFound);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(api.watches, SizeIs(1));
}

TEST_F(ProvisionerTest, TheDemandNamesTheLimit) {
  for (int i = 0; i < static_cast<int>(limits::kMaxProvisioningRequests) + 5; ++i)
    add(std::to_string(100 + i), 1, "g" + std::to_string(i), 1);
  Policy policy = engine.policy();
  policy.queue.node_pools[0].most = 1000;
  policy.queue.node_pools[0].node.gpus = 1;
  send(in::SetPolicy{policy, {}});
  forecast();
  ASSERT_GT(growth->jobs.size(), limits::kMaxProvisioningRequests);
  const JobId last_job = growth->jobs.back().job;
  const ForecastStarts starts{std::make_shared<const Forecast>(), {}, growth};
  const DemandPage page = read_demand(engine, starts, "east", {last_job});
  EXPECT_THAT(page.jobs, SizeIs(limits::kMaxProvisioningRequests));
  EXPECT_EQ(page.jobs.back().job, last_job) << "jobs that have a request come first";
  EXPECT_EQ(page.unbound, std::set<JobId>{last_job});
  EXPECT_FALSE(
      read_demand(engine, {std::make_shared<const Forecast>(), {}, nullptr}, "east", {}).known);
}

}  // namespace
}  // namespace subak
