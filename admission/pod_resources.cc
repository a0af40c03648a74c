// The effective request of a pod, as kube-scheduler computes it: for each resource the larger of
//   all containers and sidecars together, and
//   each ordinary init container together with the sidecars declared before it,
// plus the overhead. Pod-level resources replace the sum for CPU and memory.
// Source: k8s.io/component-helpers resource/helpers.go (PodRequests).
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "admission/pod.h"
#include "admission/quantity.h"
#include "core/limits.h"
#include "core/names.h"

namespace subak {
namespace {

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// Amounts per resource; CPU in milli.
struct Amounts {
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  std::vector<std::pair<Text, std::int64_t>> others;

  std::int64_t& other(Text name) {
    for (auto& [n, amount] : others) {
      if (n == name) return amount;
    }
    return others.emplace_back(name, 0).second;
  }
  void plus(const Amounts& o) {
    cpu_milli = add(cpu_milli, o.cpu_milli);
    memory_bytes = add(memory_bytes, o.memory_bytes);
    for (const auto& [name, amount] : o.others) other(name) = add(other(name), amount);
  }
  void raise_to(const Amounts& o) {
    cpu_milli = std::max(cpu_milli, o.cpu_milli);
    memory_bytes = std::max(memory_bytes, o.memory_bytes);
    for (const auto& [name, amount] : o.others) other(name) = std::max(other(name), amount);
  }
};

// A quantity as JSON has it: a string, or a number that somebody wrote by hand.
struct Amount {
  std::optional<KubeQuantity> value;
  std::string text;
};
Amount read_amount(json::Value v) {
  Amount a;
  std::int64_t integer = 0;
  double real = 0;
  if (v.is_string()) {
    a.text = json::text(v);
  } else if (v.get(integer) == simdjson::SUCCESS) {
    a.text = std::to_string(integer);
  } else if (v.get(real) == simdjson::SUCCESS) {
    std::array<char, 32> buf{};
    a.text.assign(buf.data(), std::to_chars(buf.data(), buf.data() + buf.size(), real).ptr);
  }
  a.value = parse_kube_quantity(a.text);
  return a;
}

bool is_extended(Text name) {
  return name.find('/') != Text::npos && !name.starts_with("kubernetes.io/");
}

bool is_rdma(Text name, const ExtraGpuResources& extra) {
  return name.starts_with("rdma/") ||
         (name.starts_with(names::kNvidiaPrefix) && gpu_kind_of(name, extra) == GpuKind::kNone);
}

// What one container, or the pod as a whole, lists under "resources".
struct Lists {
  std::optional<json::Value> limits, requests;
  explicit Lists(json::Value resources)
      : limits(json::member(resources, "limits")), requests(json::member(resources, "requests")) {}
};

class Reader {
 public:
  Reader(const ExtraGpuResources& extra, std::string_view path, Pod& pod)
      : extra_(extra), path_(path), pod_(pod) {}

  void read(json::Value spec);

 private:
  Amounts read_container(json::Value container, const std::string& field);
  void read_lists(const Lists& lists, const std::string& field, ContainerNote* note, Amounts& sum);
  void check_gpu(Text name, const Lists& lists, const std::string& field, ContainerNote* note,
                 Amounts& sum);
  bool is_guaranteed(const Lists& lists) const;
  void read_environment(json::Value env, ContainerNote& note);
  void set_shape(const Amounts& total);
  void mistake(std::string field, std::string got, std::string want) {
    pod_.mistakes.push_back(
        {ErrorCode::kInvalid, path_ + std::move(field), std::move(got), std::move(want)});
  }

  const ExtraGpuResources& extra_;
  std::string path_;
  Pod& pod_;
  Text container_kind_;  // the GPU resource of the container that is being read
};

void Reader::read(json::Value spec) {
  Amounts running, sidecars, start_peak;
  if (const auto list = json::member(spec, "initContainers")) {
    json::each_item(*list, [&](std::size_t i, json::Value c) {
      Amounts need = read_container(c, "spec.initContainers[" + std::to_string(i) + "]");
      if (json::text(c, "restartPolicy") == "Always") {
        sidecars.plus(need);
        start_peak.raise_to(sidecars);
      } else {
        need.plus(sidecars);
        start_peak.raise_to(need);
      }
    });
  }
  if (const auto list = json::member(spec, "containers")) {
    json::each_item(*list, [&](std::size_t i, json::Value c) {
      running.plus(read_container(c, "spec.containers[" + std::to_string(i) + "]"));
    });
  }
  running.plus(sidecars);
  running.raise_to(start_peak);
  if (const auto whole = json::member(spec, "resources")) {
    const Lists lists(*whole);
    Amounts pod_level;
    read_lists(lists, "spec.resources", nullptr, pod_level);
    if (pod_level.cpu_milli > 0) running.cpu_milli = pod_level.cpu_milli;
    if (pod_level.memory_bytes > 0) running.memory_bytes = pod_level.memory_bytes;
    pod_.guaranteed = pod_.guaranteed || is_guaranteed(lists);
  }
  if (const auto overhead = json::member(spec, "overhead")) {
    Amounts extra;
    json::each_member(*overhead, [&](Text name, json::Value v) {
      const auto q = read_amount(v).value;
      if (q && name == "cpu") extra.cpu_milli = q->milli();
      if (q && name == "memory") extra.memory_bytes = q->units();
    });
    running.plus(extra);
  }
  set_shape(running);
}

Amounts Reader::read_container(json::Value container, const std::string& field) {
  ContainerNote note;
  Amounts sum;
  bool guaranteed = false;
  container_kind_ = {};
  json::each_member(container, [&](Text key, json::Value value) {
    if (key == "name") note.name = json::text(value);
    if (key == "env") read_environment(value, note);
    if (key == "securityContext") {
      const auto privileged = json::member(value, "privileged");
      note.privileged = privileged && json::boolean(*privileged);
    }
    if (key != "resources") return;
    const Lists lists(value);
    read_lists(lists, field + ".resources", &note, sum);
    guaranteed = is_guaranteed(lists);
  });
  note.fractional_cpu = note.gpu && sum.cpu_milli % 1000 != 0;
  note.field = path_ + field;
  pod_.guaranteed = pod_.guaranteed && guaranteed;
  pod_.containers.push_back(std::move(note));
  return sum;
}

// A limit alone stands for the request too (API defaulting).
void Reader::read_lists(const Lists& lists, const std::string& field, ContainerNote* note,
                        Amounts& sum) {
  const auto one = [&](Text name, json::Value v) {
    if (gpu_kind_of(name, extra_) != GpuKind::kNone) {
      return check_gpu(name, lists, field, note, sum);
    }
    const auto q = read_amount(v).value;
    if (!q || q->nano <= 0) return;
    if (name == "cpu") sum.cpu_milli = q->milli();
    if (name == "memory") sum.memory_bytes = q->units();
    if (is_extended(name)) sum.other(name) = q->units();
    if (note != nullptr && is_rdma(name, extra_)) note->rdma = true;
  };
  if (lists.requests) json::each_member(*lists.requests, one);
  if (!lists.limits) return;
  json::each_member(*lists.limits, [&](Text name, json::Value v) {
    if (!lists.requests || !json::member(*lists.requests, name)) one(name, v);
  });
}

void Reader::check_gpu(Text name, const Lists& lists, const std::string& field, ContainerNote* note,
                       Amounts& sum) {
  if (note == nullptr) return;  // pod-level resources know no GPUs
  const std::string resource(name);
  const auto limit = lists.limits ? json::member(*lists.limits, name) : std::nullopt;
  const auto request = lists.requests ? json::member(*lists.requests, name) : std::nullopt;
  const Amount of_limit = limit ? read_amount(*limit) : Amount{};
  const Amount of_request = request ? read_amount(*request) : of_limit;
  const auto& asked = of_request.value;
  const std::string where = field + (request ? ".requests[" : ".limits[") + resource + "]";
  if (!asked || !asked->is_integer() || asked->nano < 0) {
    return mistake(where, of_request.text, "want a whole number such as \"1\"");
  }
  if (limit ? of_limit.value != asked : asked->nano != 0) {
    return mistake(field + ".limits[" + resource + "]", limit ? of_limit.text : "not set",
                   "want the same as the request, \"" + of_request.text + "\"");
  }
  if (asked->nano == 0) return;
  constexpr std::int64_t kMost = limits::kMaxMilliGpu / kMilliPerGpu;
  if (asked->units() > kMost) {
    return mistake(where, of_request.text, "want at most " + std::to_string(kMost));
  }
  if (!container_kind_.empty() && container_kind_ != name) {
    pod_.two_kinds = true;
    return mistake(field, std::string(container_kind_) + " and " + resource,
                   "want one GPU kind in a container; put the other one in a pod of its own");
  }
  container_kind_ = name;
  note->gpu = true;
  sum.other(name) = asked->units();
}

bool Reader::is_guaranteed(const Lists& lists) const {
  if (!lists.limits) return false;
  for (const Text name : {Text("cpu"), Text("memory")}) {
    const auto limit = json::member(*lists.limits, name);
    if (!limit) return false;
    const auto of_limit = read_amount(*limit).value;
    if (!of_limit || of_limit->nano <= 0) return false;
    const auto request = lists.requests ? json::member(*lists.requests, name) : std::nullopt;
    if (request && read_amount(*request).value != of_limit) return false;
  }
  return true;
}

void Reader::read_environment(json::Value env, ContainerNote& note) {
  json::each_item(env, [&](std::size_t, json::Value v) {
    if (json::text(v, "name") != "NVIDIA_VISIBLE_DEVICES") return;
    note.visible_value = json::text(v, "value");
    if (json::member(v, "valueFrom")) note.visible_value = "(valueFrom)";
    note.visible_devices =
        !note.visible_value.empty() && note.visible_value != "void" && note.visible_value != "none";
  });
}

void Reader::set_shape(const Amounts& total) {
  PodShape& shape = pod_.shape;
  shape.cpu_milli = total.cpu_milli;
  shape.memory_bytes = total.memory_bytes;
  Text kind_name;
  for (const auto& [name, amount] : total.others) {
    if (amount == 0) continue;
    const GpuKind kind = gpu_kind_of(name, extra_);
    const bool known_to_placement = gpu_kind_of(name, {}) != GpuKind::kNone;
    if (!known_to_placement) shape.extended.push_back({std::string(name), amount});
    if (kind == GpuKind::kNone) continue;
    if (!kind_name.empty()) {
      pod_.two_kinds = true;
      mistake("spec.containers", std::string(kind_name) + " and " + std::string(name),
              "want one GPU kind in a pod; split it into one pod for each");
      continue;
    }
    kind_name = name;
    shape.kind = kind;
    shape.gpus = amount;
    if (kind == GpuKind::kMig) shape.profile = mig_profile_of(name);
  }
  std::sort(shape.extended.begin(), shape.extended.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

GpuKind gpu_kind_of(std::string_view resource, const ExtraGpuResources& extra) {
  if (resource.starts_with(names::kNvidiaPrefix)) {
    if (resource == names::kGpu) return GpuKind::kWhole;
    if (resource == names::kGpuShared) return GpuKind::kShared;
    if (resource.starts_with(names::kMigPrefix)) return GpuKind::kMig;
  }
  for (const std::string& name : extra) {
    if (name == resource) return GpuKind::kWhole;
  }
  return GpuKind::kNone;
}

std::string_view mig_profile_of(std::string_view resource) {
  if (!resource.starts_with(names::kMigPrefix)) return {};
  resource.remove_prefix(names::kMigPrefix.size());
  if (resource.ends_with(names::kSharedSuffix)) {
    resource.remove_suffix(names::kSharedSuffix.size());
  }
  return resource;
}

void read_resources(json::Value spec, const ExtraGpuResources& extra, std::string_view path,
                    Pod& pod) {
  Reader(extra, path, pod).read(spec);
}

}  // namespace subak
