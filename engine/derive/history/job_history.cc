#include "engine/derive/history/job_history.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <variant>

#include "core/limits.h"

namespace subak::derive {
namespace {

// True for the kinds of events that several pods may share.
bool is_about_pods(JobEventKind kind) {
  switch (kind) {
    case JobEventKind::kPodsAdded:
    case JobEventKind::kPodsChanged:
    case JobEventKind::kPodsBound:
    case JobEventKind::kPodsRunning:
    case JobEventKind::kHoldLost:
    case JobEventKind::kPodsGone:
      return true;
    default:
      return false;
  }
}

void add_node(std::vector<NodeId>& nodes, NodeId node) {
  if (node && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

std::vector<NodeId> nodes_of(std::span<const PodSlot> slots) {
  std::vector<NodeId> nodes;
  nodes.reserve(slots.size());
  for (const PodSlot& slot : slots) {
    if (slot.node && (nodes.empty() || nodes.back() != slot.node)) nodes.push_back(slot.node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

// Adds the events of one fact.
struct JobHistory::Adder {
  JobHistory& h;
  const Fact& fact;

  JobEvent& event(JobEventKind kind) const {
    JobEvent& e = h.events_.emplace_back();
    e.seq = fact.seq;
    e.time_ms = e.last_ms = fact.time_ms;
    e.kind = kind;
    e.attempt = h.attempt_;
    return e;
  }
  // Returns the event that has the earlier pods, or a new one.
  JobEvent& pod_event(JobEventKind kind, Cause cause = Cause::kNone) const {
    for (auto e = h.events_.rbegin(); e != h.events_.rend() && is_about_pods(e->kind); ++e) {
      if (e->kind != kind || e->cause != cause || e->attempt != h.attempt_) continue;
      ++e->pods;
      e->last_ms = fact.time_ms;
      return *e;
    }
    JobEvent& e = event(kind);
    e.cause = cause;
    e.pods = 1;
    return e;
  }
  static void stamp(JobEvent& e, const EditStamp& edit) {
    e.said.actor = edit.actor;
    e.said.words = edit.reason;
  }

  template <class T>
  void operator()(const T&) const {}

  void operator()(const fact::JobCreated& f) const {
    if (f.id != h.job_) return;
    JobEvent& e = event(JobEventKind::kCreated);
    e.state = f.state;
    e.pods = f.gang_size;
    e.account = f.leaf;
    e.why = enum_name(f.origin);
    stamp(e, f.edit);
    if (f.of_pods.parking == Parking::kParked) event(JobEventKind::kParked);
  }
  void operator()(const fact::PodAdded& f) const {
    if (f.job != h.job_) return;
    JobEvent& e = pod_event(f.bound ? JobEventKind::kPodsBound : JobEventKind::kPodsAdded);
    if (f.bound) add_node(e.nodes, f.slot.node);
  }
  void operator()(const fact::PodChanged& f) const {
    if (f.job == h.job_) pod_event(JobEventKind::kPodsChanged);
  }
  void operator()(const fact::GangResized& f) const {
    if (f.id == h.job_) event(JobEventKind::kResized).pods = f.size;
  }
  void operator()(const fact::JobAssigned& f) const {
    if (f.id == h.job_) event(JobEventKind::kAssigned).account = f.leaf;
  }
  void operator()(const fact::GangEmptied& f) const {
    if (f.id != h.job_) return;
    JobEvent& e = event(JobEventKind::kMoved);
    e.state = JobState::kIncomplete;
    e.until_ms = f.until_ms;
  }
  void operator()(const fact::JobMoved& f) const {
    if (f.id != h.job_) return;
    h.ended_ = f.to == JobState::kDone;
    JobEvent& e = event(h.ended_ ? JobEventKind::kEnded : JobEventKind::kMoved);
    e.state = f.to;
    e.cause = f.cause;
    e.until_ms = f.until_ms;
    stamp(e, f.edit);
  }
  void operator()(const fact::JobParked& f) const {
    if (f.id != h.job_) return;
    event(f.to == Parking::kParked ? JobEventKind::kParked : JobEventKind::kResumed).until_ms =
        f.until_ms;
  }
  void operator()(const fact::JobAdopted& f) const {
    if (f.id == h.job_) event(JobEventKind::kAdopted);
  }
  void operator()(const fact::Reserved& f) const {
    if (f.job != h.job_) return;
    JobEvent& e =
        event(f.nodes.empty() ? JobEventKind::kReservationEnded : JobEventKind::kReserved);
    for (const fact::Reserved::Kept& kept : f.nodes) e.nodes.push_back(kept.node);
    if (!f.nodes.empty()) e.start.at_ms = f.start_ms;
    e.start.estimated = f.estimated;
    e.start.moved_later = f.late;
    e.why = enum_name(f.cause);
  }
  void operator()(const fact::Claimed& f) const {
    if (f.job == h.job_) return add_own(f);
    const auto is_it = [&](const auto& victim) { return victim.job == h.job_; };
    const auto it = std::find_if(f.victims.begin(), f.victims.end(), is_it);
    if (it != f.victims.end()) {
      if (h.claimant_ == f.job) return;
      h.claimant_ = f.job;
      JobEvent& e = event(JobEventKind::kChosenAsVictim);
      e.attempt = it->attempt;
      e.until_ms = it->ask_ms;
      e.jobs = {f.job};
      e.why = enum_name(f.right);
    } else if (h.claimant_ == f.job && f.slots.empty()) {
      h.claimant_ = JobId();
      JobEvent& e = event(JobEventKind::kClaimEnded);
      e.jobs = {f.job};
      e.why = enum_name(f.cause);
    }
  }
  void add_own(const fact::Claimed& f) const {
    JobEvent& e = event(f.slots.empty() ? JobEventKind::kClaimEnded : JobEventKind::kClaimed);
    e.nodes = nodes_of(f.slots);
    for (const fact::Claimed::Victim& victim : f.victims) e.jobs.push_back(victim.job);
    e.why = f.slots.empty() ? enum_name(f.cause) : enum_name(f.right);
  }
  void operator()(const fact::AttemptStarted& f) const {
    if (f.id != h.job_) return;
    h.claimant_ = JobId();
    h.attempt_ = f.attempt;
    JobEvent& e = event(JobEventKind::kAttemptStarted);
    e.state = JobState::kStarting;
    e.pods = static_cast<std::uint32_t>(f.slots.size());
    e.nodes = nodes_of(f.slots);
    e.until_ms = f.until_ms;
  }
  void operator()(const fact::PodBound& f) const {
    if (f.job == h.job_) add_node(pod_event(JobEventKind::kPodsBound).nodes, f.slot.node);
  }
  void operator()(const fact::PodRunning& f) const {
    if (f.job == h.job_) pod_event(JobEventKind::kPodsRunning);
  }
  void operator()(const fact::DeadlinePassed& f) const {
    if (f.id == h.job_) event(JobEventKind::kDeadlinePassed).attempt = f.attempt;
  }
  void operator()(const fact::PlaceLost& f) const {
    if (f.job == h.job_) pod_event(JobEventKind::kHoldLost, f.cause);
  }
  void operator()(const fact::SchedulerRefused& f) const {
    if (f.id != h.job_) return;
    JobEvent& e = event(JobEventKind::kSchedulerRefused);
    e.pods = 1;
    e.until_ms = f.until_ms;
    e.said.words = f.words;
  }
  void operator()(const fact::NodeBackedOff& f) const {
    if (f.job != h.job_ || f.times == 0) return;
    JobEvent& e = event(JobEventKind::kNodeBackedOff);
    e.nodes = {f.node};
    e.until_ms = f.until_ms;
  }
  void operator()(const fact::ReadyTimedOut& f) const {
    if (f.id != h.job_) return;
    JobEvent& e = event(JobEventKind::kNotReady);
    e.cause = Cause::kNotReady;
    e.pods = 1;
    e.until_ms = f.until_ms;
    e.said.words = f.words;
  }
  void operator()(const fact::JobOverran& f) const {
    if (f.id == h.job_) event(JobEventKind::kOverran).attempt = f.attempt;
  }
  void operator()(const fact::StopAsked& f) const {
    if (f.id != h.job_) return;
    h.attempt_ = f.attempt;
    JobEvent& e = event(JobEventKind::kStopAsked);
    e.state = JobState::kEnding;
    e.cause = f.cause;
    e.until_ms = f.until_ms;
    if (f.cause == Cause::kPreempted && h.claimant_) e.jobs = {h.claimant_};
    stamp(e, f.by);
  }
  void operator()(const fact::EndRefused& f) const {
    if (f.id == h.job_) event(JobEventKind::kEndRefused).attempt = f.attempt;
  }
  void operator()(const fact::PodGone& f) const {
    if (f.job != h.job_) return;
    JobEvent& e = pod_event(JobEventKind::kPodsGone, f.cause);
    if (!e.said.words.empty() || f.rejection.error.empty()) return;
    e.said.words = f.rejection.error;
    if (!f.rejection.words.empty()) e.said.words += ": " + f.rejection.words;
  }
  void operator()(const fact::AttemptEnded& f) const {
    if (f.id != h.job_) return;
    h.claimant_ = JobId();
    h.attempt_ = f.attempt;
    h.ended_ = f.to == JobState::kDone;
    JobEvent& e = event(JobEventKind::kAttemptEnded);
    e.state = f.to;
    e.cause = f.cause;
    e.until_ms = f.until_ms;
  }
};

void JobHistory::add(const Fact& fact) {
  if (fact.seq != 0) std::visit(Adder{*this, fact}, static_cast<const fact::Kinds&>(fact.body));
}

}  // namespace subak::derive
