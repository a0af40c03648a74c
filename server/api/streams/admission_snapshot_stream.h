// Static: streams copies of the webhook's basis to webhook-only replicas. If a batch changes the
// basis, the service makes one new copy for all streams. A slow reader may miss copies, but a copy
// that it begins to read is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "admission/policy_config.h"
#include "engine/answers/view.h"
#include "server/api/streams/streams.h"
#include "server/runtime/follower.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// The parts of one copy, in the order of their sending. Streams share them.
using AdmissionSnapshot = std::vector<std::shared_ptr<const v1::StaticResponse>>;

// One Static stream.
// The stream holds at most two copies: the one that it is sending, and the newest.
class AdmissionSnapshotStream final : public QueueWriter<v1::StaticResponse> {
 public:
  // `set` and `hub` outlive the stream.
  AdmissionSnapshotStream(StreamSet& set, class AdmissionSnapshotHub& hub);
  // Queues the newest copy. The stream sends it at once, or after the copy that it is sending.
  // It drops an earlier copy that it has not begun to send. Threads: any.
  void offer(std::shared_ptr<const AdmissionSnapshot> copy);
  // True if the stream is sending this copy, or will send it next. Threads: any.
  bool holds(const AdmissionSnapshot* copy);

 private:
  // Begins the next copy, if there is one.
  void drained() override;
  // Takes the stream out of the hub.
  void ended() override;
  // Queues all parts of the next copy, if there is one. Threads: any.
  void send();

  AdmissionSnapshotHub& hub_;
  Mutex copy_mutex_;
  // The copy that the stream is sending; nullptr when it is sent.
  std::shared_ptr<const AdmissionSnapshot> sent_ SUBAK_GUARDED_BY(copy_mutex_);
  // The copy to send after it; nullptr: none.
  std::shared_ptr<const AdmissionSnapshot> next_ SUBAK_GUARDED_BY(copy_mutex_);
};

// All Static streams. Threads: any.
class AdmissionSnapshotHub {
 public:
  // `config` outlives the hub.
  AdmissionSnapshotHub(Follower& follower, const AdmissionConfig& config)
      : follower_(follower), config_(config) {}
  // The hub keeps the stream alive until remove(), which the stream calls when it is over. add()
  // sends nothing: call ask() after it.
  void add(const std::shared_ptr<AdmissionSnapshotStream>& stream);
  void remove(const AdmissionSnapshotStream* stream);
  // Compares the batch's View with the last one (is_same_admission_snapshot()). A change leads to
  // one read, however many streams are open. If the queue refuses the read, the hub tries again
  // with the next batch.
  void on_durable(const Released& batch);  // called as WatchHub::on_durable
  // Requests a read that sends a copy. False: the queue of reads is full, or
  // the follower has stopped.
  // Returns true without a new request if a read is already queued.
  bool ask();

 private:
  // On the follower's thread: makes the copy and offers it to all streams.
  void send(const Engine& engine);
  // At most limits::kMaxAdmissionSnapshots copies stay in memory. Streams that hold an older one
  // end with RESOURCE_EXHAUSTED.
  void end_slowest(const std::vector<std::shared_ptr<AdmissionSnapshotStream>>& streams);

  Follower& follower_;
  const AdmissionConfig& config_;
  // True: a copy is due, but its read was refused. Only the loop's thread uses it.
  bool owed_ = false;
  // The number of `streams_`, to be read without the lock.
  std::atomic<std::size_t> open_{0};
  Mutex mutex_;
  std::vector<std::shared_ptr<AdmissionSnapshotStream>> streams_ SUBAK_GUARDED_BY(mutex_);
  // True: a read is queued.
  bool asked_ SUBAK_GUARDED_BY(mutex_) = false;
  // The View of the last batch; nullptr before the first.
  std::shared_ptr<const View> last_ SUBAK_GUARDED_BY(mutex_);
  // Copies that a stream may still hold, oldest first. Only the follower's thread uses it.
  std::deque<std::weak_ptr<const AdmissionSnapshot>> copies_;
};

}  // namespace subak::api
