// WatchJobs. Durable batches name the jobs that changed, and the follower's thread turns them into
// rows for each stream. All streams share one message in memory per row. Nothing is polled, and
// without an open stream there is no work.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "server/api/streams/streams.h"
#include "server/runtime/follower.h"
#include "subak/v1/job_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// One WatchJobs stream.
class JobWatch final : public QueueWriter<v1::WatchJobsResponse> {
 public:
  // Empty fields select everything. `account`: a path, which includes all below it, with or without
  // user.
  struct Filter {
    // A job of another account is left out.
    std::string account;
    // Only this job.
    JobId job;
  };
  // All outlive the stream. list_first: send the present jobs before changes.
  JobWatch(StreamSet& set, class WatchHub& hub, Follower& follower, Filter filter, bool list_first);

  // Call after begin(). Sends the present jobs, read in turns of `caller`, and then changes.
  // `listed` is sent when the present jobs are complete. Jobs that have ended are left out of that
  // list, unless the filter names the job. A change may come before the list is complete, and a job
  // may come twice. A named job that does not exist ends the stream with NOT_FOUND. A full queue of
  // reads ends it with RESOURCE_EXHAUSTED.
  void start(const std::string& caller);
  // True if the row passes the filter. Threads: any.
  bool wants(const JobRow& row) const;

 private:
  // Reads the next part of the list.
  void drained() override;
  // Takes the stream out of the hub.
  void ended() override;
  // Asks the follower for the next part of the list. Does nothing if the list is complete or a read
  // is queued.
  void list_some();
  // On the follower's thread. One part has at most 64 jobs.
  void list_part(const Engine& engine);

  WatchHub& hub_;
  Follower& follower_;
  Filter filter_;
  // The caller whose turns its reads take: "watch:NAME". Set by start().
  std::string turns_;
  Mutex list_mutex_;
  // The list is not complete.
  bool listing_ SUBAK_GUARDED_BY(list_mutex_);
  // A read of the list's next part is queued.
  bool asked_ SUBAK_GUARDED_BY(list_mutex_) = false;
  // The last job listed; none: the list begins. Used by the one read at a time.
  JobId listed_to_;
};

// All WatchJobs streams. Threads: any.
// A stream gets the state after a batch, not each state in between: changes of one job between two
// reads are one row.
class WatchHub {
 public:
  // `follower` outlives the hub. most_bytes: ApiOptions::most_watch_bytes.
  WatchHub(Follower& follower, std::size_t most_bytes)
      : follower_(follower), most_bytes_(most_bytes) {}
  // Keeps the stream alive until remove(), which the stream calls when it is over.
  void add(const std::shared_ptr<JobWatch>& watch);
  void remove(const JobWatch* watch);
  // Collects the batch's changed jobs. Call on the loop's thread once the follower has the batch.
  // Costs nothing without an open stream.
  void on_durable(const Released& batch);
  // Bytes that all watches have not sent yet. Beyond `most_bytes` the watch furthest behind ends.
  StreamBytes& bytes() { return bytes_; }
  // Ends it with RESOURCE_EXHAUSTED. The furthest behind is the one with most unsent messages.
  void end_slowest();

 private:
  // Queues send_changes(), unless it is queued or no job has changed. A refusal is repeated with
  // the next batch.
  void ask();
  // On the follower's thread. Sends a bounded number of rows and queues itself again for the rest,
  // so that other reads get their turns.
  void send_changes(const Engine& engine);
  // The message is made once, and only if a stream wants it.
  void send_row(const JobRow& row, const Engine& engine,
                const std::vector<std::shared_ptr<JobWatch>>& watches);

  Follower& follower_;
  std::size_t most_bytes_;
  StreamBytes bytes_;
  // As many as `watches_`, for a look without the lock.
  std::atomic<std::size_t> watches_open_{0};
  Mutex mutex_;
  std::vector<std::shared_ptr<JobWatch>> watches_ SUBAK_GUARDED_BY(mutex_);
  // Jobs whose row was not sent since they changed.
  std::set<JobId> changed_ SUBAK_GUARDED_BY(mutex_);
  // send_changes() is queued.
  bool asked_ SUBAK_GUARDED_BY(mutex_) = false;
};

}  // namespace subak::api
