// Static: copies of what the webhook judges by, for replicas that only serve the webhook. A new copy
// is made after a batch that changed any of it, for all streams together; a slow reader skips
// copies, never parts of one.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "admission/policy_config.h"
#include "engine/view.h"
#include "server/api/streams.h"
#include "server/runtime/follower.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak::api {

using StaticCopy = std::vector<std::shared_ptr<const v1::StaticResponse>>;  // its parts

class StaticStream final : public QueueWriter<v1::StaticResponse> {
 public:
  StaticStream(StreamSet& set, class StaticHub& hub);
  // The newest copy; sent at once, or when the one at hand is out.
  void offer(std::shared_ptr<const StaticCopy> copy);
  // It still sends this one.
  bool holds(const StaticCopy* copy);

 private:
  void drained() override;
  void ended() override;
  void send();

  StaticHub& hub_;
  std::mutex copy_mutex_;
  std::shared_ptr<const StaticCopy> sent_;  // the last one, until it is out
  std::shared_ptr<const StaticCopy> next_;
};

// Threads: any.
class StaticHub {
 public:
  // `config` outlives it.
  StaticHub(Follower& follower, const AdmissionConfig& config)
      : follower_(follower), config_(config) {}
  void add(const std::shared_ptr<StaticStream>& stream);
  void remove(const StaticStream* stream);
  void on_durable(const Released& batch);  // as WatchHub's
  // False: the queue of reads is full.
  bool ask();

 private:
  void send(const Engine& engine);
  void end_slowest(const std::vector<std::shared_ptr<StaticStream>>& streams);

  Follower& follower_;
  const AdmissionConfig& config_;
  bool owed_ = false;  // the loop's thread: a copy that could not be asked for
  std::atomic<std::size_t> open_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<StaticStream>> streams_;
  bool asked_ = false;
  std::shared_ptr<const View> last_;                    // of the last batch
  std::deque<std::weak_ptr<const StaticCopy>> copies_;  // the follower's thread: oldest first
};

}  // namespace subak::api
