// WatchJobs: durable batches name the jobs that changed; the follower's thread turns them into rows
// for each stream. Nothing is polled, and with no stream open nothing is done.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "server/api/streams.h"
#include "server/runtime/follower.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// One WatchJobs stream.
class JobWatch final : public QueueWriter<v1::WatchJobsResponse> {
 public:
  struct Filter {
    std::string account;
    JobId job;
  };
  JobWatch(StreamSet& set, class WatchHub& hub, Follower& follower, Filter filter, bool list_first);

  // After begin(): the jobs as they are, then changes.
  void start();
  bool wants(const JobRow& row) const;

 private:
  void drained() override;
  void ended() override;
  void list_some();  // asks the follower for the next part of the list
  void list_part(const Engine& engine);

  WatchHub& hub_;
  Follower& follower_;
  Filter filter_;
  std::mutex list_mutex_;
  bool listing_;
  bool asked_ = false;  // a part of the list is on its way
  JobId listed_to_;
};

// Threads: any.
class WatchHub {
 public:
  explicit WatchHub(Follower& follower) : follower_(follower) {}
  void add(const std::shared_ptr<JobWatch>& watch);
  void remove(const JobWatch* watch);
  // The loop's thread, once the follower has the batch.
  void on_durable(const Released& batch);

 private:
  void send_changes(const Engine& engine);

  Follower& follower_;
  std::atomic<std::size_t> watches_open_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<JobWatch>> watches_;
  std::set<JobId> changed_;
  bool asked_ = false;  // send_changes is on its way
};

}  // namespace subak::api
