// Sources of the names: kubernetes-sigs/kueue apis/kueue/v1beta1 and v1beta2, pkg/controller/constants.
#include "cli/move/namespace_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/names.h"
#include "kube/owners/kinds.h"
#include "kube/pod.h"

namespace subak::cli {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io/";
constexpr std::string_view kClassName = "kueue.x-k8s.io/priority-class";
constexpr std::string_view kKueueGate = "kueue.x-k8s.io/admission";
constexpr std::array<std::string_view, 2> kVersions{"v1beta2", "v1beta1"};
// Keys of Kueue that the webhook or the edge reads, or that only Kueue writes.
constexpr std::array<std::string_view, 15> kKnown{kQueueName,
                                                  kClassName,
                                                  "kueue.x-k8s.io/max-exec-time-seconds",
                                                  "kueue.x-k8s.io/podset-required-topology",
                                                  "kueue.x-k8s.io/podset-preferred-topology",
                                                  "kueue.x-k8s.io/pod-group-name",
                                                  "kueue.x-k8s.io/pod-group-total-count",
                                                  "kueue.x-k8s.io/pod-group-pod-index",
                                                  "kueue.x-k8s.io/pod-group-pod-index-label",
                                                  "kueue.x-k8s.io/pod-group-fast-admission",
                                                  "kueue.x-k8s.io/pod-group-serving",
                                                  "kueue.x-k8s.io/managed",
                                                  "kueue.x-k8s.io/podset",
                                                  "kueue.x-k8s.io/workload",
                                                  "kueue.x-k8s.io/role-hash"};
constexpr std::array<std::string_view, 3> kOfKai{"gpu-fraction", "gpu-memory",
                                                 "gpu-fraction-num-devices"};

std::optional<json::Value> inside(json::Value object, std::string_view outer,
                                  std::string_view inner) {
  const auto found = json::member(object, outer);
  return found ? json::member(*found, inner) : std::nullopt;
}

std::string name_of(json::Value object) {
  return std::string(json::text_in(object, "metadata", "name"));
}

std::string note_of(json::Value object, std::string_view key) {
  const auto notes = inside(object, "metadata", "annotations");
  return notes ? std::string(json::text(*notes, key)) : std::string();
}

std::string label_of(json::Value object, std::string_view key) {
  const auto labels = inside(object, "metadata", "labels");
  return labels ? std::string(json::text(*labels, key)) : std::string();
}

bool has_condition(json::Value object, std::string_view type) {
  const auto conditions = inside(object, "status", "conditions");
  bool holds = false;
  if (!conditions) return false;
  json::each_item(*conditions, [&](std::size_t, json::Value one) {
    if (json::text(one, "type") == type) holds = json::text(one, "status") == "True";
  });
  return holds;
}

class NamespaceReader {
 public:
  NamespaceReader(KubeCaller& api, MovingNamespace& out) : api_(api), out_(out) {}

  std::optional<Error> read() {
    if (auto error = read_labels()) return error;
    for (const std::string_view version : kVersions) {
      if (has_kueue_) break;
      if (auto error = read_kueue(version)) return error;
    }
    for (const OwnerKindRow& row : owner_kinds()) {
      if (row.is_group) continue;
      if (auto error = read_owners(row)) return error;
    }
    if (auto error = each("/api/v1", "pods", [&](json::Value pod) { take_pod(pod); })) return error;
    return read_configurations();
  }

 private:
  // Calls `take` for each object of the kind in the namespace. A kind that does not exist is empty.
  template <class F>
  std::optional<Error> each(const std::string& group, std::string_view plural, F&& take,
                            bool* exists = nullptr) {
    const std::string path = group + "/namespaces/" + out_.ns + "/" + std::string(plural);
    const auto error = api_.list(path, "", take);
    if (exists != nullptr) *exists = !error;
    return error && error->code == ErrorCode::kNotFound ? std::nullopt : error;
  }

  std::optional<Error> read_labels() {
    const std::string path = "/api/v1/namespaces/" + out_.ns;
    const auto reply = api_.get(path);
    if (!reply.done()) return error_of("GET " + path, reply.answer);
    json::Value object;
    if (parser_.parse(reply.body).get(object) != simdjson::SUCCESS) return std::nullopt;
    out_.managed = label_of(object, names::kManaged);
    out_.account = label_of(object, names::kAccount);
    return std::nullopt;
  }

  std::optional<Error> read_kueue(std::string_view version) {
    const std::string group = "/apis/kueue.x-k8s.io/" + std::string(version);
    std::set<std::string> cluster_queues;
    const auto take_queue = [&](json::Value queue) {
      LocalQueue& one = out_.queues.emplace_back();
      one.name = name_of(queue);
      one.path = group + "/namespaces/" + out_.ns + "/localqueues/" + one.name;
      one.cluster_queue = json::text_in(queue, "spec", "clusterQueue");
      one.stop_policy = json::text_in(queue, "spec", "stopPolicy");
      const auto notes = inside(queue, "metadata", "annotations");
      one.is_held_by_us = notes && json::member(*notes, kPolicyBefore);
      one.policy_before = note_of(queue, kPolicyBefore);
      cluster_queues.insert(one.cluster_queue);
    };
    if (auto error = each(group, "localqueues", take_queue, &has_kueue_)) return error;
    if (!has_kueue_) return std::nullopt;
    if (auto error = each(group, "workloads", [&](json::Value v) { take_workload(v); }))
      return error;
    const auto error = api_.list(group + "/clusterqueues", "", [&](json::Value queue) {
      if (cluster_queues.contains(name_of(queue))) take_checks(queue);
    });
    return error && error->code == ErrorCode::kNotFound ? std::nullopt : error;
  }

  void take_checks(json::Value queue) {
    const auto add = [&](std::string_view name) {
      if (!name.empty()) out_.checks.insert(std::string(name) + " of " + name_of(queue));
    };
    if (const auto list = inside(queue, "spec", "admissionChecks"))
      json::each_item(*list, [&](std::size_t, json::Value one) { add(json::text(one)); });
    const auto strategy = inside(queue, "spec", "admissionChecksStrategy");
    const auto rules = strategy ? json::member(*strategy, "admissionChecks") : std::nullopt;
    if (rules)
      json::each_item(*rules, [&](std::size_t, json::Value one) { add(json::text(one, "name")); });
  }

  void take_workload(json::Value workload) {
    if (has_condition(workload, "Finished")) return;
    if (!has_condition(workload, "Admitted") && !has_condition(workload, "QuotaReserved")) {
      ++out_.waiting_workloads;
      return;
    }
    std::string name = "Workload/" + name_of(workload);
    if (const auto owners = inside(workload, "metadata", "ownerReferences")) {
      json::each_item(*owners, [&](std::size_t, json::Value owner) {
        name =
            std::string(json::text(owner, "kind")) + "/" + std::string(json::text(owner, "name"));
      });
    }
    out_.running.push_back(std::move(name));
  }

  std::optional<Error> read_owners(const OwnerKindRow& row) {
    for (const std::string_view version : row.versions) {
      if (version.empty()) continue;
      const std::string group = "/apis/" + std::string(row.group) + "/" + std::string(version);
      bool exists = false;
      const auto take = [&](json::Value owner) { take_owner(row, group, owner); };
      if (auto error = each(group, row.plural, take, &exists)) return error;
      if (exists) break;
    }
    return std::nullopt;
  }

  void take_owner(const OwnerKindRow& row, const std::string& group, json::Value object) {
    WaitingOwner owner;
    owner.path =
        group + "/namespaces/" + out_.ns + "/" + std::string(row.plural) + "/" + name_of(object);
    owner.what = std::string(row.name) + " " + name_of(object);
    take_marks(object, owner.what);
    owner.queue = label_of(object, kQueueName);
    owner.queue_before = note_of(object, kQueueBefore);
    owner.mark = note_of(object, names::kSuspendedBy);
    owner.uid = json::text_in(object, "metadata", "uid");
    owner.field = row.suspend;
    const auto spec = json::member(object, "spec");
    owner.suspended = spec && is_suspended(row, *spec);
    const bool over = has_condition(object, "Complete") || has_condition(object, "Failed") ||
                      has_condition(object, "Completed") || has_condition(object, "Succeeded");
    const bool concerned =
        !owner.queue.empty() || !owner.queue_before.empty() || !owner.mark.empty();
    if (concerned && !over) out_.owners.push_back(std::move(owner));
  }

  void take_marks(json::Value object, const std::string& what) {
    for (const std::string_view map : {"labels", "annotations"}) {
      const auto pairs = inside(object, "metadata", map);
      if (!pairs) continue;
      json::each_member(*pairs, [&](std::string_view key, json::Value value) {
        if (key == kClassName) out_.classes.emplace(json::text(value));
        const bool of_kai = std::find(kOfKai.begin(), kOfKai.end(), key) != kOfKai.end();
        const bool unknown =
            key.starts_with(kKueue) && std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end();
        if (of_kai || unknown) out_.without_equivalent.insert(std::string(key) + " on " + what);
      });
    }
    if (json::text_in(object, "spec", "managedBy").starts_with(kKueue))
      out_.without_equivalent.insert("spec.managedBy on " + what);
  }

  void take_pod(json::Value object) {
    const std::string_view phase = json::text_in(object, "status", "phase");
    if (phase == "Succeeded" || phase == "Failed") return;
    const Pod pod = read_pod(object, {});
    const bool is_made = !pod.owner.uid.empty();
    const GatedPod gated{out_.ns, std::string(pod.name), std::string(pod.owner.uid), is_made};
    if (pod.gated()) out_.of_subak.push_back(gated);
    if (std::find(pod.gates.begin(), pod.gates.end(), kKueueGate) != pod.gates.end())
      out_.of_kueue.push_back(gated);
    if (!is_made) take_marks(object, "Pod " + gated.name);
    if (!pod.asks_gpu() || pod.node_name.empty()) return;
    const Text other = pod.scheduler_name;
    if (has_key(pod.annotations, names::kStatus)) {
      out_.started_by_subak.push_back(gated.name);
    } else if (!other.empty() && other != "default-scheduler") {
      out_.of_other_schedulers.push_back(gated.name + " (" + std::string(other) + ")");
    }
  }

  // Kueue acts on new objects of a namespace unless its configuration leaves the namespace out.
  std::optional<Error> read_configurations() {
    const auto error = api_.list("/api/v1/namespaces/kueue-system/configmaps", "",
                                 [&](json::Value map) { take_configuration(map); });
    if (error && error->code != ErrorCode::kNotFound) return error;
    return std::nullopt;
  }

  void take_configuration(json::Value map) {
    const auto data = json::member(map, "data");
    if (!data) return;
    json::each_member(*data, [&](std::string_view key, json::Value value) {
      const std::string_view text = json::text(value);
      const bool of_kueue = text.find("config.kueue.x-k8s.io/") != std::string_view::npos;
      if (!of_kueue || text.find(names::kManaged) != std::string_view::npos) return;
      out_.still_watched_by.push_back("ConfigMap kueue-system/" + name_of(map) + ", " +
                                      std::string(key));
    });
  }

  KubeCaller& api_;
  MovingNamespace& out_;
  json::Parser parser_;
  bool has_kueue_ = false;
};

}  // namespace

Result<MovingNamespace> read_namespace(KubeCaller& api, const std::string& ns) {
  MovingNamespace facts;
  facts.ns = ns;
  if (auto error = NamespaceReader(api, facts).read()) return *error;
  return facts;
}

}  // namespace subak::cli
