// The least that a gRPC server can do with submissions: read them, answer in our form. Baseline of
// submissions: API, threads and options are those of server/api; no rights, no engine, no store.
// Prints its port and runs until it is killed.
//   bare_grpc [later]
// later: answers come from another thread, as they do wherever one has to wait for a commit. All calls that have
// come by then are answered one after another. What that costs is gRPC's, and no service can do without it.
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak {
namespace {

constexpr char kJob[] = "1-1000000";  // as long as ours

// Finishes calls on a thread of its own, which runs as long as the process.
class Later {
 public:
  using Reactor = grpc::ServerUnaryReactor;
  Later() {
    std::thread([this] { run(); }).detach();
  }
  void finish(Reactor* reactor) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(reactor);
    }
    wake_.notify_one();
  }

 private:
  [[noreturn]] void run() {
    while (true) {
      std::vector<Reactor*> taken;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !waiting_.empty(); });
        taken.swap(waiting_);
      }
      for (Reactor* const reactor : taken) reactor->Finish(grpc::Status::OK);
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Reactor*> waiting_;
};

class BareJobs final : public v1::JobService::CallbackService {
 public:
  explicit BareJobs(Later* later) : later_(later) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* CreateJob(Context* context, const v1::CreateJobRequest*,
                     v1::CreateJobResponse* out) override {
    out->set_job_id(kJob);
    return finished(context);
  }
  Reactor* BatchCreateJobs(Context* context, const v1::BatchCreateJobsRequest* in,
                           v1::BatchCreateJobsResponse* out) override {
    for (int i = 0; i < in->requests_size(); ++i) {
      out->add_results()->mutable_job()->set_job_id(kJob);
    }
    return finished(context);
  }
  Reactor* finished(Context* context) const {
    Reactor* const reactor = context->DefaultReactor();
    if (later_ != nullptr) {
      later_->finish(reactor);
    } else {
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }
  Later* later_;  // nullptr: at once
};

int run(Later* later) {
  BareJobs jobs(later);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(limits::kMaxGrpcMessageBytes);
  builder.SetMaxSendMessageSize(limits::kMaxGrpcMessageBytes);
  builder.RegisterService(&jobs);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc < 2) return subak::run(nullptr);
  if (std::strcmp(argv[1], "later") != 0) return 2;
  auto* const later = new subak::Later;  // its thread outlives main()
  return subak::run(later);
}
