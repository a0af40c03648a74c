// The gRPC call WatchJobs. Each durable batch of facts shows which jobs have changed. The thread of
// the follower, the engine that serves reads, makes a row for each of these jobs and sends the row
// to the streams. In memory, all streams share one message for each row. There is no polling, and
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

// One stream of the call WatchJobs.
class JobWatch final : public QueueWriter<v1::WatchJobsResponse> {
 public:
  // Which jobs a stream wants. An empty field selects all jobs.
  struct Filter {
    // The path of an account or a user: only jobs of this account and of those below it.
    std::string account;
    // Only this job.
    JobId job;
  };
  // `set`, `hub` and `follower` must outlive the stream. `list_first`: the stream sends the present
  // jobs first, and then changes.
  JobWatch(StreamSet& set, class WatchHub& hub, Follower& follower, Filter filter, bool list_first);

  // Sends the present jobs, if `list_first` was set, and then changes. Call it after begin(). The
  // reads of the stream count as reads of this caller. After the last of the present jobs, the
  // stream sends a message with `listed` set. The present jobs do not include ended jobs, unless
  // the filter names the job. A change may come before the list is complete, and a job may come
  // twice. If the filter names a job that does not exist, the stream ends with NOT_FOUND. If the
  // queue of reads is full, the stream ends with RESOURCE_EXHAUSTED.
  void start(const std::string& caller);
  // True if the row passes the filter. Threads: any.
  bool wants(const JobRow& row) const;

 private:
  // Requests the next part of the list.
  void drained() override;
  // Takes the stream out of the hub.
  void ended() override;
  // Queues a read of the next part of the list. Does nothing if the list is complete, or if such a
  // read is queued already.
  void list_some();
  // Sends one part of the list, which has at most 64 jobs. It runs on the follower's thread.
  void list_part(const Engine& engine);

  WatchHub& hub_;
  Follower& follower_;
  Filter filter_;
  // The name of the caller for the reads of this stream: "watch:NAME". start() sets `turns_`.
  std::string turns_;
  Mutex list_mutex_;
  // True: the list is not complete yet.
  bool listing_ SUBAK_GUARDED_BY(list_mutex_);
  // True: a read of the next part of the list is queued.
  bool asked_ SUBAK_GUARDED_BY(list_mutex_) = false;
  // The last job that was listed; empty: none was listed yet. Only a read uses it, and one read
  // runs at a time.
  JobId listed_to_;
};

// All streams of the call WatchJobs. If a job changes several times between two reads, a stream
// gets one row, with the newest state of the job. Threads: any.
class WatchHub {
 public:
  // `follower` must outlive the hub. `most_bytes`: ApiOptions::most_watch_bytes.
  WatchHub(Follower& follower, std::size_t most_bytes)
      : follower_(follower), most_bytes_(most_bytes) {}
  // Adds a stream. The hub keeps the stream alive until remove(), which the stream calls when it is
  // over.
  void add(const std::shared_ptr<JobWatch>& watch);
  void remove(const JobWatch* watch);
  // Collects the jobs that the batch has changed. Call it on the loop's thread, after
  // Follower::durable() for this batch. If no stream is open, it does nothing.
  void on_durable(const Released& batch);
  // Counts the bytes that all streams have not sent yet. If they are more than `most_bytes`, the
  // stream that is furthest behind ends.
  StreamBytes& bytes() { return bytes_; }
  // Ends the stream that has the most unsent messages, with RESOURCE_EXHAUSTED.
  void end_slowest();

 private:
  // Queues a read that runs send_changes(). Does nothing if such a read is queued already, or if no
  // job has changed. If the queue refuses the read, the next batch tries again.
  void ask();
  // Sends a bounded number of rows. If further rows remain, it queues itself again, so that other
  // reads get their turns. It runs on the follower's thread.
  void send_changes(const Engine& engine);
  // Sends the row to each stream that wants it. It makes one message for all of them, and none if
  // no stream wants the row.
  void send_row(const JobRow& row, const Engine& engine,
                const std::vector<std::shared_ptr<JobWatch>>& watches);

  Follower& follower_;
  std::size_t most_bytes_;
  StreamBytes bytes_;
  // The number of `watches_`. Any thread can read `watches_open_` without the lock.
  std::atomic<std::size_t> watches_open_{0};
  Mutex mutex_;
  std::vector<std::shared_ptr<JobWatch>> watches_ SUBAK_GUARDED_BY(mutex_);
  // The jobs that have changed since their last row was sent.
  std::set<JobId> changed_ SUBAK_GUARDED_BY(mutex_);
  // True: send_changes() is queued.
  bool asked_ SUBAK_GUARDED_BY(mutex_) = false;
};

}  // namespace subak::api
