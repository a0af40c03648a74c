#include "kube/pod.h"

#include <algorithm>
#include <limits>

#include "core/limits.h"
#include "core/names.h"

namespace subak {
namespace {

void read_pairs(json::Value v, TextPairs& pairs, bool& present) {
  present = json::is_object(v);
  json::each_member(
      v, [&](Text key, json::Value value) { pairs.emplace_back(key, json::text(value)); });
}

void read_owner(json::Value owners, Pod& pod) {
  json::each_item(owners, [&](std::size_t, json::Value owner) {
    if (!json::boolean(owner, "controller")) return;
    pod.owner = {json::text(owner, "apiVersion"), json::text(owner, "kind"),
                 json::text(owner, "name"), json::text(owner, "uid")};
  });
}

void read_metadata(json::Value metadata, Pod& pod) {
  pod.has_metadata = json::is_object(metadata);
  json::each_member(metadata, [&](Text key, json::Value value) {
    if (key == "uid") pod.uid = json::text(value);
    if (key == "namespace") pod.ns = json::text(value);
    if (key == "name") pod.name = json::text(value);
    if (key == "resourceVersion") pod.resource_version = json::text(value);
    if (key == "creationTimestamp") pod.created_at = json::text(value);
    if (key == "deletionTimestamp") pod.deleted_at = json::text(value);
    if (key == "deletionGracePeriodSeconds") pod.grace_s = json::integer(value);
    if (key == "generateName") pod.generate_name = json::text(value);
    if (key == "labels") read_pairs(value, pod.labels, pod.has_labels);
    if (key == "annotations") read_pairs(value, pod.annotations, pod.has_annotations);
    if (key == "ownerReferences") read_owner(value, pod);
  });
}

void read_host_paths(json::Value volumes, Pod& pod) {
  json::each_item(volumes, [&](std::size_t, json::Value volume) {
    const auto host = json::member(volume, "hostPath");
    if (!host) return;
    const Text path = json::text(*host, "path");
    if (pod.nvidia_host_path.empty() && shows_gpus(path)) pod.nvidia_host_path = path;
  });
}

// Splits a path into names; "." and doubled slashes are dropped, ".." removes one name.
std::vector<Text> path_parts(Text path) {
  std::vector<Text> parts;
  while (!path.empty()) {
    const Text part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return parts;
}

// "/proc/1/root", "/proc/self/fd/3": links of the kernel that lead anywhere.
bool leads_elsewhere(const std::vector<Text>& parts) {
  if (parts.size() < 3 || parts[0] != "proc") return false;
  return std::any_of(parts.begin() + 2, parts.end(),
                     [](Text part) { return part == "root" || part == "cwd" || part == "fd"; });
}

std::int32_t to_int32(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

DurationMs grace(std::int64_t seconds) {
  return std::clamp<std::int64_t>(seconds, 0, limits::kMaxTimeLimitMs / kSecondMs) * kSecondMs;
}

void read_spec(json::Value spec, Pod& pod) {
  json::each_member(spec, [&](Text key, json::Value value) {
    if (key == "nodeName") pod.node_name = json::text(value);
    if (key == "schedulerName") pod.scheduler_name = json::text(value);
    if (key == "runtimeClassName") pod.runtime_class = json::text(value);
    if (key == "priority") {
      pod.kube_priority.value = to_int32(json::integer(value));
      pod.kube_priority.has_value = true;
    }
    if (key == "priorityClassName") pod.kube_priority.class_name = json::text(value);
    if (key == "preemptionPolicy") pod.kube_priority.has_policy = true;
    if (key == "terminationGracePeriodSeconds") pod.grace_ms = grace(json::integer(value));
    if (key == "volumes") read_host_paths(value, pod);
    if (key == "nodeSelector") pod.has_node_selector = json::is_object(value);
    if (key == "schedulingGroup") pod.scheduling_group.name = json::text(value, "podGroupName");
    if (key == "workloadRef") {
      pod.scheduling_group = {json::text(value, "name"), json::text(value, "podGroup"),
                              json::text(value, "podGroupReplicaKey")};
    }
    if (key != "schedulingGates") return;
    pod.has_gates = value.is_array();
    json::each_item(value, [&](std::size_t, json::Value gate) {
      pod.gates.push_back(json::text(gate, "name"));
    });
  });
}

bool is_listed(Text name, const std::vector<std::string>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

Text find_text(const TextPairs& pairs, Text key) {
  for (const auto& [k, v] : pairs) {
    if (k == key) return v;
  }
  return {};
}

bool has_key(const TextPairs& pairs, Text key) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == key; });
}

bool shows_gpus(std::string_view host_path) {
  if (host_path.empty()) return false;
  const std::vector<Text> parts = path_parts(host_path);
  if (parts.empty() || leads_elsewhere(parts)) return true;
  if (parts[0] != "dev") return false;
  // /dev/char has a link to each device by its numbers.
  return parts.size() == 1 || parts[1].starts_with("nvidia") || parts[1] == "char";
}

void Pod::add_mistake(Error mistake) {
  if (mistakes.size() < limits::kMaxMistakes) {
    mistakes.push_back(std::move(mistake));
  } else {
    ++more_mistakes;
  }
}

bool Pod::gated() const {
  return std::find(gates.begin(), gates.end(), names::kGate) != gates.end();
}

Pod read_pod(json::Value value, const ExtraGpuResources& extra, std::string_view path,
             std::string_view ns) {
  Pod pod;
  pod.ns = ns;
  std::optional<json::Value> spec;
  json::each_member(value, [&](Text key, json::Value part) {
    if (key == "metadata") read_metadata(part, pod);
    if (key == "spec" && json::is_object(part)) spec = part;
    if (key == "status") read_status(part, pod.status);
  });
  if (!spec) return pod;
  read_spec(*spec, pod);
  read_resources(*spec, extra, path, pod);
  find_keys(pod);
  // Only pods that may take GPUs need the rest.
  if (!pod.asks_gpu() && pod.mistakes.empty() && pod.claims.device.empty()) return pod;
  read_constraints(*spec, pod);
  read_keys(path, pod);
  leave_out_spread(pod);
  read_gang(path, pod);
  check_pod_bounds(path, pod);
  return pod;
}

const std::vector<std::string>& default_other_schedulers() {
  static const std::vector<std::string> list{"kai-scheduler",   "volcano",
                                             "yunikorn",        "runai-scheduler",
                                             "koord-scheduler", "godel-scheduler"};
  return list;
}

std::string_view other_manager_of(const Pod& pod, const std::vector<std::string>& schedulers) {
  if (is_listed(pod.scheduler_name, schedulers)) return "schedulerName";
  for (const std::string_view key :
       {std::string_view("kueue.x-k8s.io/queue-name"), std::string_view("kueue.x-k8s.io/managed"),
        std::string_view("kai.scheduler/queue"), std::string_view("runai/queue"),
        std::string_view("yunikorn.apache.org/queue")}) {
    if (has_key(pod.labels, key)) return key;
  }
  for (const std::string_view key : {std::string_view("scheduling.volcano.sh/queue-name"),
                                     std::string_view("yunikorn.apache.org/task-groups")}) {
    if (has_key(pod.annotations, key)) return key;
  }
  for (const Text gate : pod.gates) {
    if (gate == "kueue.x-k8s.io/admission") return "kueue.x-k8s.io/admission";
    if (gate == "kai.scheduler/queue-admission") return "kai.scheduler/queue-admission";
  }
  return {};
}

Result<PodRecord> pod_record_from_json(std::string_view text) {
  simdjson::dom::parser parser;
  json::Value root;
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS || !json::is_object(root)) {
    return Error{ErrorCode::kInvalid, "pod", "", "want a pod in JSON"};
  }
  Pod pod = read_pod(root, {});
  hold_unsized(pod);
  return pod_record(pod, !other_manager_of(pod, default_other_schedulers()).empty());
}

}  // namespace subak
