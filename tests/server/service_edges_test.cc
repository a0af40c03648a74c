// Which clusters the service follows by itself, and what `status` says of it.
#include <gmock/gmock.h>

#include <fstream>

#include "core/names.h"
#include "server/runtime/clock/clock.h"
#include "server/service/edges.h"
#include "temp_folder.h"

namespace subak {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ServiceEdges : public ::testing::Test {
 protected:
  ServiceEdges() {
    config_.kubeconfig = folder_.file("kubeconfig");
    std::ofstream(config_.kubeconfig)
        << "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
           "contexts: [{name: x, context: {cluster: c}}]\n"
           "current-context: x\n";
  }
  // Their clusters, or the refusal.
  std::vector<std::string> followed(const std::vector<std::string>& known) {
    std::vector<ClusterView> clusters;
    for (const std::string& name : known) {
      clusters.emplace_back().name = name;
      clusters.back().id = ClusterId(static_cast<std::uint16_t>(clusters.size()));
    }
    View view;
    view.clusters = std::make_shared<const std::vector<ClusterView>>(std::move(clusters));
    EdgePorts ports;
    ports.now_ms = [] { return 0; };
    ports.monotonic_ms = [] { return 0; };
    const auto edges = make_edges(config_, view, ports, clock_);
    if (!edges) return {edges.error().message()};
    std::vector<std::string> names;
    for (const NamedEdge& edge : *edges) names.push_back(edge.cluster);
    return names;
  }

  const TempFolder folder_;
  const SystemClock clock_;
  Config config_;
};

TEST_F(ServiceEdges, AFlagReachesTheOnlyCluster) {
  EXPECT_THAT(followed({"main"}), ElementsAre("main"));
}

TEST_F(ServiceEdges, AFlagReachesTheClusterThatIsToBeMade) {
  EXPECT_THAT(followed({}), ElementsAre(std::string(names::kFirstCluster)));
}

TEST_F(ServiceEdges, AFlagAmongSeveralClustersIsRefusedWithTheirNames) {
  EXPECT_THAT(followed({"main", "imported"}),
              ElementsAre(AllOf(HasSubstr("kubeconfig: "), HasSubstr("there are 2: main, imported"),
                                HasSubstr("--cluster NAME"), HasSubstr("cluster delete"))));
  config_.in_cluster = true;
  config_.kubeconfig.clear();
  EXPECT_THAT(
      followed({"main", "imported", "third"}),
      ElementsAre(AllOf(HasSubstr("inCluster: "), HasSubstr("together with --in-cluster"))));
}

TEST_F(ServiceEdges, AFlagReachesTheClusterThatIsNamed) {
  config_.clusters = {{"imported", std::nullopt, {}}};
  EXPECT_THAT(followed({"main", "imported"}), ElementsAre("imported"));
  EXPECT_THAT(own_edges(config_), ElementsAre("imported"));
}

TEST_F(ServiceEdges, EachOfTheListIsFollowed) {
  ClusterConfig east{"east", std::nullopt, {}}, west{"west", std::nullopt, {}};
  east.kubeconfig = west.kubeconfig = std::exchange(config_.kubeconfig, "");
  config_.clusters = {east, {"north", std::nullopt, {}}, west};
  EXPECT_THAT(followed({"main", "east", "north", "west"}), ElementsAre("east", "west"));
}

TEST(EdgeWarning, SaysWhatIsWrongAndNothingElse) {
  EdgeStats stats;
  EXPECT_THAT(edge_warning("main", stats), HasSubstr("cluster main is being listed"));
  stats.error = "no connection";
  EXPECT_EQ(edge_warning("main", stats), "cluster main is not followed: no connection");
  stats.listed = true;
  EXPECT_EQ(edge_warning("main", stats), "cluster main is followed with gaps: no connection");
  stats.error.clear();
  EXPECT_THAT(edge_warning("main", stats), HasSubstr("is not watched at this moment"));
  stats.synced = true;
  EXPECT_EQ(edge_warning("main", stats), "");
}

}  // namespace
}  // namespace subak
