// The two streams; each is opened again whenever it breaks.
#include <google/protobuf/util/time_util.h>

#include "tools/demo_edge/edge.h"
#include "tools/demo_edge/fleet.h"

namespace subak::demo {

void Edge::pause_unless_stopping() {
  std::unique_lock lock(mutex_);
  if (!stopping_) changed_.wait_for(lock, std::chrono::milliseconds(50));
}

void Edge::observe_loop() {
  for (;;) {
    const auto link = door_.wait();
    if (!link) return;
    const auto stub = v1::ClusterService::NewStub(link->channel);
    grpc::ClientContext context;
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_) return;
      list_all();
    }
    const auto stream = stub->Observe(&context);
    std::thread writer([this, &stream] { write_loop(*stream); });
    v1::ObserveResponse ack;
    while (stream->Read(&ack)) on_ack(ack);
    {
      const std::scoped_lock lock(mutex_);
      listening_ = false;
      changed_.notify_all();
    }
    context.TryCancel();
    writer.join();
    stream->Finish();
    pause_unless_stopping();
  }
}

void Edge::write_loop(grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>& stream) {
  std::unique_lock lock(mutex_);
  while (listening_) {
    if (outbox_.empty()) {
      if (stopping_) {
        lock.unlock();
        stream.WritesDone();
        return;
      }
      changed_.wait(lock);
      continue;
    }
    v1::ObserveRequest event = std::move(outbox_.front());
    outbox_.pop_front();
    lock.unlock();
    // Not earlier: the time in the outbox must not count as a clock error.
    *event.mutable_sent_at() = google::protobuf::util::TimeUtil::MillisecondsToTimestamp(wall_ms());
    event.set_sent_steady_ms(boot_ms());
    const bool ok = stream.Write(event);
    lock.lock();
    if (!ok) return;
    // By its answer the service has begun to read: what comes now shows it this clock without a wait.
    if (event.has_list_begin()) changed_.wait(lock, [this] { return is_heard_ || !listening_; });
  }
}

void Edge::on_ack(const v1::ObserveResponse& ack) {
  const std::scoped_lock lock(mutex_);
  if (!is_heard_) changed_.notify_all();
  is_heard_ = true;
  std::map<std::uint64_t, std::string> refused;
  for (const v1::ObserveError& error : ack.errors()) {
    refused[error.sequence()] = error.status().message();
    if (sent_.binds.count(error.sequence()) > 0) continue;
    if (sent_.may_be_late.count(error.sequence()) > 0) continue;
    complaints_.push_back("event " + std::to_string(error.sequence()) +
                          " was refused: " + error.status().message());
  }
  const auto answered = sent_.binds.upper_bound(ack.acknowledged_sequence());
  for (auto it = sent_.binds.begin(); it != answered; ++it) {
    const auto no = refused.find(it->first);
    answer_start(it->second, no == refused.end() ? "" : no->second);
  }
  sent_.binds.erase(sent_.binds.begin(), answered);
  const auto known = sent_.ends.upper_bound(ack.acknowledged_sequence());
  for (auto it = sent_.ends.begin(); it != known; ++it) {
    pods_.at(it->second).end_acknowledged = true;
  }
  sent_.ends.erase(sent_.ends.begin(), known);
  if (list_end_ != 0 && ack.acknowledged_sequence() >= list_end_) {
    list_end_ = 0;
    ++counts_.lists;
    changed_.notify_all();
  }
}

void Edge::effects_loop() {
  for (;;) {
    const auto link = door_.wait();
    if (!link) return;
    const auto stub = v1::ClusterService::NewStub(link->channel);
    grpc::ClientContext context;
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_) return;
      effects_context_ = &context;
    }
    v1::EffectsRequest request;
    request.set_cluster(kCluster);
    const auto stream = stub->Effects(&context, request);
    v1::EffectsResponse response;
    while (stream->Read(&response)) on_effect(response.effect());
    stream->Finish();
    {
      const std::scoped_lock lock(mutex_);
      effects_context_ = nullptr;
    }
    pause_unless_stopping();
  }
}

}  // namespace subak::demo
