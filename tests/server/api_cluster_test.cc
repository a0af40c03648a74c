// ClusterService and AdminService: clusters, nodes, drains, static copies, status, audit.
#include <algorithm>

#include "api_fixture.h"

namespace subak {
namespace {

class ApiClusterTest : public ApiTest {
 protected:
  ApiClusterTest() { start(); }
  grpc::Status update(const v1::UpdateClusterRequest& in) {
    return run([&](auto* c) { return clusters_->UpdateCluster(c, in, &updated_); });
  }
  std::vector<v1::Cluster> list() {
    v1::ListClustersResponse out;
    EXPECT_TRUE(run([&](auto* c) { return clusters_->ListClusters(c, {}, &out); }).ok());
    return {out.clusters().begin(), out.clusters().end()};
  }
  v1::UpdateClusterResponse updated_;
};

TEST_F(ApiClusterTest, ModesAreSetOneByOne) {
  v1::UpdateClusterRequest in;
  in.set_name("east");
  in.set_reason("new");
  ASSERT_TRUE(update(in).ok());
  ASSERT_EQ(list().size(), 1u);
  EXPECT_EQ(list()[0].mode(), v1::MODE_OBSERVE);
  in.set_mode(v1::MODE_ENFORCE);
  auto* ns = in.add_namespaces();
  ns->set_namespace_("kube-system");
  ns->set_mode(v1::MODE_OBSERVE);
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(list()[0].mode(), v1::MODE_ENFORCE);
  ASSERT_EQ(list()[0].namespaces_size(), 1);
  in.clear_mode();
  in.mutable_namespaces(0)->set_mode(v1::MODE_UNSPECIFIED);
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(list()[0].mode(), v1::MODE_ENFORCE) << "an unspecified mode stays";
  EXPECT_EQ(list()[0].namespaces_size(), 0);
  in.set_mode(static_cast<v1::Mode>(44));
  EXPECT_EQ(bad_field(update(in)), "mode");
  in.clear_mode();
  in.set_name("Not A Name");
  EXPECT_EQ(bad_field(update(in)), "cluster");
  in.clear_name();
  EXPECT_EQ(bad_field(update(in)), "name");
}

TEST_F(ApiClusterTest, ImportMakesTheFirstClusterAndItsNodesAreListed) {
  ASSERT_TRUE(import_nodes(3).ok());
  ASSERT_EQ(list().size(), 1u);
  EXPECT_EQ(list()[0].name(), "default");
  EXPECT_TRUE(list()[0].synced());
  EXPECT_TRUE(list()[0].owned());
  EXPECT_EQ(list()[0].products(0).installed_milligpu(), 24'000);
  v1::ListNodesRequest in;
  in.set_page_size(2);
  v1::ListNodesResponse out;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListNodes(c, in, &out); }).ok());
  EXPECT_EQ(out.nodes_size(), 2);
  EXPECT_EQ(out.nodes(0).spec().product(), kH100);
  EXPECT_EQ(out.nodes(0).idle_milligpu(), 8000);
  in.set_page_token(out.next_page_token());
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListNodes(c, in, &out); }).ok());
  ASSERT_EQ(out.nodes_size(), 1);
  EXPECT_EQ(out.nodes(0).spec().name(), "n2");
  EXPECT_EQ(out.next_page_token(), "");
  v1::ListDomainsResponse domains;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListDomains(c, {}, &domains); }).ok());
  EXPECT_EQ(domains.domains_size(), 3);
  in.Clear();
  in.set_cluster("west");
  EXPECT_EQ(run([&](auto* c) { return clusters_->ListNodes(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
}

TEST_F(ApiClusterTest, ImportRefusesBadNodesAndValidates) {
  v1::ImportNodesRequest in;
  in.set_reason("r");
  in.add_nodes()->set_name("a");
  in.add_nodes()->set_gpus(65);
  v1::ImportNodesResponse out;
  const auto call = [&] {
    return run([&](auto* c) { return clusters_->ImportNodes(c, in, &out); });
  };
  EXPECT_EQ(bad_field(call()), "nodes[1].name");
  in.mutable_nodes(1)->set_name("b");
  EXPECT_EQ(bad_field(call()), "nodes[1].gpus");
  in.mutable_nodes(1)->set_gpus(8);
  EXPECT_EQ(bad_field(call()), "nodes[1].product");
  in.mutable_nodes(1)->set_product(kH100);
  in.set_validate_only(true);
  ASSERT_TRUE(call().ok());
  EXPECT_TRUE(list().empty());
}

TEST_F(ApiClusterTest, MigSlicesAreListed) {
  v1::ImportNodesRequest in;
  in.set_reason("r");
  auto* node = in.add_nodes();
  node->set_name("m");
  node->set_product(kH100);
  node->set_gpus(8);
  node->set_mig_gpus(1);
  node->add_mig()->set_profile("1g.10gb");
  node->mutable_mig(0)->set_count(7);
  v1::ImportNodesResponse imported;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ImportNodes(c, in, &imported); }).ok());
  v1::ListMigSlicesResponse out;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListMigSlices(c, {}, &out); }).ok());
  ASSERT_EQ(out.rows_size(), 1);
  EXPECT_EQ(out.rows(0).node(), "m");
  EXPECT_EQ(out.rows(0).configured(), 7);
  EXPECT_EQ(out.rows(0).used(), 0);
}

TEST_F(ApiClusterTest, DrainKeepsNewWorkAway) {
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(import_nodes(1).ok());
  v1::DrainNodeRequest in;
  in.set_node("n0");
  in.set_reason("fan");
  v1::DrainNodeResponse out;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); }).ok());
  const std::string id = submit(job_request("ml", 1, 8));
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_QUEUED);
  v1::UndrainNodeRequest undo;
  undo.set_node("n0");
  undo.set_reason("new fan");
  ASSERT_TRUE(run([&](auto* c) { return clusters_->UndrainNode(c, undo, &out); }).ok());
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_RESERVED);
  in.set_node("n9");
  EXPECT_EQ(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
  in.clear_reason();
  EXPECT_EQ(bad_field(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); })), "reason");
}

// Reads parts until one completes a copy.
std::vector<std::string> read_copy(grpc::ClientReader<v1::StaticResponse>& stream) {
  std::vector<std::string> paths;
  v1::StaticResponse part;
  do {
    if (!stream.Read(&part)) return {"ended"};
    for (const auto& account : part.accounts()) paths.push_back(account.path());
  } while (!part.complete());
  return paths;
}

TEST_F(ApiClusterTest, StaticSendsACopyAndThenEachChange) {
  ASSERT_TRUE(create_account("ml").ok());
  grpc::ClientContext context;
  prepare(context);
  auto stream = clusters_->Static(&context, {});
  EXPECT_EQ(read_copy(*stream), (std::vector<std::string>{"", "ml"}));
  ASSERT_TRUE(create_account("bio").ok());
  EXPECT_EQ(read_copy(*stream), (std::vector<std::string>{"", "ml", "bio"}));
  context.TryCancel();
  stream->Finish();
}

TEST_F(ApiClusterTest, StatusSaysHowItIs) {
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(import_nodes(1).ok());
  submit(job_request("ml", 1, 8));
  submit(job_request("ml", 1, 8));
  v1::Status out;
  ASSERT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &out); }).ok());
  EXPECT_EQ(out.version(), "9.9.9");
  EXPECT_TRUE(out.leader());
  EXPECT_EQ(out.state(), "serving");
  EXPECT_EQ(out.jobs_queued(), 1);
  EXPECT_EQ(out.jobs_reserved(), 1);
  EXPECT_EQ(out.clusters_size(), 1);
  EXPECT_EQ(out.order(), "target-share");
  EXPECT_EQ(out.half_life().seconds(), 7 * 24 * 3600);
  EXPECT_EQ(out.bill_residual().gpu_seconds(), 0);
  EXPECT_EQ(out.bill_residual().rest_milligpu_ms(), 0);
  EXPECT_FALSE(out.has_ledger_drift());
  EXPECT_GE(out.durable_sequence(), out.follower_sequence());  // commits go on meanwhile
  EXPECT_GE(out.follower_sequence(), 5u) << "account, cluster, node and two jobs";
}

TEST_F(ApiClusterTest, AuditShowsEditsAndRefusals) {
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_FALSE(create_account("ml").ok());
  v1::ListAuditRequest in;
  in.set_page_size(1);
  v1::ListAuditResponse out;
  ASSERT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, in, &out); }).ok());
  ASSERT_EQ(out.entries_size(), 1);
  EXPECT_EQ(out.entries(0).what(), "set_account");
  EXPECT_NE(out.entries(0).refused(), "");
  in.set_page_token(out.next_page_token());
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, in, &out); }).ok());
  ASSERT_EQ(out.entries_size(), 1);
  EXPECT_EQ(out.entries(0).what(), "account_set");
  EXPECT_EQ(out.entries(0).subject(), "ml");
  EXPECT_EQ(out.entries(0).actor(), "loopback");
  EXPECT_EQ(out.entries(0).reason(), "test");
}

TEST_F(ApiClusterTest, LaterServicesSaySo) {
  const auto expect_later = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED);
    EXPECT_EQ(status.error_message(), "not in this version");
  };
  auto leases = v1::LeaseService::NewStub(channel_);
  auto policy = v1::PolicyService::NewStub(channel_);
  v1::QuoteResponse quote;
  v1::WhatIfResponse what_if;
  expect_later(run([&](auto* c) { return leases->Quote(c, {}, &quote); }));
  expect_later(run([&](auto* c) { return policy->WhatIf(c, {}, &what_if); }));
}

}  // namespace
}  // namespace subak
