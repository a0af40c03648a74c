// ClusterService and AdminService: clusters, nodes, drains, static copies, status, audit.
#include <algorithm>

#include "api_fixture.h"

namespace subak {
namespace {

class ApiClusterTest : public ApiTest {
 protected:
  explicit ApiClusterTest(bool names_clusters = false) {
    options_.names_clusters = names_clusters;
    start();
  }
  grpc::Status update(const v1::UpdateClusterRequest& in) {
    return run([&](auto* c) { return clusters_->UpdateCluster(c, in, &updated_); });
  }
  std::vector<v1::Cluster> list() {
    v1::ListClustersResponse out;
    EXPECT_TRUE(run([&](auto* c) { return clusters_->ListClusters(c, {}, &out); }).ok());
    return {out.clusters().begin(), out.clusters().end()};
  }
  grpc::Status make(const std::string& name, v1::Mode mode) {
    v1::UpdateClusterRequest in;
    in.set_name(name);
    in.set_mode(mode);
    in.set_reason("test");
    in.set_allow_missing(true);
    updated_.Clear();
    return update(in);
  }
  grpc::Status remove(const std::string& name, bool validate_only = false) {
    v1::DeleteClusterRequest in;
    in.set_name(name);
    in.set_reason("moved");
    in.set_validate_only(validate_only);
    v1::DeleteClusterResponse out;
    return run([&](auto* c) { return clusters_->DeleteCluster(c, in, &out); });
  }
  // Clusters are removed by stores of the newest version only.
  void finalize() {
    v1::FinalizeRequest in;
    in.set_reason("test");
    v1::FinalizeResponse out;
    ASSERT_TRUE(run([&](auto* c) { return admin_->Finalize(c, in, &out); }).ok());
  }
  // An edge that has said which cluster it reports.
  std::unique_ptr<grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>> follow(
      const std::string& cluster, grpc::ClientContext* context) {
    auto stream = clusters_->Observe(context);
    v1::ObserveRequest event;
    event.set_sequence(1);
    event.set_cluster(cluster);
    event.mutable_node_gone()->set_node("none");
    EXPECT_TRUE(stream->Write(event));
    v1::ObserveResponse ack;
    EXPECT_TRUE(stream->Read(&ack));
    return stream;
  }
  v1::UpdateClusterResponse updated_;
};

class ApiNamedClusterTest : public ApiClusterTest {
 protected:
  ApiNamedClusterTest() : ApiClusterTest(true) {}
};

TEST_F(ApiClusterTest, ModesAreSetOneByOne) {
  v1::UpdateClusterRequest in;
  in.set_name("east");
  in.set_reason("new");
  EXPECT_EQ(update(in).error_code(), grpc::NOT_FOUND) << "a typing error is no new cluster";
  EXPECT_TRUE(list().empty());
  in.set_allow_missing(true);
  ASSERT_TRUE(update(in).ok());
  in.clear_allow_missing();
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

TEST_F(ApiClusterTest, AnEditChangesOnlyWhatItNames) {
  ASSERT_TRUE(make("east", v1::MODE_WARN).ok());
  v1::UpdateClusterRequest in;
  in.set_name("east");
  in.set_reason("rollout");
  for (const char* ns : {"b", "a"}) {
    in.mutable_namespaces()->Clear();
    in.add_namespaces()->set_namespace_(ns);
    in.mutable_namespaces(0)->set_mode(v1::MODE_OBSERVE);
    ASSERT_TRUE(update(in).ok());
  }
  ASSERT_EQ(updated_.cluster().namespaces_size(), 2) << "the answer has what was there before";
  EXPECT_EQ(updated_.cluster().namespaces(0).namespace_(), "a");
  EXPECT_EQ(updated_.cluster().mode(), v1::MODE_WARN);
  in.mutable_namespaces(0)->set_mode(v1::MODE_UNSPECIFIED);
  in.set_validate_only(true);
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(updated_.cluster().namespaces_size(), 1);
  ASSERT_EQ(list()[0].namespaces_size(), 2) << "a check changes nothing";
}

TEST_F(ApiClusterTest, AnUnusedDefaultGivesWay) {
  finalize();
  ASSERT_TRUE(make("default", v1::MODE_OBSERVE).ok());
  ASSERT_TRUE(import_nodes(2, "main").ok());
  ASSERT_EQ(list().size(), 1u);
  EXPECT_EQ(list()[0].name(), "main");
  EXPECT_EQ(list()[0].id(), 2) << "a number is given once";
  ASSERT_TRUE(make("default", v1::MODE_OBSERVE).ok());
  EXPECT_EQ(list().size(), 2u);
}

TEST_F(ApiClusterTest, ADefaultThatSomebodyChangedStays) {
  finalize();
  ASSERT_TRUE(make("default", v1::MODE_WARN).ok());
  ASSERT_TRUE(make("main", v1::MODE_ENFORCE).ok());
  EXPECT_EQ(list().size(), 2u);
}

TEST_F(ApiNamedClusterTest, ADefaultOfTheConfigurationStays) {
  finalize();
  ASSERT_TRUE(make("default", v1::MODE_OBSERVE).ok());
  ASSERT_TRUE(make("main", v1::MODE_OBSERVE).ok());
  EXPECT_EQ(list().size(), 2u);
}

TEST_F(ApiClusterTest, EnforceWithoutAnEdgeWarns) {
  ASSERT_TRUE(make("east", v1::MODE_OBSERVE).ok());
  EXPECT_EQ(updated_.warnings_size(), 0);
  ASSERT_TRUE(make("east", v1::MODE_ENFORCE).ok());
  ASSERT_EQ(updated_.warnings_size(), 1);
  EXPECT_NE(updated_.warnings(0).find("no edge"), std::string::npos) << updated_.warnings(0);
  grpc::ClientContext context;
  prepare(context);
  const auto edge = follow("east", &context);
  ASSERT_TRUE(make("east", v1::MODE_ENFORCE).ok());
  EXPECT_EQ(updated_.warnings_size(), 0);
  edge->WritesDone();
  EXPECT_TRUE(edge->Finish().ok());
}

TEST_F(ApiClusterTest, DeleteTakesAnEmptyClusterOnly) {
  finalize();
  ASSERT_TRUE(import_nodes(1, "east").ok());
  ASSERT_TRUE(create_account("ml").ok());
  EXPECT_EQ(remove("west").error_code(), grpc::NOT_FOUND);
  const std::string id = submit(job_request("ml", 1, 8));
  EXPECT_EQ(remove("east").error_code(), grpc::FAILED_PRECONDITION) << "a job";
  v1::CancelJobRequest cancel;
  cancel.set_job_id(id);
  cancel.set_reason("r");
  v1::EditJobResponse cancelled;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &cancelled); }).ok());
  grpc::ClientContext context;
  prepare(context);
  const auto edge = follow("east", &context);
  v1::ObserveRequest event;
  event.set_sequence(2);
  event.mutable_pod_gone()->mutable_pod()->set_job_id(id);
  event.mutable_pod_gone()->set_cause(v1::CAUSE_REJECTED);
  event.mutable_pod_gone()->mutable_rejection()->set_error("OutOfcpu");
  ASSERT_TRUE(edge->Write(event));
  v1::ObserveResponse ack;
  ASSERT_TRUE(edge->Read(&ack));
  EXPECT_EQ(remove("east").error_code(), grpc::FAILED_PRECONDITION) << "an edge";
  edge->WritesDone();
  EXPECT_TRUE(edge->Finish().ok());
  grpc::Status checked;  // the service hears of the end of a stream a little later
  for (int i = 0; i < 10'000 && !(checked = remove("east", true)).ok(); ++i) {
  }
  ASSERT_TRUE(checked.ok()) << checked.error_message();
  EXPECT_EQ(list().size(), 1u) << "only checked";
  ASSERT_TRUE(remove("east").ok());
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(get_job(id).spec().cluster(), "east") << "its jobs are still known";
  const v1::JobRejection rejection = get_job(id).rejection();
  EXPECT_EQ(rejection.error(), "OutOfcpu");
  EXPECT_FALSE(rejection.node().empty());
  EXPECT_EQ(rejection.explanation().find("OutOfcpu: its kubelet has less room"), 0u);
  v1::ListAuditRequest in;
  in.set_page_size(1);
  v1::ListAuditResponse out;
  ASSERT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, in, &out); }).ok());
  ASSERT_EQ(out.entries_size(), 1);
  EXPECT_EQ(out.entries(0).what(), "cluster_removed");
  EXPECT_EQ(out.entries(0).subject(), "east");
  EXPECT_EQ(out.entries(0).reason(), "moved");
  EXPECT_EQ(remove("east").error_code(), grpc::NOT_FOUND);
}

TEST_F(ApiClusterTest, AJobThatNothingWouldStartIsWarnedOf) {
  ASSERT_TRUE(import_nodes(1).ok());
  ASSERT_TRUE(create_account("ml").ok());
  v1::CreateJobResponse out;
  const auto queue = [&] {
    out.Clear();
    return run([&](auto* c) { return jobs_->CreateJob(c, job_request("ml", 1, 8), &out); });
  };
  ASSERT_TRUE(queue().ok());
  ASSERT_EQ(out.warnings_size(), 1);
  EXPECT_NE(out.warnings(0).find("no launcher serves cluster \"default\""), std::string::npos);
  grpc::ClientContext context;
  prepare(context);
  auto effects = clusters_->Effects(&context, {});
  v1::EffectsResponse effect;
  ASSERT_TRUE(effects->Read(&effect));
  ASSERT_TRUE(queue().ok());
  EXPECT_EQ(out.warnings_size(), 0);
  v1::BatchCreateJobsRequest batch;
  *batch.add_requests() = job_request("ml", 1, 8);
  v1::BatchCreateJobsResponse results;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->BatchCreateJobs(c, batch, &results); }).ok());
  EXPECT_EQ(results.results(0).job().warnings_size(), 0);
  context.TryCancel();
  effects->Finish();
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
  v1::FleetMap map;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->GetFleetMap(c, {}, &map); }).ok());
  EXPECT_EQ(map.cluster(), "default");
  EXPECT_EQ(map.name_rests_size(), 3);
  ASSERT_EQ(map.runs_size(), 1);
  EXPECT_EQ(map.runs(0), 24 * 16 + v1::GPU_STATE_FREE);
  v1::GetFleetMapRequest other;
  other.set_cluster("west");
  EXPECT_EQ(run([&](auto* c) { return clusters_->GetFleetMap(c, other, &map); }).error_code(),
            grpc::StatusCode::NOT_FOUND);
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
  EXPECT_EQ(out.rows(0).free(), 7);
  ASSERT_EQ(out.profiles_size(), 1);
  EXPECT_EQ(out.profiles(0).configured(), 7);
  EXPECT_EQ(out.profiles(0).free(), 7);
  EXPECT_EQ(out.profiles(0).possible(), 56);
  EXPECT_FALSE(out.has_advice()) << "nothing waits";
}

TEST_F(ApiClusterTest, AConfigurationForWhatWaitsIsAdvised) {
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(import_nodes(1).ok());
  v1::CreateJobRequest slices = job_request("ml", 3, 2);
  auto* shape = slices.mutable_job()->mutable_request()->mutable_groups(0)->mutable_shape();
  shape->set_kind(v1::GPU_KIND_MIG);
  shape->set_mig_profile("3g.40gb");
  submit(slices);
  v1::ListMigSlicesResponse out;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListMigSlices(c, {}, &out); }).ok());
  EXPECT_EQ(out.rows_size(), 0);
  ASSERT_EQ(out.profiles_size(), 1);
  EXPECT_EQ(out.profiles(0).profile(), "3g.40gb");
  EXPECT_EQ(out.profiles(0).waiting(), 6);
  EXPECT_EQ(out.profiles(0).possible(), 16);
  EXPECT_EQ(out.advice().config(), "all-3g.40gb");
  ASSERT_EQ(out.advice().nodes_size(), 1);
  EXPECT_EQ(out.advice().nodes(0), "n0");
  ASSERT_EQ(out.advice().slices_size(), 1);
  EXPECT_EQ(out.advice().slices(0).count(), 6);
  EXPECT_EQ(out.advice().gpus(), 0);
  EXPECT_EQ(out.advice().gain_milligpu(), 3000);
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
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_STARTING);
  in.set_node("n9");
  EXPECT_EQ(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
  in.clear_reason();
  EXPECT_EQ(bad_field(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); })), "reason");
}

TEST_F(ApiClusterTest, ADrainMayBeginLaterAndEndByItself) {
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(import_nodes(1).ok());
  v1::DrainNodeRequest in;
  in.set_node("n0");
  in.set_reason("firmware");
  v1::DrainNodeResponse out;
  const std::int64_t now_s = clock_.wall_ms() / 1000;
  in.mutable_from()->set_seconds(now_s + 7200);
  in.mutable_until()->set_seconds(now_s + 7200);
  EXPECT_EQ(bad_field(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); })), "until");
  in.mutable_until()->set_seconds(now_s + 10'800);
  ASSERT_TRUE(run([&](auto* c) { return clusters_->DrainNode(c, in, &out); }).ok());
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListNodes(c, {}, &nodes); }).ok());
  EXPECT_FALSE(nodes.nodes(0).drained());
  EXPECT_EQ(nodes.nodes(0).drain_from().seconds(), now_s + 7200);
  EXPECT_EQ(nodes.nodes(0).drain_until().seconds(), now_s + 10'800);

  const std::string open = submit(job_request("ml", 1, 4));
  EXPECT_EQ(get_job(open).state(), v1::JOB_STATE_QUEUED) << "it has no time limit";
  v1::CreateJobRequest brief = job_request("ml", 1, 4);
  brief.mutable_job()->mutable_time_limit()->set_seconds(3600);
  EXPECT_EQ(get_job(submit(brief)).state(), v1::JOB_STATE_STARTING);

  v1::UndrainNodeRequest undo;
  undo.set_node("n0");
  undo.set_reason("not needed");
  ASSERT_TRUE(run([&](auto* c) { return clusters_->UndrainNode(c, undo, &out); }).ok());
  EXPECT_EQ(get_job(open).state(), v1::JOB_STATE_STARTING);
}

// Reads parts until one completes a copy: its accounts, then its clusters.
std::vector<std::string> read_copy(grpc::ClientReader<v1::StaticResponse>& stream) {
  std::vector<std::string> names;
  v1::StaticResponse part;
  do {
    if (!stream.Read(&part)) return {"ended"};
    for (const auto& account : part.accounts()) names.push_back(account.path());
    for (const auto& cluster : part.clusters()) names.push_back("cluster " + cluster.name());
  } while (!part.complete());
  return names;
}

TEST_F(ApiClusterTest, StaticSendsACopyAndThenEachChange) {
  ASSERT_TRUE(create_account("ml").ok());
  grpc::ClientContext context;
  prepare(context);
  auto stream = clusters_->Static(&context, {});
  EXPECT_EQ(read_copy(*stream), (std::vector<std::string>{"", "ml"}));
  ASSERT_TRUE(create_account("bio").ok());
  EXPECT_EQ(read_copy(*stream), (std::vector<std::string>{"", "bio", "ml"}));
  finalize();
  ASSERT_TRUE(make("east", v1::MODE_OBSERVE).ok());
  EXPECT_EQ(read_copy(*stream), (std::vector<std::string>{"", "bio", "ml", "cluster east"}));
  ASSERT_TRUE(remove("east").ok());
  EXPECT_EQ(read_copy(*stream), (std::vector<std::string>{"", "bio", "ml"}));
  ASSERT_TRUE(import_nodes(1).ok());
  v1::StaticResponse part;
  ASSERT_TRUE(stream->Read(&part));
  ASSERT_EQ(part.clusters(0).products_size(), 1);
  EXPECT_EQ(part.clusters(0).products(0).unusable_milligpu(), 0);
  v1::DrainNodeRequest drain;
  drain.set_node("n0");
  drain.set_reason("a fan");
  v1::DrainNodeResponse drained;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->DrainNode(c, drain, &drained); }).ok());
  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.clusters(0).products(0).unusable_milligpu(), 8000) << "the fleet's totals too";
  in::ListBegin begun;
  begun.cluster = part.clusters(0).name();
  begun.known_as = "system:serviceaccount:subak-system:subak";
  ASSERT_TRUE(runtime_->post({0, "", "edge", begun}, [](const Reply&) {}));
  do {
    ASSERT_TRUE(stream->Read(&part));
  } while (part.clusters(0).known_as().empty());
  EXPECT_EQ(part.clusters(0).known_as(), begun.known_as) << "which is no fact";
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
  EXPECT_EQ(out.jobs_starting(), 1);
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

}  // namespace
}  // namespace subak
