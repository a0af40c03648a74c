// The gRPC call Static: sends webhook-only replicas copies of the data with which the admission
// webhook decides. If a batch of inputs changes this data, the service makes one new copy for all
// streams. A slow replica may miss whole copies. But if a replica gets the first part of a copy, it
// gets all its parts.
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

// The parts of one copy, in the order in which they are sent. Streams share the parts.
using AdmissionSnapshot = std::vector<std::shared_ptr<const v1::StaticResponse>>;

// One stream of the call Static. The stream holds at most two copies: the copy that it is sending,
// and the newest copy.
class AdmissionSnapshotStream final : public QueueWriter<v1::StaticResponse> {
 public:
  // `set` and `hub` must outlive the stream.
  AdmissionSnapshotStream(StreamSet& set, class AdmissionSnapshotHub& hub);
  // Queues the newest copy. The stream sends this copy at once, or after the copy that it is
  // sending. An earlier copy that the stream has not begun to send is dropped. Threads: any.
  void offer(std::shared_ptr<const AdmissionSnapshot> copy);
  // True if the stream is sending this copy, or will send it next. Threads: any.
  bool holds(const AdmissionSnapshot* copy);

 private:
  // Begins to send the next copy, if there is one.
  void drained() override;
  // Takes the stream out of the hub.
  void ended() override;
  // Queues all parts of the next copy, if there is one. Threads: any.
  void send();

  AdmissionSnapshotHub& hub_;
  Mutex copy_mutex_;
  // The copy that the stream is sending; nullptr: it is sending none.
  std::shared_ptr<const AdmissionSnapshot> sent_ SUBAK_GUARDED_BY(copy_mutex_);
  // The copy to send after `sent_`; nullptr: there is none.
  std::shared_ptr<const AdmissionSnapshot> next_ SUBAK_GUARDED_BY(copy_mutex_);
};

// All Static streams. Threads: any.
class AdmissionSnapshotHub {
 public:
  // `follower` and `config` must outlive the hub.
  AdmissionSnapshotHub(Follower& follower, const AdmissionConfig& config)
      : follower_(follower), config_(config) {}
  // Adds a stream. The hub keeps the stream alive until remove(), which the stream calls when it is
  // over. add() sends nothing: call ask() after add().
  void add(const std::shared_ptr<AdmissionSnapshotStream>& stream);
  void remove(const AdmissionSnapshotStream* stream);
  // Compares the View of this batch of inputs with the View of the batch before
  // (is_same_admission_snapshot()). If the Views differ and a stream is open, on_durable() requests
  // one read that makes a copy. If the queue of reads refuses this read, on_durable() requests it
  // again after the next batch. Call it on the loop's thread, after Follower::durable() for this
  // batch.
  void on_durable(const Released& batch);
  // Requests a read that sends a copy to all streams. If such a read is already queued, ask()
  // returns true and requests no second read. False: the queue of reads is full, or the follower
  // has stopped.
  bool ask();

 private:
  // Makes a copy and offers the copy to all streams. send() runs on the follower's thread.
  void send(const Engine& engine);
  // Ends streams so that at most limits::kMaxAdmissionSnapshots copies stay in memory. A stream
  // that holds an older copy ends with RESOURCE_EXHAUSTED.
  void end_slowest(const std::vector<std::shared_ptr<AdmissionSnapshotStream>>& streams);

  Follower& follower_;
  const AdmissionConfig& config_;
  // True: a copy is due, but the queue of reads refused the last read. Only the loop's thread uses
  // this member.
  bool owed_ = false;
  // The number of `streams_`. Any thread can read `open_` without the lock.
  std::atomic<std::size_t> open_{0};
  Mutex mutex_;
  std::vector<std::shared_ptr<AdmissionSnapshotStream>> streams_ SUBAK_GUARDED_BY(mutex_);
  // True: a read is queued.
  bool asked_ SUBAK_GUARDED_BY(mutex_) = false;
  // The View of the last batch; nullptr before the first.
  std::shared_ptr<const View> last_ SUBAK_GUARDED_BY(mutex_);
  // The copies that a stream may still hold, the oldest first. Only the follower's thread uses this
  // member.
  std::deque<std::weak_ptr<const AdmissionSnapshot>> copies_;
};

}  // namespace subak::api
