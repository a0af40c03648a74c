// How long reads wait beside what a service does anyway. For SECONDS a waiting job is read again and again,
// with 5 ms between an answer and the next call; beside that the status ten times a second, a page of the
// queue every ten seconds, and each second a job is submitted and cancelled. Prints one JSON object: by kind
// the count of calls, the wait that one in a hundred exceeds, and the longest, in milliseconds.
//   read_stall ADDRESS SECONDS
// Exit 1 where a call is refused, or has no answer within a minute.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "subak/v1/admin_service.grpc.pb.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

class Watch {
 public:
  Watch(std::string address, Steady::time_point end) : address_(std::move(address)), end_(end) {}

  std::shared_ptr<grpc::Channel> connect() const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), own);
  }
  // Until the end, or until one is refused: the call, and a pause.
  template <class F>
  void repeat(const std::string& kind, std::chrono::milliseconds pause, F call) {
    while (!failed_ && Steady::now() + pause < end_) {
      once(kind, call);
      std::this_thread::sleep_for(pause);
    }
  }
  template <class F>
  void once(const std::string& kind, F call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 60s);
    const auto begin = Steady::now();
    const grpc::Status status = call(&context);
    const std::chrono::duration<double, std::milli> took = Steady::now() - begin;
    const std::scoped_lock lock(mutex_);
    ms_[kind].push_back(took.count());
    if (status.ok()) return;
    failed_ = true;
    std::fprintf(stderr, "read_stall: %s: %s\n", kind.c_str(), status.error_message().c_str());
  }
  bool print() {
    std::string out;
    for (auto& [kind, ms] : ms_) {
      std::sort(ms.begin(), ms.end());
      char text[200];
      std::snprintf(text, sizeof text,
                    "\"%s\": {\"count\": %zu, \"p99_ms\": %.3f, \"longest_ms\": %.3f}",
                    kind.c_str(), ms.size(), ms[ms.size() * 99 / 100], ms.back());
      out += (out.empty() ? "" : ", ") + std::string(text);
    }
    std::printf("{%s}\n", out.c_str());
    return !failed_;
  }

 private:
  std::string address_;
  Steady::time_point end_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::map<std::string, std::vector<double>> ms_;
};

void read_job(Watch& watch) {
  const auto stub = v1::JobService::NewStub(watch.connect());
  v1::ListJobsResponse jobs;
  watch.once("first page", [&](grpc::ClientContext* c) {
    v1::ListJobsRequest in;
    in.set_page_size(1);
    in.set_state(v1::JOB_STATE_QUEUED);
    return stub->ListJobs(c, in, &jobs);
  });
  v1::GetJobRequest in;
  if (jobs.jobs_size() > 0) in.set_job_id(jobs.jobs(0).id());
  watch.repeat("job", 5ms, [&](grpc::ClientContext* c) {
    v1::Job out;
    return stub->GetJob(c, in, &out);
  });
}

void read_status(Watch& watch) {
  const auto stub = v1::AdminService::NewStub(watch.connect());
  watch.repeat("status", 100ms, [&](grpc::ClientContext* c) {
    v1::Status out;
    return stub->GetStatus(c, {}, &out);
  });
}

void read_queue(Watch& watch) {
  const auto stub = v1::JobService::NewStub(watch.connect());
  watch.repeat("page of the queue", 10s, [&](grpc::ClientContext* c) {
    v1::ListQueueRequest in;
    in.set_page_size(100);
    v1::ListQueueResponse out;
    return stub->ListQueue(c, in, &out);
  });
}

void submit_and_cancel(Watch& watch) {
  const auto stub = v1::JobService::NewStub(watch.connect());
  watch.repeat("submit, cancel", 1s, [&](grpc::ClientContext* c) {
    v1::CreateJobRequest in;
    in.mutable_job()->set_account("bench");
    v1::PodGroup* const group = in.mutable_job()->mutable_request()->add_groups();
    group->set_count(1);
    group->mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
    group->mutable_shape()->set_gpus(8);
    v1::CreateJobResponse made;
    const grpc::Status status = stub->CreateJob(c, in, &made);
    if (!status.ok()) return status;
    grpc::ClientContext context;
    v1::CancelJobRequest cancel;
    cancel.set_job_id(made.job_id());
    cancel.set_reason("bench");
    v1::EditJobResponse out;
    return stub->CancelJob(&context, cancel, &out);
  });
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: read_stall ADDRESS SECONDS\n");
    return 2;
  }
  subak::Watch watch(argv[1], subak::Steady::now() + std::chrono::seconds(std::atoi(argv[2])));
  std::vector<std::thread> threads;
  for (const auto part :
       {subak::read_job, subak::read_status, subak::read_queue, subak::submit_and_cancel}) {
    threads.emplace_back([&watch, part] { part(watch); });
  }
  for (std::thread& thread : threads) thread.join();
  return watch.print() ? 0 : 1;
}
