// A fixture for tests of the queue: an account tree and a ReadyQueue, with short functions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accounting/order.h"
#include "accounting/tree.h"
#include "queue/ready.h"

namespace subak {

struct Account {
  std::string path;
  std::int64_t shares = 1;
  MilliGpu quota = 0;  // milli-GPU of any product
  bool held = false;
};

class ReadyFixture : public ::testing::Test {
 protected:
  AccountId set(const Account& account) {
    AccountSpec spec;
    spec.path = account.path;
    spec.user = account.path.find('/') != std::string::npos;
    spec.shares = account.shares;
    spec.held = account.held;
    std::vector<std::pair<ProductId, MilliGpu>> quota;
    if (account.quota != 0) {
      spec.quota = {{kAnyProduct, account.quota}};
      quota = {{ProductId(), account.quota}};
    }
    AccountId id = tree_.find(account.path);
    if (!id) id = tree_.id_for(account.path);
    tree_.set(id, spec, 1, now_, quota, {});
    return id;
  }
  AccountId id(const std::string& path) const { return tree_.find(path); }

  // Adds a job with this number, which the test chooses. All jobs of a shape cost the same, so the
  // last `milligpu` of a shape counts.
  void add(std::uint64_t number, const std::string& path, TimeMs submit_ms = 0,
           std::int32_t priority = 0, std::uint32_t shape = 1, MilliGpu milligpu = 1000) {
    ReadyJob job{.id = JobId(number),
                 .leaf = id(path),
                 .shape = ShapeId(shape),
                 .priority = priority,
                 .submit_ms = submit_ms};
    costs_[job.shape] = {milligpu, {}};
    jobs_.push_back(job);
    queue_.add(job, tree_);
  }
  const ReadyJob& job(JobId number) const {
    for (const ReadyJob& j : jobs_) {
      if (j.id == number) return j;
    }
    ADD_FAILURE() << "no such job";
    return jobs_.front();
  }
  ReadyQueue::Pass pass(OrderPolicy policy = OrderPolicy::kTargetShare) {
    return {queue_, tree_, policy, rule_, nullptr, now_};
  }
  // Starts the job: it leaves the queue, and the tree has its hold.
  void start(ReadyQueue::Pass& pass, JobId number) {
    const ReadyJob& j = job(number);
    queue_.remove(number);
    tree_.hold(j.leaf, ProductId(1), costs_.at(j.shape).milligpu, now_);
    pass.started(number, j.leaf);
  }
  // Starts the next `most` jobs and returns their numbers, in order.
  std::vector<std::uint64_t> drain(ReadyQueue::Pass& pass, std::size_t most = 1000) {
    std::vector<std::uint64_t> out;
    while (out.size() < most) {
      const std::optional<JobId> next = pass.next();
      if (!next) break;
      out.push_back(next->value);
      start(pass, *next);
    }
    return out;
  }
  std::vector<std::uint64_t> numbers(const std::vector<JobId>& ids) const {
    std::vector<std::uint64_t> out;
    for (const JobId i : ids) out.push_back(i.value);
    return out;
  }

  TimeMs now_ = 1'700'000'000'000;
  AccountTree tree_{kDayMs};
  std::map<ShapeId, ShapeCost> costs_;
  ReadyQueue queue_{[this](ShapeId shape) { return costs_.at(shape); }};
  TargetShareRule rule_;
  std::vector<ReadyJob> jobs_;
};

}  // namespace subak
