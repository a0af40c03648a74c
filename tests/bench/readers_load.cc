// Readers of a long queue beside people who only want a word: READERS threads read pages of the
// queue and explain jobs for SECONDS; meanwhile status, an edit of an account and a submission are
// asked in turn. Prints one line a kind: how often, and the median, the slowest but one in a
// hundred and the slowest in milliseconds.
//   readers_load ADDRESS READERS SECONDS ACCOUNT JOB...
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
#include <vector>

#include "subak/v1/account_service.grpc.pb.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak {
namespace {

class Load {
 public:
  explicit Load(const std::string& address) : address_(address) {}

  std::shared_ptr<grpc::Channel> connect() const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), own);
  }
  template <class F>
  void timed(const std::string& kind, F call) {
    grpc::ClientContext context;
    const auto begin = std::chrono::steady_clock::now();
    const grpc::Status status = call(&context);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    const std::scoped_lock lock(mutex_);
    ms_[status.ok() ? kind : kind + " (refused)"].push_back(took.count());
  }
  void print() {
    for (auto& [kind, ms] : ms_) {
      std::sort(ms.begin(), ms.end());
      std::printf("%-20s %7zu  p50 %8.1f  p99 %8.1f  max %8.1f ms\n", kind.c_str(), ms.size(),
                  ms[ms.size() / 2], ms[ms.size() * 99 / 100], ms.back());
    }
  }
  std::atomic<bool> over{false};

 private:
  std::string address_;
  std::mutex mutex_;
  std::map<std::string, std::vector<double>> ms_;
};

void read_on(Load& load, const std::vector<std::string>& jobs, std::size_t first) {
  const auto stub = v1::JobService::NewStub(load.connect());
  std::string token;
  for (std::size_t i = first; !load.over; ++i) {
    load.timed("queue", [&](grpc::ClientContext* c) {
      v1::ListQueueRequest in;
      in.set_page_size(1000);
      in.set_page_token(token);
      v1::ListQueueResponse out;
      const grpc::Status status = stub->ListQueue(c, in, &out);
      token = out.next_page_token();
      return status;
    });
    load.timed("why", [&](grpc::ClientContext* c) {
      v1::ExplainJobRequest in;
      in.set_job_id(jobs[i % jobs.size()]);
      v1::Explanation out;
      return stub->ExplainJob(c, in, &out);
    });
  }
}

void ask_on(Load& load, const std::string& account) {
  const auto channel = load.connect();
  const auto admin = v1::AdminService::NewStub(channel);
  const auto accounts = v1::AccountService::NewStub(channel);
  const auto jobs = v1::JobService::NewStub(channel);
  for (int i = 0; !load.over; ++i) {
    load.timed("status", [&](grpc::ClientContext* c) {
      v1::Status out;
      return admin->GetStatus(c, {}, &out);
    });
    load.timed("account edit", [&](grpc::ClientContext* c) {
      v1::UpdateAccountRequest in;
      in.mutable_account()->set_path(account);
      in.mutable_account()->set_shares(1 + i % 2);
      in.mutable_update_mask()->add_paths("shares");
      in.set_reason("load");
      v1::EditAccountResponse out;
      return accounts->UpdateAccount(c, in, &out);
    });
    load.timed("submit", [&](grpc::ClientContext* c) {
      v1::CreateJobRequest in;
      in.mutable_job()->set_account(account);
      auto* group = in.mutable_job()->mutable_request()->add_groups();
      group->set_count(1);
      group->mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
      group->mutable_shape()->set_gpus(8);
      v1::CreateJobResponse out;
      return jobs->CreateJob(c, in, &out);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: readers_load ADDRESS READERS SECONDS ACCOUNT JOB...\n");
    return 2;
  }
  subak::Load load(argv[1]);
  const std::vector<std::string> jobs(argv + 5, argv + argc);
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    threads.emplace_back([&, i] { read_on(load, jobs, static_cast<std::size_t>(i)); });
  }
  threads.emplace_back([&] { ask_on(load, argv[4]); });
  std::this_thread::sleep_for(std::chrono::seconds(std::atoi(argv[3])));
  load.over = true;
  for (std::thread& thread : threads) thread.join();
  load.print();
}
