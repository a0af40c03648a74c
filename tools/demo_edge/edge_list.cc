// Events, and the complete list at the beginning of each connection.
#include "tools/demo_edge/edge.h"
#include "tools/demo_edge/fleet.h"

namespace subak::demo {
namespace {

void set_time(std::int64_t ms, google::protobuf::Timestamp* out) {
  out->set_seconds(ms / 1000);
  out->set_nanos(static_cast<std::int32_t>(ms % 1000) * 1'000'000);
}

}  // namespace

v1::PodRef Edge::ref_of(const Pod& pod) {
  v1::PodRef ref;
  if (pod.from_api()) {
    ref.set_job_id(pod.job);
    ref.set_rank(pod.place.rank());
    ref.set_attempt(pod.attempt);
  } else {
    ref.set_uid(pod.record.uid());
  }
  return ref;
}

v1::ObserveRequest Edge::bound_event(const Pod& pod) {
  v1::ObserveRequest event;
  *event.mutable_pod_bound()->mutable_pod() = ref_of(pod);
  event.mutable_pod_bound()->set_node(pod.place.node());
  set_time(pod.bound_ms, event.mutable_pod_bound()->mutable_bound_at());
  return event;
}

v1::ObserveRequest Edge::running_event(const Pod& pod) {
  v1::ObserveRequest event;
  *event.mutable_pod_running()->mutable_pod() = ref_of(pod);
  set_time(pod.running_ms, event.mutable_pod_running()->mutable_running_at());
  return event;
}

v1::ObserveRequest Edge::gone_event(const Pod& pod) {
  v1::ObserveRequest event;
  *event.mutable_pod_gone()->mutable_pod() = ref_of(pod);
  set_time(pod.ended_ms, event.mutable_pod_gone()->mutable_ended_at());
  event.mutable_pod_gone()->set_cause(pod.cause);
  return event;
}

// Sends an event. `ends`: the pod that ends with it. `may_be_late`: the service may know it already
// and refuse it.
void Edge::send(v1::ObserveRequest event, const std::string& ends, bool may_be_late) {
  if (!listening_) return;
  event.set_sequence(++sequence_);
  event.set_cluster(kCluster);
  if (!ends.empty()) sent_.ends[sequence_] = ends;
  if (may_be_late) sent_.may_be_late.insert(sequence_);
  outbox_.push_back(std::move(event));
  changed_.notify_all();
}

// Reports a pod of an API job as bound. It starts once this is acknowledged, and not if its hold
// has ended.
void Edge::ask_to_start(const Pod& pod) {
  send(bound_event(pod));
  if (listening_ && !pod.started) sent_.binds[sequence_] = pod.key;
}

void Edge::list_all() {
  listening_ = true;
  is_heard_ = false;
  sequence_ = 0;
  outbox_.clear();
  sent_ = {};
  v1::ObserveRequest begin;
  begin.mutable_list_begin();
  send(std::move(begin));
  for (const v1::NodeSpec& node : nodes_) {
    v1::ObserveRequest event;
    *event.mutable_node_seen()->mutable_node() = node;
    send(std::move(event));
  }
  for (const auto& [key, pod] : pods_) {
    if (pod.live()) list_live(pod);
    if (!pod.live() && !pod.end_acknowledged) list_ended(pod);
  }
  v1::ObserveRequest complete;
  complete.mutable_list_complete();
  send(std::move(complete));
  list_end_ = sequence_;
}

void Edge::list_live(const Pod& pod) {
  const bool bound = pod.bound_ms != 0;
  if (pod.from_api()) {
    if (bound) ask_to_start(pod);
    if (pod.running) send(running_event(pod));
    return;
  }
  v1::ObserveRequest event;
  *event.mutable_pod_seen()->mutable_pod() = pod.record;
  if (bound) set_time(pod.bound_ms, event.mutable_pod_seen()->mutable_pod()->mutable_bound_at());
  send(std::move(event));
}

// Reports an ended pod whose end is not acknowledged. Its binding may be unknown too.
void Edge::list_ended(const Pod& pod) {
  if (pod.bound_ms != 0) send(bound_event(pod), "", true);
  send(gone_event(pod), pod.key, true);
}

}  // namespace subak::demo
