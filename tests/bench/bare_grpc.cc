// The least that a gRPC server can do with submissions: read them, answer in our form. Baseline of
// submissions: API, threads and options are those of server/api; no rights, no engine, no store.
// Prints its port and runs until it is killed.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>

#include "core/limits.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak {
namespace {

constexpr char kJob[] = "1-1000000";  // as long as ours

class BareJobs final : public v1::JobService::CallbackService {
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
  static Reactor* finished(Context* context) {
    Reactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int run() {
  BareJobs jobs;
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

int main() { return subak::run(); }
