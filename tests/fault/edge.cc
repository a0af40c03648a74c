#include "edge.h"

#include <algorithm>
#include <utility>

namespace subak::fault {

Edge::Edge(Cluster& cluster, sim::Rng& rng, const Faults& faults, Post post, NewSession number,
           Delivered delivered)
    : cluster_(cluster),
      rng_(rng),
      faults_(faults),
      post_(std::move(post)),
      new_session_(std::move(number)),
      delivered_(std::move(delivered)) {}

void Edge::connect(Runtime& runtime, ClusterId id) {
  stream_ = runtime.subscribe(id, [] {});
  if (stream_ != nullptr) relist();
}

void Edge::disconnect() {
  if (stream_ != nullptr) stream_->cancel();
  stream_ = nullptr;
  outbox_.clear();
  effects_.clear();
}

// What the list says is as of after its begin: taken before, it could be older than what another edge
// has reported since.
void Edge::relist() {
  outbox_.clear();
  outbox_.emplace_back(in::ListBegin{kCluster});
  unlisted_ = true;
}

void Edge::list() {
  unlisted_ = false;
  std::vector<in::Body> list = cluster_.list();
  if (faults_.reorder && rng_.percent(40)) {  // two lists in one: pods may come before their nodes
    std::stable_partition(list.begin(), list.end(), [](const in::Body& body) {
      return !std::holds_alternative<in::NodeSeen>(body);
    });
  }
  for (in::Body& body : list) outbox_.push_back(std::move(body));
  outbox_.emplace_back(in::ListComplete{kCluster});
  cursor_ = cluster_.log().size();
}

// Takes the next event of the watch, with what a bad connection does to it.
void Edge::follow_watch() {
  if (cursor_ == cluster_.log().size()) return;
  const in::Body& event = cluster_.log()[cursor_++];
  if (faults_.lose && rng_.percent(6)) return;
  if (faults_.delay && rng_.percent(8)) return late_.push_back(event);
  outbox_.push_back(event);
  if (faults_.repeat && rng_.percent(15)) outbox_.push_back(event);
  const std::size_t waiting = outbox_.size();
  if (faults_.reorder && rng_.percent(25) && waiting > 1 &&
      !std::holds_alternative<in::ListComplete>(outbox_[waiting - 2])) {
    std::swap(outbox_[waiting - 1], outbox_[waiting - 2]);
  }
}

void Edge::send() {
  if (!late_.empty() && rng_.percent(10)) {
    std::swap(late_[rng_.below(late_.size())], late_.back());
    if (post(late_.back())) late_.pop_back();
    return;
  }
  const std::size_t ahead = faults_.reorder ? 3 : 1;
  for (std::size_t i = 0; i < ahead && outbox_.size() < ahead && !unlisted_; ++i) follow_watch();
  const bool all = outbox_.empty() && late_.empty() && cursor_ == cluster_.log().size();
  if (all && !unlisted_ && rng_.percent(20)) outbox_.emplace_back(in::SeenUntil{kCluster, 0});
  send_first();
}

bool Edge::send_first() {
  if (outbox_.empty() || !post(outbox_.front())) return false;
  const bool begins = std::holds_alternative<in::ListBegin>(outbox_.front());
  outbox_.pop_front();
  if (begins) list();
  return true;
}

bool Edge::post(const in::Body& body) {
  if (std::holds_alternative<in::ListBegin>(body)) session_ = new_session_();
  return post_(body, session_, [this, body](const Reply& reply) { on_reply(body, reply); });
}

// A launcher keeps nothing alive that the service does not know; what has ended is deleted once the
// service knows.
void Edge::on_reply(const in::Body& body, const Reply& reply) {
  if (const auto* bound = std::get_if<in::PodBound>(&body)) {
    if (reply.error && reply.error->field == "pod" && bound->pod.uid.empty()) {
      cluster_.stop(bound->pod);
    }
  } else if (const auto* gone = std::get_if<in::PodGone>(&body)) {
    if (!reply.error) cluster_.forget(gone->pod);
  } else if (const auto* seen = std::get_if<in::PodSeen>(&body)) {
    if (!reply.error && seen->pod.ended != Cause::kNone) cluster_.forget({seen->pod.uid, {}, 0, 0});
  }
}

void Edge::collect() {
  if (stream_ == nullptr) return;
  for (Effect& effect : stream_->take()) {
    delivered_(effect);
    if (session_ != kNoSession && effect.session > session_) continue;  // another's now
    if (faults_.lose_effects && rng_.percent(15)) continue;
    if (faults_.repeat_effects && rng_.percent(30)) effects_.push_back(effect);
    if (faults_.delay_effects && rng_.percent(25)) {
      late_effects_.push_back(std::move(effect));
    } else {
      effects_.push_back(std::move(effect));
    }
  }
}

void Edge::carry_out() {
  collect();
  if (!late_effects_.empty() && rng_.percent(10)) {
    std::swap(late_effects_[rng_.below(late_effects_.size())], late_effects_.back());
    apply(std::exchange(late_effects_.back(), {}));
    late_effects_.pop_back();
  } else if (!effects_.empty()) {
    apply(effects_.front());
    effects_.pop_front();
  }
}

// A pod that is not there cannot be opened or evicted: the service is told that it is gone.
void Edge::apply(const Effect& effect) {
  for (const EffectPod& pod : effect.pods) {
    const bool there = effect.kind == EffectKind::kOpenGate ? cluster_.open_gate(effect, pod)
                                                            : cluster_.evict(effect, pod);
    if (there) continue;
    in::PodGone gone;
    gone.cluster = kCluster;
    gone.pod = pod.uid.empty() ? PodRef{"", effect.job, pod.rank, effect.attempt}
                               : PodRef{pod.uid, {}, 0, 0};
    outbox_.emplace_back(std::move(gone));
  }
}

void Edge::heal(const Faults& none) {
  faults_ = none;
  late_effects_.clear();
}

bool Edge::pump() {
  bool some = false;
  while (!late_.empty() && post(late_.back())) {
    late_.pop_back();
    some = true;
  }
  while (!unlisted_ && cursor_ < cluster_.log().size()) follow_watch();
  while (send_first()) some = true;
  collect();
  for (; !effects_.empty(); effects_.pop_front()) {
    apply(effects_.front());
    some = true;
  }
  return some;
}

}  // namespace subak::fault
