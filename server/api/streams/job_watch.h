// WatchJobs. Durable batches name the jobs that changed. The follower's thread makes a row for each
// and sends it to the streams. All streams share one message in memory for each row. There is no
// polling, and without an open stream there is no work.
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
  // The jobs that a stream wants. Empty fields select all jobs.
  struct Filter {
    // A path, with or without user: only jobs of this account and of accounts below it.
    std::string account;
    // Only this job.
    JobId job;
  };
  // `set`, `hub` and `follower` outlive the stream. list_first:
  // send the present jobs before changes.
  JobWatch(StreamSet& set, class WatchHub& hub, Follower& follower, Filter filter, bool list_first);

  // Call it after begin(). Sends the present jobs, and then changes.
  // Its reads take their turns as `caller`.
  // The stream sends `listed` after the last of the present jobs. That list leaves out ended jobs,
  // unless the filter names the job. A change may come before the list is complete, and a job may
  // come twice. A named job that does not exist ends the stream with NOT_FOUND. A full queue of
  // reads ends it with RESOURCE_EXHAUSTED.
  void start(const std::string& caller);
  // True if the row passes the filter. Threads: any.
  bool wants(const JobRow& row) const;

 private:
  // Reads the next part of the list.
  void drained() override;
  // Takes the stream out of the hub.
  void ended() override;
  // Asks the follower for the next part of the list. Does nothing if the list is complete, or if a
  // read is queued.
  void list_some();
  // Sends one part of the list, at most 64 jobs. Runs on the follower's thread.
  void list_part(const Engine& engine);

  WatchHub& hub_;
  Follower& follower_;
  Filter filter_;
  // The name under which its reads take their turns: "watch:NAME". start() sets it.
  std::string turns_;
  Mutex list_mutex_;
  // True: the list is not complete.
  bool listing_ SUBAK_GUARDED_BY(list_mutex_);
  // True: a read of the list's next part is queued.
  bool asked_ SUBAK_GUARDED_BY(list_mutex_) = false;
  // The last job listed; none: the list begins. Only the read uses it, and one read runs at a time.
  JobId listed_to_;
};

// All WatchJobs streams. Threads: any.
// If a job changes several times between two reads, a stream gets one row, with the newest state.
class WatchHub {
 public:
  // `follower` outlives the hub. most_bytes: ApiOptions::most_watch_bytes.
  WatchHub(Follower& follower, std::size_t most_bytes)
      : follower_(follower), most_bytes_(most_bytes) {}
  // Keeps the stream alive until remove(), which the stream calls when it is over.
  void add(const std::shared_ptr<JobWatch>& watch);
  void remove(const JobWatch* watch);
  // Collects the batch's changed jobs. Call on the loop's thread once the follower has the batch.
  // Without an open stream it does nothing.
  void on_durable(const Released& batch);
  // The bytes that all watches have not sent yet. Above `most_bytes`, the watch that is furthest
  // behind ends.
  StreamBytes& bytes() { return bytes_; }
  // Ends the watch with the most unsent messages, with RESOURCE_EXHAUSTED.
  void end_slowest();

 private:
  // Queues send_changes(), unless it is queued or no job has changed. If the queue refuses it, the
  // next batch tries again.
  void ask();
  // Sends a bounded number of rows, then queues itself again for the remaining rows. So other reads
  // get their turns. Runs on the follower's thread.
  void send_changes(const Engine& engine);
  // Makes the message once, and only if a stream wants the row.
  void send_row(const JobRow& row, const Engine& engine,
                const std::vector<std::shared_ptr<JobWatch>>& watches);

  Follower& follower_;
  std::size_t most_bytes_;
  StreamBytes bytes_;
  // The number of `watches_`, to be read without the lock.
  std::atomic<std::size_t> watches_open_{0};
  Mutex mutex_;
  std::vector<std::shared_ptr<JobWatch>> watches_ SUBAK_GUARDED_BY(mutex_);
  // Jobs that have changed since their last row was sent.
  std::set<JobId> changed_ SUBAK_GUARDED_BY(mutex_);
  // True: send_changes() is queued.
  bool asked_ SUBAK_GUARDED_BY(mutex_) = false;
};

}  // namespace subak::api
