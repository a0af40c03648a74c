// The status of a pod in the cluster, and the record for the engine. The clocks: a bind has the
// scheduler's time, start and end of a container the node's.
#include <algorithm>
#include <array>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/printable.h"
#include "kube/pod.h"

namespace subak {
namespace {

// Returns the exit code of a container that has ended; -1: not known.
std::int64_t exit_code(json::Value ended) {
  const auto code = json::member(ended, "exitCode");
  return code ? json::integer(*code, -1) : -1;
}

// Reads the containers of one list. Init containers count too, because a sidecar may end last. The
// times have one form, so they can be compared as texts.
void read_containers(json::Value containers, bool main, PodStatus& out) {
  json::each_item(containers, [&](std::size_t, json::Value container) {
    out.has_started = true;
    const auto state = json::member(container, "state");
    const auto runs = state ? json::member(*state, "running") : std::nullopt;
    const Text since = runs ? json::text(*runs, "startedAt") : Text();
    if (!since.empty() && (out.running_at.empty() || since < out.running_at))
      out.running_at = since;
    const auto ended = state ? json::member(*state, "terminated") : std::nullopt;
    if (ended) out.finished_at = std::max(out.finished_at, json::text(*ended, "finishedAt"));
    if (ended && main && exit_code(*ended) == 0) out.partly_done = true;
    const auto waits = state ? json::member(*state, "waiting") : std::nullopt;
    // A main container that waits for the init containers says nothing.
    if (!waits || json::text(*waits, "reason") == "PodInitializing") return;
    if (!out.waiting.reason.empty() && main) return;
    out.waiting.container = json::text(container, "name");
    out.waiting.reason = json::text(*waits, "reason");
    out.waiting.message = json::text(*waits, "message");
  });
}

void read_condition(json::Value condition, PodStatus& out) {
  const Text type = json::text(condition, "type");
  const bool holds = json::text(condition, "status") == "True";
  const Text reason = json::text(condition, "reason");
  if (type == "DisruptionTarget" && holds) out.disrupted = reason;
  if (type == "Ready" && !holds) {
    out.unready.since = json::text(condition, "lastTransitionTime");
    out.unready.reason = reason;
    out.unready.message = json::text(condition, "message");
  }
  if (type != "PodScheduled") return;
  if (holds) out.scheduled_at = json::text(condition, "lastTransitionTime");
  if (!holds && reason == "Unschedulable") {
    out.unschedulable = json::text(condition, "message");
    if (out.unschedulable.empty()) out.unschedulable = reason;
  }
}

// Returns why a pod in phase Failed has ended. A kubelet that rejects a pod (admission: OutOfcpu,
// UnexpectedAdmissionError, TopologyAffinityError, NodeAffinity, ...) reports it for a pod without
// any created container.
// Source: k8s.io/api core/v1, conditions of type DisruptionTarget.
Cause cause_of_failure(const PodStatus& status) {
  if (status.disrupted == "PreemptionByScheduler") return Cause::kPreempted;
  if (status.disrupted == "DeletionByTaintManager" || status.disrupted == "DeletionByPodGC") {
    return Cause::kNodeLost;
  }
  if (status.disrupted == "EvictionByEvictionAPI" || status.disrupted == "TerminationByKubelet") {
    return Cause::kEvicted;
  }
  constexpr std::array<Text, 3> kOfRunning{"", "Evicted", "DeadlineExceeded"};
  const bool ran =
      std::find(kOfRunning.begin(), kOfRunning.end(), status.reason) != kOfRunning.end();
  return ran || status.has_started ? Cause::kFailed : Cause::kRejected;
}

// Returns 0 if the text is empty or not a time.
TimeMs time_of(Text text) {
  if (text.empty()) return 0;
  const auto at = parse_time(text, "");
  return at ? *at : 0;
}

void set_end(const Pod& pod, PodRecord& r) {
  if (pod.status.phase == "Succeeded") r.ended = Cause::kFinished;
  if (pod.status.phase == "Failed") r.ended = cause_of_failure(pod.status);
  if (r.ended == Cause::kRejected) {
    r.rejection.error = shortened(one_line(pod.status.reason), limits::kMaxNameBytes);
    r.rejection.words =
        cut_text(one_line(pod.status.message), limits::kMaxTextBytes - kCutNoteBytes);
  }
  if (r.ended != Cause::kNone) {
    r.ended_at_ms = time_of(pod.status.finished_at);
  } else if (!pod.deleted_at.empty() && pod.node_name.empty()) {
    r.ended = Cause::kCancelled;
    const TimeMs gone = time_of(pod.deleted_at);
    const TimeMs grace = std::clamp<std::int64_t>(pod.grace_s, 0, gone / kSecondMs) * kSecondMs;
    r.ended_at_ms = gone - grace;
  }
}

// Returns the one node that all terms of its required affinity name; empty if there is none.
std::string pinned_to(const PodShape& shape) {
  std::string node;
  for (const AffinityTerm& term : shape.affinity) {
    if (term.requirements.empty()) continue;  // accepts no node
    const auto pin = std::find_if(
        term.requirements.rbegin(), term.requirements.rend(), [](const Requirement& r) {
          return r.key == "metadata.name" && r.op == "In" && r.values.size() == 1;
        });
    if (pin == term.requirements.rend()) return {};
    if (!node.empty() && node != pin->values[0]) return {};
    node = pin->values[0];
  }
  return node;
}

}  // namespace

void read_status(json::Value status, PodStatus& out) {
  json::each_member(status, [&](Text key, json::Value value) {
    if (key == "phase") out.phase = json::text(value);
    if (key == "reason") out.reason = json::text(value);
    if (key == "message") out.message = json::text(value);
    if (key.ends_with("ontainerStatuses")) read_containers(value, key == "containerStatuses", out);
    if (key != "conditions") return;
    json::each_item(value,
                    [&](std::size_t, json::Value condition) { read_condition(condition, out); });
  });
}

std::string why_not_ready(const PodStatus& status) {
  const bool over = status.phase == "Succeeded" || status.phase == "Failed";
  if (status.unready.since.empty() || over || status.partly_done) return {};
  std::string words;
  const auto add = [&words](Text part) {
    if (!part.empty()) words += (words.empty() ? "" : ": ") + std::string(part);
  };
  if (!status.waiting.reason.empty()) {
    words = "container " + std::string(status.waiting.container) + " waits";
    add(status.waiting.reason);
    add(status.waiting.message);
  } else {
    add(status.unready.reason);
    add(status.unready.message);
  }
  if (words.empty()) words = "its condition Ready does not hold";
  return cut_text(one_line(words), limits::kMaxRefusalBytes - kCutNoteBytes);
}

PodRecord pod_record(const Pod& pod, bool other_manager) {
  PodRecord r;
  r.uid = pod.uid;
  r.ns = pod.ns;
  r.name = pod.name;
  r.account = pod.keys.account.value;
  r.user = pod.keys.user.value;
  r.gang = pod.gang.id;
  r.owner = pod.gang.owner;
  r.gang_size = pod.gang.unsized ? 0 : pod.gang.size;
  r.owners.size_of_owner = pod.gang.size_of_owner;
  r.replaced_alone = pod.gang.replaced_alone;
  r.rank = pod.gang.rank;
  r.shape = pod.shape;
  r.terms = pod.terms;
  r.priority = pod.kube_priority.order();
  if (const Text text = pod.keys.priority.value; text.size() <= limits::kMaxNameBytes)
    r.priority_class = text;
  r.time_limit_ms = pod.time_limit_ms;
  r.grace_ms = pod.grace_ms;
  r.gated = pod.gated();
  // For a pod without a gang, the owner matters only while the pod waits for its turn.
  if (r.gang.empty() && r.gated) {
    r.owner = shortened(std::string(pod.owner.uid), limits::kMaxNameBytes);
  }
  r.foreign_gates = std::any_of(pod.gates.begin(), pod.gates.end(),
                                [](Text gate) { return gate != names::kGate; });
  r.controlled = !pod.owner.kind.empty();
  r.other_manager = other_manager && !r.gated;
  if (!r.gated) r.let_go_to = pinned_to(r.shape);
  r.node = pod.node_name;
  if (!r.node.empty()) {  // it is on its node, whatever its affinity says
    r.shape.node_selector.clear();
    r.shape.affinity.clear();
    r.shape.tolerations.clear();
    r.shape.products.clear();
  }
  r.created_at_ms = time_of(pod.created_at);
  r.running = pod.status.phase == "Running";
  if (r.running) r.running_at_ms = time_of(pod.status.running_at);
  set_end(pod, r);
  r.bound_at_ms = time_of(pod.status.scheduled_at);
  return r;
}

}  // namespace subak
