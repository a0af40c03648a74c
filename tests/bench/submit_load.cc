// Submits jobs over gRPC as fast as the service takes them, each with a request id, and prints what
// was acknowledged as one JSON object.
//   submit_load ADDRESS CONNECTIONS IN_FLIGHT JOBS_PER_CALL JOBS FIRST_ID
// JOBS_PER_CALL 1: CreateJob; more: BatchCreateJobs. Jobs are gangs of 2 pods of 8 GPUs in the
// account "bench" of the cluster "bench", whose effects are followed meanwhile as a launcher does:
// else each answer would say that none serves it. Ends early, with what it has, when the service
// goes away.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "subak/v1/cluster_service.grpc.pb.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace {

namespace pb = subak::v1;

struct Plan {
  std::int64_t per_call = 1, jobs = 0, first_id = 0;
};

void fill(pb::CreateJobRequest& request, std::int64_t id) {
  request.set_request_id("00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + id));
  pb::JobSpec& job = *request.mutable_job();
  job.set_cluster("bench");
  job.set_account("bench");
  job.set_user("u" + std::to_string(id % 100));
  job.set_name("train");
  pb::PodGroup& group = *job.mutable_request()->add_groups();
  group.set_count(2);
  group.mutable_shape()->set_kind(pb::GPU_KIND_WHOLE);
  group.mutable_shape()->set_gpus(8);
  job.mutable_time_limit()->set_seconds(3600);
}

// One call under way at a time; the next begins in the callback of the last.
class Lane {
 public:
  Lane(pb::JobService::Stub& stub, const Plan& plan, std::atomic<std::int64_t>& next,
       std::atomic<std::int64_t>& acknowledged, std::atomic<int>& lanes)
      : stub_(stub), plan_(plan), next_(next), acknowledged_(acknowledged), lanes_(lanes) {}
  void go() {
    const std::int64_t first = next_.fetch_add(plan_.per_call);
    if (first >= plan_.jobs) return end();
    context_ = std::make_unique<grpc::ClientContext>();
    const auto done = [this](const grpc::Status& status) {
      if (!status.ok()) {
        if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
          std::fprintf(stderr, "submit_load: %s\n", status.error_message().c_str());
        }
        return end();
      }
      acknowledged_ += plan_.per_call;
      go();
    };
    if (plan_.per_call == 1) {
      one_.Clear();
      fill(one_, plan_.first_id + first);
      stub_.async()->CreateJob(context_.get(), &one_, &one_answer_, done);
      return;
    }
    many_.Clear();
    for (std::int64_t i = 0; i < plan_.per_call; ++i) {
      fill(*many_.add_requests(), plan_.first_id + first + i);
    }
    stub_.async()->BatchCreateJobs(context_.get(), &many_, &many_answer_, done);
  }

 private:
  void end() {
    --lanes_;
    lanes_.notify_one();
  }
  pb::JobService::Stub& stub_;
  const Plan& plan_;
  std::atomic<std::int64_t>& next_;
  std::atomic<std::int64_t>& acknowledged_;
  std::atomic<int>& lanes_;
  std::unique_ptr<grpc::ClientContext> context_;
  pb::CreateJobRequest one_;
  pb::CreateJobResponse one_answer_;
  pb::BatchCreateJobsRequest many_;
  pb::BatchCreateJobsResponse many_answer_;
};

// There are no nodes, so nothing ever comes.
class Launcher {
 public:
  explicit Launcher(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(pb::ClusterService::NewStub(channel)) {
    request_.set_cluster("bench");
    stream_ = stub_->Effects(&context_, request_);
  }
  ~Launcher() {
    context_.TryCancel();
    stream_->Finish();
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

 private:
  std::unique_ptr<pb::ClusterService::Stub> stub_;
  grpc::ClientContext context_;
  pb::EffectsRequest request_;
  std::unique_ptr<grpc::ClientReader<pb::EffectsResponse>> stream_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: submit_load ADDRESS CONNECTIONS IN_FLIGHT JOBS_PER_CALL JOBS FIRST_ID\n");
    return 2;
  }
  const int connections = std::atoi(argv[2]);
  const int in_flight = std::atoi(argv[3]);
  const Plan plan{std::atoll(argv[4]), std::atoll(argv[5]), std::atoll(argv[6])};
  const auto connect = [&] {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments);
  };
  const Launcher launcher(connect());
  std::vector<std::unique_ptr<pb::JobService::Stub>> stubs;
  for (int c = 0; c < connections; ++c) stubs.push_back(pb::JobService::NewStub(connect()));
  std::atomic<std::int64_t> next{0}, acknowledged{0};
  std::atomic<int> lanes{connections * in_flight};
  std::vector<std::unique_ptr<Lane>> all;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < connections * in_flight; ++i) {
    all.push_back(std::make_unique<Lane>(*stubs[static_cast<std::size_t>(i % connections)], plan,
                                         next, acknowledged, lanes));
    all.back()->go();
  }
  for (int left = lanes; left != 0; left = lanes) lanes.wait(left);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("{\"jobs\": %lld, \"seconds\": %.6f}\n", static_cast<long long>(acknowledged.load()),
              took.count());
}
