// Static: copies of accounts and clusters for replicas that only serve the webhook. A new copy is
// made after a batch that changed one of them; a slow reader skips copies, never parts of one.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/view.h"
#include "server/api/streams.h"
#include "server/runtime/follower.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak::api {

class StaticStream final : public QueueWriter<v1::StaticResponse> {
 public:
  StaticStream(StreamSet& set, class StaticHub& hub);
  // The newest picture; sent at once, or when the copy at hand is out.
  void offer(std::shared_ptr<const View> view);

 private:
  void drained() override { send(); }
  void ended() override;
  void send();

  StaticHub& hub_;
  std::mutex view_mutex_;
  std::shared_ptr<const View> next_;
};

// Threads: any.
class StaticHub {
 public:
  explicit StaticHub(Follower& follower) : follower_(follower) {}
  void add(const std::shared_ptr<StaticStream>& stream);
  void remove(const StaticStream* stream);
  void on_durable(const Released& batch);  // as WatchHub's
  // False: the queue of reads is full.
  bool ask();

 private:
  void send(const Engine& engine);

  Follower& follower_;
  std::atomic<std::size_t> open_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<StaticStream>> streams_;
  bool asked_ = false;
};

}  // namespace subak::api
