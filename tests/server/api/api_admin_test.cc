// Backup and Finalize over the API.
#include <chrono>
#include <fstream>
#include <thread>

#include "api_fixture.h"
#include "core/names.h"
#include "server/store/proof/verify.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// A store of several parts, more than a connection holds for a reader that does not read.
constexpr int kManyNodes = 20'000;

class ApiAdminTest : public ApiTest {
 protected:
  struct Backup {
    grpc::Status status;
    v1::BackupHeader header;
    std::string bytes;
  };
  Backup backup() {
    grpc::ClientContext context;
    prepare(context);
    auto stream = admin_->Backup(&context, {});
    Backup out;
    v1::BackupResponse part;
    while (stream->Read(&part)) {
      if (part.has_header()) out.header = part.header();
      out.bytes += part.data();
    }
    out.status = stream->Finish();
    return out;
  }
  // A connection that takes no more of a stream than its reader asks for.
  void connect_narrow() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'535);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    connect(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(api_->port()),
                                      grpc::InsecureChannelCredentials(), arguments));
  }
  bool copy_is_there() const { return fs::exists(dir_ / "subak.db.copy"); }
  grpc::Status finalize(const v1::FinalizeRequest& in) {
    done_.Clear();
    return run([&](auto* c) { return admin_->Finalize(c, in, &done_); });
  }
  v1::Status status() {
    v1::Status out;
    EXPECT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &out); }).ok());
    return out;
  }

  v1::FinalizeResponse done_;
};

TEST_F(ApiAdminTest, BackupIsTheStoreWithTheLiveDigest) {
  start();
  ASSERT_TRUE(import_nodes(kManyNodes).ok());
  ASSERT_TRUE(create_account("ml").ok());
  const Backup got = backup();
  ASSERT_TRUE(got.status.ok()) << got.status.error_message();
  EXPECT_EQ(got.header.bytes(), static_cast<std::int64_t>(got.bytes.size()));
  EXPECT_EQ(got.header.sequence(), status().durable_sequence());
  ASSERT_EQ(got.header.digest_size(), 2);
  const std::string file = (dir_ / "got.db").string();
  std::ofstream(file, std::ios::binary) << got.bytes;
  const StateMark live{got.header.sequence(), {got.header.digest(0), got.header.digest(1)}};
  const auto report = verify_store(file, live);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->state.seq, live.seq);
  EXPECT_FALSE(copy_is_there());
  EXPECT_TRUE(backup().status.ok());  // the desk is free again
}

TEST_F(ApiAdminTest, OneBackupAtATimeAndALeaverFreesIt) {
  start();
  connect_narrow();
  ASSERT_TRUE(import_nodes(kManyNodes).ok());
  grpc::ClientContext context;
  prepare(context);
  {
    auto first = admin_->Backup(&context, {});
    v1::BackupResponse part;
    ASSERT_TRUE(first->Read(&part));  // the rest waits for its reader
    EXPECT_EQ(backup().status.error_code(), grpc::RESOURCE_EXHAUSTED);
    context.TryCancel();
    first->Finish();
  }
  Backup next = backup();
  while (next.status.error_code() == grpc::RESOURCE_EXHAUSTED) next = backup();
  EXPECT_TRUE(next.status.ok()) << next.status.error_message();
  EXPECT_FALSE(copy_is_there());
}

TEST_F(ApiAdminTest, StopEndsABackupThatNobodyReads) {
  start();
  connect_narrow();
  ASSERT_TRUE(import_nodes(kManyNodes).ok());
  grpc::ClientContext context;
  prepare(context);
  auto stream = admin_->Backup(&context, {});
  v1::BackupResponse part;
  ASSERT_TRUE(stream->Read(&part));
  stop();
  while (stream->Read(&part)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAVAILABLE);
}

TEST_F(ApiAdminTest, BackupFinalizeAndAcceptClockNeedAnAdmin) {
  options_.token_file = (dir_ / "tokens").string();
  std::ofstream(options_.token_file) << "team-token-012345 team-admin ml tim\n";
  start();
  token_ = "team-token-012345";
  EXPECT_EQ(backup().status.error_code(), grpc::PERMISSION_DENIED);
  v1::FinalizeRequest in;
  in.set_reason("step");
  EXPECT_EQ(finalize(in).error_code(), grpc::PERMISSION_DENIED);
  v1::AcceptClockRequest clock;
  clock.set_reason("step");
  v1::AcceptClockResponse accepted;
  EXPECT_EQ(run([&](auto* c) { return admin_->AcceptClock(c, clock, &accepted); }).error_code(),
            grpc::PERMISSION_DENIED);
}

TEST_F(ApiAdminTest, StatusWarnsOfGpusWhoseCpuPodsWithoutGpusTake) {
  start();
  v1::ImportNodesRequest fleet;
  fleet.set_reason("test");
  for (const char* name : {"n0", "n1"}) {
    auto* node = fleet.add_nodes();
    node->set_name(name);
    node->set_product(kH100);
    node->set_gpus(8);
    node->set_cpu_milli(64'000);
  }
  v1::ImportNodesResponse imported;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ImportNodes(c, fleet, &imported); }).ok());
  const auto light = [&](const std::string& name, const std::string& node, std::int64_t cpus) {
    in::PodSeen seen;
    seen.cluster = std::string(names::kFirstCluster);
    seen.pod.uid = seen.pod.name = name;
    seen.pod.ns = "shop";
    seen.pod.node = node;
    seen.pod.running = true;
    seen.pod.shape.cpu_milli = cpus * 1000;
    EXPECT_TRUE(runtime_->post({0, "", "edge", seen}, [](const Reply&) {}));
  };
  const auto warned = [&](const std::string& wanted) {
    v1::Status now = status();
    for (int looks = 0; looks < 4000; ++looks, now = status()) {
      if (now.warnings_size() > 0 && now.warnings(0) == wanted) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return now.warnings_size() == 1 ? now.warnings(0) : now.DebugString();
  };
  light("web", "n0", 60);
  const std::string one =
      "cluster default: 7 free GPUs lack CPU that 1 pod without GPUs takes, in 1 NVLink domain: n0";
  EXPECT_EQ(warned(one), one);
  light("db", "n1", 40);
  const std::string two =
      "cluster default: 9 free GPUs lack CPU that 2 pods without GPUs take, in 2 NVLink domains; "
      "most, 7, "
      "in n0";
  EXPECT_EQ(warned(two), two);
}

// There is one version until a second is released: the step itself is store_version_test's.
TEST_F(ApiAdminTest, FinalizeIsHeldToTheVersionsThatThereAre) {
  start();
  EXPECT_EQ(status().fact_version(), static_cast<int>(kFactVersion));
  EXPECT_EQ(status().newest_fact_version(), static_cast<int>(kFactVersion));
  v1::FinalizeRequest in;
  EXPECT_EQ(bad_field(finalize(in)), "reason");
  in.set_reason("the old program is gone");
  in.set_fact_version(kFactVersion + 1);
  EXPECT_EQ(bad_field(finalize(in)), "fact_version");
  const std::uint64_t seq = status().durable_sequence();
  for (const std::uint32_t version : {0u, kFactVersion}) {  // the newest, and by its number
    in.set_fact_version(static_cast<int>(version));
    ASSERT_TRUE(finalize(in).ok());
    EXPECT_EQ(done_.previous_fact_version(), static_cast<int>(kFactVersion));
    EXPECT_EQ(done_.fact_version(), static_cast<int>(kFactVersion));
  }
  EXPECT_EQ(status().durable_sequence(), seq);
}

}  // namespace
}  // namespace subak
