// Which kinds of owners the edge watches: what the API server says that it serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "server/edge/kinds/owner_watches.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string collection_of_kind(OwnerKind kind) {
  return collection_of(row_of(kind), row_of(kind).versions.front());
}

// Answers discovery by `codes` and bodies; lists and watches are counted only.
class Discovered final : public KubeApi {
 public:
  bool call(KubeCall call, Answered answered) override {
    asked.push_back(call.path);
    const auto found = says.find(call.path);
    const auto& [code, body] =
        found == says.end() ? std::pair<int, std::string>(404, "{}") : found->second;
    answered(read_answer(code, "", body), body);
    return true;
  }
  WatchId watch(std::string path, WatchStream::Take, Ended ended) override {
    watched.push_back(path.substr(0, path.find('?')));
    if (absent.contains(watched.back())) ends.push_back(std::move(ended));
    return watched.size();
  }
  void stop(WatchId) override {}
  void turn(DurationMs) override {}
  void wake() override {}
  void serve(OwnerKind kind) {
    const OwnerKindRow& row = row_of(kind);
    says["/apis/" + std::string(row.group) + "/" + std::string(row.versions.front())] = {
        200, R"({"resources":[{"name":")" + std::string(row.plural) + R"(","kind":")" +
                 std::string(row.name) + R"(","verbs":["list","watch"]}]})"};
  }

  std::map<std::string, std::pair<int, std::string>> says;
  std::set<std::string> absent;
  std::vector<Ended> ends;
  std::vector<std::string> asked, watched;
};

class Discovery : public ::testing::Test {
 protected:
  void turn(std::int64_t later = 0) {
    now += later;
    watches.turn();
    for (Reflector* const reflector : watches.all()) reflector->turn();
    for (const auto& ended : std::exchange(api.ends, {}))
      ended({Outcome::kNotFound, "", "no such kind", 0});
  }
  std::vector<std::string> watched() { return std::exchange(api.watched, {}); }

  std::int64_t now = 1'000'000;
  Discovered api;
  ClusterCache cache{"east", {}, default_other_schedulers()};
  RequestPace pages{limits::kMaxPageRequests};
  std::map<std::string, RequestPace> begins;
  std::function<void()> on_change = [] {};
  std::function<std::int64_t()> clock = [this] { return now; };
  OwnerWatches watches{
      api, cache, clock, on_change, [this](const std::string& path, ReflectorSink sink) {
        RequestPace& pace = begins.try_emplace(path, limits::kMaxFollowRequests).first->second;
        auto made = std::make_unique<Reflector>(api, path, std::move(sink),
                                                Reflector::Paces{pace, pages}, clock);
        made->start();
        return made;
      }};
};

TEST_F(Discovery, OnlyWhatIsServedIsWatched) {
  api.serve(OwnerKind::kMpiJob);
  turn();
  EXPECT_THAT(watched(), IsEmpty()) << "no session yet";
  watches.begin();
  turn();
  EXPECT_THAT(watched(), ElementsAre("/apis/batch/v1/jobs", "/apis/kubeflow.org/v2beta1/mpijobs"));
  const std::size_t asked = api.asked.size();
  turn(limits::kDiscoveryMs - 1);
  EXPECT_EQ(api.asked.size(), asked) << "not before its time";
  api.serve(OwnerKind::kRayCluster);
  turn(1);
  EXPECT_EQ(api.asked.size(), 2 * asked);
  EXPECT_THAT(watched(), ElementsAre("/apis/ray.io/v1/rayclusters")) << "installed meanwhile";
  EXPECT_LE(asked, limits::kMaxDiscoveryRequests);
}

TEST_F(Discovery, AGroupThatFailsHarmsNoOther) {
  api.serve(OwnerKind::kMpiJob);
  api.says["/apis/ray.io/v1"] = {503, "away"};
  api.says["/apis/jobset.x-k8s.io/v1alpha2"] = {403, "no"};
  api.says["/apis/scheduling.run.ai/v2alpha2"] = {200, "<html>"};
  watches.begin();
  turn();
  EXPECT_THAT(watched(),
              ElementsAre("/apis/batch/v1/jobs", "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
                          "/apis/kubeflow.org/v2beta1/mpijobs"))
      << "whether there are JobSets nobody says: they are tried";
  const std::size_t before = api.asked.size();
  api.serve(OwnerKind::kRayCluster);
  turn(limits::kRequestWindowMs);
  EXPECT_EQ(api.asked.size(), before + 3) << "only those that failed";
  EXPECT_THAT(watched(), ElementsAre("/apis/ray.io/v1/rayclusters"));
  api.says["/apis/kubeflow.org/v2beta1"] = {503, "away"};
  turn(limits::kDiscoveryMs);
  EXPECT_EQ(watches.all().size(), 4u) << "what was found stays";
}

TEST_F(Discovery, AKindThatIsGoneIsForgotten) {
  api.serve(OwnerKind::kPyTorchJob);
  watches.begin();
  turn();
  simdjson::dom::parser parser;
  WatchEvent event;
  event.kind = WatchKind::kAdded;
  event.object = parser.parse(
      std::string_view(R"({"metadata":{"uid":"T","namespace":"a","name":"j"},"spec":{}})"));
  cache.see_owner(event, collection_of_kind(OwnerKind::kPyTorchJob));
  EXPECT_NE(cache.owners().find("T"), nullptr);
  api.says.clear();
  turn(limits::kDiscoveryMs);
  EXPECT_NE(cache.owners().find("T"), nullptr) << "its watch goes on";
  watches.end();
  watches.begin();
  api.serve(OwnerKind::kPyTorchJob);
  api.absent.insert(collection_of_kind(OwnerKind::kPyTorchJob));
  turn(limits::kDiscoveryMs);
  api.says.clear();
  turn(limits::kDiscoveryMs);
  EXPECT_EQ(cache.owners().find("T"), nullptr);
  EXPECT_EQ(watches.all().size(), 1u) << "Jobs";
}

TEST_F(Discovery, TheFirstVersionThatIsReadAndServedCounts) {
  api.says["/apis/kubeflow.org/v1"] = {
      200, R"({"resources":[{"name":"mpijobs","kind":"MPIJob","verbs":["list","watch"]}]})"};
  watches.begin();
  turn();
  EXPECT_THAT(watched(), ElementsAre("/apis/batch/v1/jobs", "/apis/kubeflow.org/v1/mpijobs"));
  api.serve(OwnerKind::kMpiJob);
  turn(limits::kDiscoveryMs);
  EXPECT_THAT(watched(), ElementsAre("/apis/kubeflow.org/v2beta1/mpijobs"));
  EXPECT_EQ(watches.all().size(), 2u);
}

}  // namespace
}  // namespace subak
