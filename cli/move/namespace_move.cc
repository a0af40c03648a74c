#include "cli/move/namespace_move.h"

#include <algorithm>
#include <set>

#include "cli/setup/leave.h"
#include "core/names.h"

namespace subak::cli {
namespace {

constexpr std::size_t kShown = 5;

std::string count(std::size_t n, const std::string& of) {
  return std::to_string(n) + " " + of + (n == 1 ? "" : "s");
}

// "3 pods: a, b, c"; longer lists are cut.
template <class T, class F>
std::string listed(const std::vector<T>& all, const std::string& of, F&& name) {
  std::string out = count(all.size(), of);
  for (std::size_t i = 0; i < all.size() && i < kShown; ++i)
    out += (i == 0 ? ": " : ", ") + name(all[i]);
  if (all.size() > kShown) out += " and " + std::to_string(all.size() - kShown) + " more";
  return out;
}

std::string same(const std::string& text) { return text; }

bool waits_in_kueue(const WaitingOwner& owner) {
  return owner.suspended && owner.mark.empty() && !owner.queue.empty();
}

// An owner that waits in Subak: Subak suspended it, or all its pods wait behind the gate.
bool waits_in_subak(const MovingNamespace& facts, const WaitingOwner& owner) {
  if (!owner.mark.empty()) return true;
  return std::any_of(facts.of_subak.begin(), facts.of_subak.end(),
                     [&](const GatedPod& pod) { return pod.owner == owner.uid; });
}

std::vector<WaitingOwner> going(const MovingNamespace& facts, bool back) {
  std::vector<WaitingOwner> out;
  for (const WaitingOwner& owner : facts.owners) {
    const bool goes =
        back ? waits_in_subak(facts, owner) && !(owner.queue.empty() && owner.queue_before.empty())
             : waits_in_kueue(owner);
    if (goes) out.push_back(owner);
  }
  return out;
}

std::vector<GatedPod> bare(const std::vector<GatedPod>& pods) {
  std::vector<GatedPod> out;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(out),
               [](const GatedPod& pod) { return !pod.is_made; });
  return out;
}

std::string json_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

using Pairs = std::vector<std::pair<std::string_view, std::string>>;

// Returns "MAP":{"KEY":"VALUE",...}. An empty value removes the key.
std::string map_of(std::string_view map, const Pairs& pairs) {
  std::string out = json_text(map) + ":{";
  for (const auto& [key, value] : pairs) {
    if (out.back() != '{') out += ",";
    out += json_text(key) + ":" + (value.empty() ? "null" : json_text(value));
  }
  return out + "}";
}

// Returns a merge patch with this map, without its last brace.
std::string metadata(std::string_view map, const Pairs& pairs) {
  return R"({"metadata":{)" + map_of(map, pairs) + "}";
}

std::string labels_and_notes(const Pairs& labels, const Pairs& notes) {
  return R"({"metadata":{)" + map_of("labels", labels) + "," + map_of("annotations", notes) + "}}";
}

// A change of the object. An object that is gone is no error.
std::optional<Error> merge(KubeCaller& api, const std::string& path, std::string body) {
  const auto reply = api.call({"PATCH", path, std::move(body), "application/merge-patch+json"});
  if (reply.done() || reply.answer.outcome == Outcome::kNotFound) return std::nullopt;
  return error_of("PATCH " + path, reply.answer);
}

// Returns the last member of a merge patch, and the end of the patch.
std::string suspension(const WaitingOwner& owner, bool suspend) {
  return R"("spec":)" + suspension_patch(owner.field, suspend) + "}";
}

void report_to_subak(const MovingNamespace& facts, const std::string& account, MoveReport& out) {
  for (const LocalQueue& queue : facts.queues) {
    const std::string policy = queue.stop_policy.empty() ? "None" : queue.stop_policy;
    out.lines.push_back("LocalQueue " + queue.name + " of ClusterQueue " + queue.cluster_queue +
                        ": stopPolicy " + policy +
                        (queue.is_held_by_us ? ", set by this move" : ""));
  }
  if (!facts.running.empty())
    out.lines.push_back("runs in Kueue: " + listed(facts.running, "workload", same));
  if (facts.waiting_workloads > 0)
    out.lines.push_back("waits in Kueue: " + count(facts.waiting_workloads, "workload"));
  for (const WaitingOwner& owner : going(facts, false))
    out.lines.push_back(owner.what + " waits in queue " + owner.queue + ": Subak queues it");
  for (const std::string& name : facts.classes)
    out.lines.push_back("priority class " + name +
                        ": pods need a class of this name in the policy (priorityClasses)");
  for (const std::string& check : facts.checks)
    out.without_equivalent.push_back("admission check " + check);
  out.without_equivalent.insert(out.without_equivalent.end(), facts.without_equivalent.begin(),
                                facts.without_equivalent.end());
  if (account.empty()) {
    out.blockers.push_back("no account names the namespace: subak account set PATH --namespaces " +
                           facts.ns + ", beside those that the account has");
  } else {
    out.lines.push_back("account: " + account);
  }
  if (const auto pods = bare(facts.of_kueue); !pods.empty()) {
    out.blockers.push_back(listed(pods, "pod", [](const GatedPod& pod) { return pod.name; }) +
                           " with Kueue's gate and without a controller: delete them, and create "
                           "them again after the move");
  }
  for (const std::string& where : facts.still_watched_by) {
    out.blockers.push_back("Kueue would suspend new jobs here (" + where +
                           "): set managedJobsNamespaceSelector so that it leaves out " +
                           std::string(names::kManaged) + R"(: "true")");
  }
}

void report_back(const MovingNamespace& facts, MoveReport& out) {
  if (facts.queues.empty()) {
    out.blockers.emplace_back("the namespace has no LocalQueue of Kueue: create one first");
  }
  for (const LocalQueue& queue : facts.queues) {
    if (!queue.is_held_by_us) continue;
    out.lines.push_back("LocalQueue " + queue.name + " gets its stopPolicy " + queue.policy_before +
                        " again");
  }
  if (!facts.started_by_subak.empty())
    out.lines.push_back("runs in Subak: " + listed(facts.started_by_subak, "pod", same));
  std::set<std::string> moved;
  for (const WaitingOwner& owner : going(facts, true)) {
    moved.insert(owner.uid);
    out.lines.push_back(owner.what + " waits in Subak: Kueue queues it in " +
                        (owner.queue.empty() ? owner.queue_before : owner.queue));
  }
  std::vector<GatedPod> rest;
  std::copy_if(facts.of_subak.begin(), facts.of_subak.end(), std::back_inserter(rest),
               [&](const GatedPod& pod) { return !moved.contains(pod.owner); });
  if (!rest.empty()) {
    out.without_equivalent.push_back(
        listed(rest, "pod", [](const GatedPod& pod) { return pod.name; }) +
        " of no queue of Kueue: their gates are opened, and they start without a queue");
  }
}

}  // namespace

MoveReport report_move(const MovingNamespace& facts, const std::string& account, bool back) {
  MoveReport out;
  out.lines.push_back("label " + std::string(names::kManaged) + ": " +
                      (facts.managed.empty() ? "none" : facts.managed));
  back ? report_back(facts, out) : report_to_subak(facts, account, out);
  return out;
}

std::vector<std::string> left_to_drain(const MovingNamespace& facts, bool back) {
  if (back) return facts.started_by_subak;
  std::vector<std::string> left = facts.running;
  left.insert(left.end(), facts.of_other_schedulers.begin(), facts.of_other_schedulers.end());
  return left;
}

std::optional<Error> hold_queues(KubeCaller& api, const MovingNamespace& facts) {
  for (const LocalQueue& queue : facts.queues) {
    if (queue.is_held_by_us) continue;
    const std::string before = queue.stop_policy.empty() ? "None" : queue.stop_policy;
    // HoldAndDrain would end what runs; a queue with this policy keeps it.
    const std::string policy = before == "None" ? "Hold" : before;
    if (auto error = merge(api, queue.path,
                           metadata("annotations", {{kPolicyBefore, before}}) +
                               R"(,"spec":{"stopPolicy":)" + json_text(policy) + "}}")) {
      return error;
    }
  }
  return std::nullopt;
}

std::optional<Error> open_queues(KubeCaller& api, const MovingNamespace& facts) {
  for (const LocalQueue& queue : facts.queues) {
    if (!queue.is_held_by_us) continue;
    const std::string policy = queue.policy_before.empty() ? "None" : queue.policy_before;
    if (auto error = merge(api, queue.path,
                           metadata("annotations", {{kPolicyBefore, ""}}) +
                               R"(,"spec":{"stopPolicy":)" + json_text(policy) + "}}")) {
      return error;
    }
  }
  return std::nullopt;
}

std::optional<Error> set_managed(KubeCaller& api, const std::string& ns, bool managed) {
  return merge(api, "/api/v1/namespaces/" + ns,
               metadata("labels", {{names::kManaged, managed ? "true" : ""}}) + "}");
}

// Kueue allows no change of the queue's name on a job that runs. So the name goes first.
std::optional<Error> give_to_subak(KubeCaller& api, const MovingNamespace& facts) {
  for (const WaitingOwner& owner : going(facts, false)) {
    if (auto error = merge(api, owner.path,
                           labels_and_notes({{kQueueName, ""}}, {{kQueueBefore, owner.queue}}))) {
      return error;
    }
  }
  for (const WaitingOwner& owner : facts.owners) {
    const bool mine = waits_in_kueue(owner) ||
                      (owner.suspended && owner.mark.empty() && !owner.queue_before.empty());
    if (!mine) continue;
    if (auto error = merge(api, owner.path, "{" + suspension(owner, false))) return error;
  }
  for (const GatedPod& pod : facts.of_kueue) {
    if (!pod.is_made) continue;
    if (auto error = delete_pod(api, {pod.ns, pod.name, "", pod.owner, true})) return error;
  }
  return std::nullopt;
}

// Kueue takes a suspended owner with a queue's name. So it is suspended first.
std::optional<Error> give_to_kueue(KubeCaller& api, const MovingNamespace& facts) {
  std::set<std::string> moved;
  for (const WaitingOwner& owner : going(facts, true)) {
    moved.insert(owner.uid);
    if (auto error = merge(
            api, owner.path,
            metadata("annotations", {{names::kSuspendedBy, ""}}) + "," + suspension(owner, true))) {
      return error;
    }
    const std::string queue = owner.queue.empty() ? owner.queue_before : owner.queue;
    if (auto error =
            merge(api, owner.path, labels_and_notes({{kQueueName, queue}}, {{kQueueBefore, ""}}))) {
      return error;
    }
  }
  for (const WaitingOwner& owner : facts.owners) {
    if (owner.mark.empty() || moved.contains(owner.uid)) continue;
    if (auto error = resume_owner(api, {owner.path, owner.mark != "cancelled", {}, owner.field}))
      return error;
  }
  for (const GatedPod& pod : facts.of_subak) {
    if (moved.contains(pod.owner)) continue;
    if (auto error = release_pod(api, {pod.ns, pod.name, "", pod.owner, pod.is_made})) return error;
  }
  return std::nullopt;
}

}  // namespace subak::cli
