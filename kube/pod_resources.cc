// The effective request of a pod, as kube-scheduler computes it: for each resource the larger of
//   all containers and sidecars together, and
//   each ordinary init container together with the sidecars declared before it,
// plus the overhead. Pod-level resources replace the sum for CPU and memory.
// Source: k8s.io/component-helpers resource/helpers.go (PodRequests).
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/pod.h"
#include "kube/quantity.h"

namespace subak {
namespace {

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// The request of one container. `others` names each resource once.
struct Amounts {
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  std::vector<std::pair<Text, std::int64_t>> others;
};

// The need of all containers of a pod for one resource. Each container changes only the needs for
// the resources that it names, so the cost of the sum depends on the length of the text. An init
// container that does not name the resource adds nothing: while it runs, only the sidecars need the
// resource, and they need no more than in the end.
struct Need {
  std::int64_t running = 0, sidecars = 0, start_peak = 0;

  void run(std::int64_t amount) { running = add(running, amount); }
  void run_beside(std::int64_t amount) { sidecars = add(sidecars, amount); }
  void start(std::int64_t amount) { start_peak = std::max(start_peak, add(amount, sidecars)); }
  std::int64_t total() const { return std::max(add(running, sidecars), start_peak); }
};

struct Needs {
  Need cpu_milli, memory_bytes;
  std::map<Text, Need> others;

  void take(const Amounts& of, void (Need::*how)(std::int64_t)) {
    (cpu_milli.*how)(of.cpu_milli);
    (memory_bytes.*how)(of.memory_bytes);
    for (const auto& [name, amount] : of.others) (others[name].*how)(amount);
  }
};

// A quantity in JSON. It is a string, or a number in a file that a person wrote.
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

constexpr Text kHugePages = "hugepages-";

// True if one container should request both the resource and the GPUs, so that the kubelet can
// align them. This is so for RDMA network cards and for NVIDIA's resources that are not GPUs.
bool is_beside_gpu(Text name, const ExtraGpuResources& extra) {
  return is_rdma(name) ||
         (name.starts_with(names::kNvidiaPrefix) && gpu_kind_of(name, extra) == GpuKind::kNone);
}

// The requests and limits under "resources" of one container, or of the pod.
struct Lists {
  json::Members limits, requests;
  explicit Lists(std::optional<json::Value> resources)
      : limits(resources ? json::member(*resources, "limits") : std::nullopt),
        requests(resources ? json::member(*resources, "requests") : std::nullopt) {}
};

// A position in the spec. The code makes its text only for a message.
struct Place {
  std::string_view list;
  std::size_t index = 0;
  std::string text() const {
    return "spec." + std::string(list) + "[" + std::to_string(index) + "]";
  }
};

class Reader {
 public:
  Reader(const ExtraGpuResources& extra, std::string_view path, Pod& pod)
      : extra_(extra), path_(path), pod_(pod) {}

  void read(json::Value spec);

 private:
  void read_containers(json::Value spec);
  void read_pod_level(json::Value spec, Amounts& total);
  Amounts read_container(json::Value container, Place place);
  void read_lists(const Lists& lists, const Place* place, ContainerNote& note, Amounts& sum);
  void read_qos_gaps(json::Value spec);
  void check_gpu(Text name, const Lists& lists, Place place, ContainerNote& note, Amounts& sum);
  void read_claims(json::Value claims);
  void claim(std::string field) {
    if (pod_.claims.device.empty()) pod_.claims.device = path_ + std::move(field);
  }
  void set_shape(const Amounts& total);
  void mistake(std::string field, std::string got, std::string want) {
    pod_.add_mistake(
        {ErrorCode::kInvalid, path_ + std::move(field), std::move(got), std::move(want)});
  }
  // Adds the mistake before all others, because the decision is named after the first mistake.
  void two_kinds(std::string field, Text one, Text other, std::string want) {
    if (pod_.two_kinds) return;
    pod_.two_kinds = true;
    pod_.mistakes.insert(pod_.mistakes.begin(), {ErrorCode::kInvalid, path_ + std::move(field), "",
                                                 "asks for " + cut_text(one) + " and " +
                                                     cut_text(other) + "; " + std::move(want)});
  }

  const ExtraGpuResources& extra_;
  std::string path_;
  Pod& pod_;
  Needs needs_;
  Text container_kind_;         // the GPU resource of the current container
  std::int64_t most_gpus_ = 0;  // the most GPUs of one container
};

// True if a container uses a ResourceClaim other than Subak's own for a ComputeDomain.
bool uses_other_claim(json::Value claims) {
  bool any = false;
  json::each_item(claims, [&](std::size_t, json::Value claim) {
    any = any || json::text(claim, "name") != names::kDomainClaim;
  });
  return any;
}

// Returns what the user must write for one resource so that the QoS class is Guaranteed; nullopt if
// nothing has to change. The field of the result lacks the path of the container, which the caller
// adds.
std::optional<Error> qos_gap(const Lists& lists, Text name) {
  const auto limit = lists.limits.find(name);
  const auto request = lists.requests.find(name);
  const Amount of_limit = limit ? read_amount(*limit) : Amount{};
  const Amount of_request = request ? read_amount(*request) : Amount{};
  const auto gap = [&](Text list, const std::string& got, std::string want) {
    return Error{ErrorCode::kInvalid, std::string(list) + "[" + std::string(name) + "]", got,
                 std::move(want)};
  };
  if (of_limit.value && of_limit.value->nano > 0) {
    if (!request || of_request.value == of_limit.value) return std::nullopt;
    return gap("requests", of_request.text,
               "want \"" + cut_text(of_limit.text) + "\" as the limit");
  }
  const bool known = of_request.value && of_request.value->nano > 0;
  const std::string amount = known ? "\"" + cut_text(of_request.text) + "\" as the request"
                             : name == "cpu" ? "whole CPUs such as \"8\""
                                             : "an amount such as \"64Gi\"";
  return gap("limits", of_limit.text, (limit ? "want " : "is not set, want ") + amount);
}

constexpr std::array kQosResources{Text("cpu"), Text("memory")};

bool is_guaranteed(const Lists& lists) {
  return std::all_of(kQosResources.begin(), kQosResources.end(), [&](Text name) {
    const auto limit = lists.limits.find(name);
    if (!limit) return false;
    const auto of_limit = read_amount(*limit).value;
    if (!of_limit || of_limit->nano <= 0) return false;
    const auto request = lists.requests.find(name);
    return !request || read_amount(*request).value == of_limit;
  });
}

// Notes NVIDIA_VISIBLE_DEVICES if it may name a device. For NVIDIA's runtime these values name no
// device: unset, "void" (leave the container alone) and "none" (drivers without a device). A value
// from another source (valueFrom) may name any device.
void read_environment(json::Value env, ContainerNote& note) {
  json::each_item(env, [&](std::size_t, json::Value v) {
    if (json::text(v, "name") != "NVIDIA_VISIBLE_DEVICES") return;
    const Text value = json::member(v, "valueFrom") ? "(valueFrom)" : json::text(v, "value");
    if (value.empty() || value == "void" || value == "none") return;
    note.visible_devices = true;
    note.visible_value = value;
  });
}

// NVIDIA's runtime also reads the devices from mounts: one mount in this folder for each device.
void read_mounts(json::Value mounts, ContainerNote& note) {
  json::each_item(mounts, [&](std::size_t, json::Value mount) {
    const Text path = json::text(mount, "mountPath");
    if (path.find("nvidia-container-devices") != Text::npos) note.device_mount = path;
  });
}

void Reader::read(json::Value spec) {
  read_containers(spec);
  Amounts total;
  total.cpu_milli = needs_.cpu_milli.total();
  total.memory_bytes = needs_.memory_bytes.total();
  for (const auto& [name, need] : needs_.others) total.others.emplace_back(name, need.total());
  read_pod_level(spec, total);
  set_shape(total);
  read_qos_gaps(spec);
  if (const auto claims = json::member(spec, "resourceClaims")) read_claims(*claims);
}

// Only a GPU pod takes part in a ComputeDomain. The edge checks what the template really asks for,
// because a user can make a template with the prefix of Subak's templates.
void Reader::read_claims(json::Value claims) {
  pod_.claims.listed = claims.is_array();
  json::each_item(claims, [&](std::size_t, json::Value one) {
    const Text of = json::text(one, "resourceClaimTemplateName");
    const bool ours = pod_.asks_gpu() && json::text(one, "name") == names::kDomainClaim &&
                      of.starts_with(names::kDomainTemplatePrefix);
    if (ours) {
      pod_.claims.domain_template = of;
      return;
    }
    claim("spec.resourceClaims");
    pod_.claims.by_template = pod_.claims.by_template && !of.empty();
    if (!of.empty()) pod_.claims.templates.push_back(of);
  });
  if (pod_.claims.domain_template.empty()) return;
  pod_.shape.extended.push_back({std::string(names::kChannel), 1});
}

void Reader::read_containers(json::Value spec) {
  if (const auto list = json::member(spec, "initContainers")) {
    json::each_item(*list, [&](std::size_t i, json::Value c) {
      const bool sidecar = json::text(c, "restartPolicy") == "Always";
      needs_.take(read_container(c, {"initContainers", i}),
                  sidecar ? &Need::run_beside : &Need::start);
    });
  }
  if (const auto list = json::member(spec, "containers")) {
    json::each_item(*list, [&](std::size_t i, json::Value c) {
      needs_.take(read_container(c, {"containers", i}), &Need::run);
    });
  }
  if (const auto list = json::member(spec, "ephemeralContainers")) {
    const bool guaranteed = pod_.guaranteed;  // ephemeral containers do not change it
    json::each_item(*list, [&](std::size_t i, json::Value c) {
      (void)read_container(c, {"ephemeralContainers", i});
    });
    pod_.guaranteed = guaranteed;
  }
}

// Reports gaps only for pods whose alignment counts, which have two or more whole GPUs. Most other
// pods are not Guaranteed on purpose.
void Reader::read_qos_gaps(json::Value spec) {
  if (pod_.guaranteed || pod_.shape.kind != GpuKind::kWhole || pod_.shape.gpus < 2) return;
  for (const std::string_view name : {"initContainers", "containers"}) {
    const auto list = json::member(spec, name);
    if (!list) continue;
    json::each_item(*list, [&](std::size_t i, json::Value container) {
      const Lists lists(json::member(container, "resources"));
      for (const Text resource : kQosResources) {
        auto gap = qos_gap(lists, resource);
        if (!gap || pod_.qos_gaps.size() == Pod::kMaxQosGaps) continue;
        gap->field = path_ + Place{name, i}.text() + ".resources." + gap->field;
        pod_.qos_gaps.push_back(*std::move(gap));
      }
    });
  }
}

void Reader::read_pod_level(json::Value spec, Amounts& total) {
  if (const auto whole = json::member(spec, "resources")) {
    const Lists lists(*whole);
    Amounts pod_level;
    ContainerNote ignored;
    read_lists(lists, nullptr, ignored, pod_level);
    if (pod_level.cpu_milli > 0) total.cpu_milli = pod_level.cpu_milli;
    if (pod_level.memory_bytes > 0) total.memory_bytes = pod_level.memory_bytes;
    pod_.guaranteed = pod_.guaranteed || is_guaranteed(lists);
  }
  if (const auto overhead = json::member(spec, "overhead")) {
    json::each_member(*overhead, [&](Text name, json::Value v) {
      const auto q = read_amount(v).value;
      if (q && name == "cpu") total.cpu_milli = add(total.cpu_milli, q->milli());
      if (q && name == "memory") total.memory_bytes = add(total.memory_bytes, q->units());
    });
  }
}

Amounts Reader::read_container(json::Value container, Place place) {
  ContainerNote note;
  Amounts sum;
  bool guaranteed = false;
  container_kind_ = {};
  note.ephemeral = place.list == "ephemeralContainers";
  json::each_member(container, [&](Text key, json::Value value) {
    if (key == "name") note.name = json::text(value);
    if (key == "env") read_environment(value, note);
    if (key == "volumeMounts") read_mounts(value, note);
    if (key == "securityContext") note.privileged = json::boolean(value, "privileged");
    if (key != "resources") return;
    const Lists lists(value);
    sum = {};
    read_lists(lists, &place, note, sum);
    guaranteed = is_guaranteed(lists);
    if (const auto claims = json::member(value, "claims")) {
      note.has_claims = claims->is_array();
      if (uses_other_claim(*claims)) claim(place.text() + ".resources.claims");
    }
  });
  pod_.guaranteed = pod_.guaranteed && guaranteed;
  note.cpu_milli = sum.cpu_milli;
  most_gpus_ = std::max(most_gpus_, note.gpus);
  if (note.notable()) {
    note.field = path_ + place.text();
    pod_.containers.push_back(std::move(note));
  }
  return sum;
}

// A limit without a request also counts as the request (API defaulting). `place` is nullptr for the
// pod itself, which has no GPUs.
void Reader::read_lists(const Lists& lists, const Place* place, ContainerNote& note, Amounts& sum) {
  const auto one = [&](Text name, json::Value v, Text list) {
    if (gpu_kind_of(name, extra_) != GpuKind::kNone) {
      if (place != nullptr) check_gpu(name, lists, *place, note, sum);
      return;
    }
    Amount amount = read_amount(v);
    const auto& q = amount.value;
    if (!q || q->nano <= 0) return;
    if (name == "memory") sum.memory_bytes = q->units();
    if (is_counted_resource(name) && !is_device_class(name)) {
      sum.others.emplace_back(name, q->units());
    }
    if (is_beside_gpu(name, extra_)) note.rdma = name;
    if (name.starts_with(kHugePages)) note.huge_pages = name;
    if (name == "cpu") {
      sum.cpu_milli = q->milli();
      note.cpu = std::move(amount.text);
      note.cpu_list = list;
    }
    if (place != nullptr && is_device_class(name)) {
      claim(place->text() + ".resources.limits[" + cut_text(name) + "]");
      pod_.claims.by_template = false;
    }
  };
  // The API server copies a limit to a missing request. So of two equal amounts, the user wrote the
  // limit.
  const auto are_equal = [](json::Value request, json::Value limit) {
    return read_amount(request).value == read_amount(limit).value;
  };
  for (const auto& [name, value] : lists.requests) {
    const auto limit = lists.limits.find(name);
    if (!limit || !are_equal(value, *limit)) one(name, value, "requests");
  }
  for (const auto& [name, value] : lists.limits) {
    const auto request = lists.requests.find(name);
    if (!request || are_equal(*request, value)) one(name, value, "limits");
  }
}

void Reader::check_gpu(Text name, const Lists& lists, Place place, ContainerNote& note,
                       Amounts& sum) {
  const auto field = [&](std::string_view list) {
    return place.text() + ".resources." + std::string(list) + "[" + cut_text(name) + "]";
  };
  const auto limit = lists.limits.find(name);
  const auto request = lists.requests.find(name);
  const Amount of_limit = limit ? read_amount(*limit) : Amount{};
  const Amount of_request = request ? read_amount(*request) : of_limit;
  const auto& asked = of_request.value;
  const std::string_view list = request ? "requests" : "limits";
  if (!asked || !asked->is_integer() || asked->nano < 0) {
    return mistake(field(list), of_request.text, "want a whole number such as \"1\"");
  }
  if (limit ? of_limit.value != asked : asked->nano != 0) {
    return mistake(field("limits"), of_limit.text,
                   std::string(limit ? "" : "is not set, ") + "want the same as the request, \"" +
                       cut_text(of_request.text) + "\"");
  }
  if (asked->nano == 0) return;
  constexpr std::int64_t kMost = limits::kMaxMilliGpu / kMilliPerGpu;
  if (asked->units() > kMost) {
    return mistake(field(list), of_request.text, "want at most " + std::to_string(kMost));
  }
  if (!container_kind_.empty() && container_kind_ != name) {
    return two_kinds(place.text() + ".resources", container_kind_, name,
                     "want one GPU kind in a container; put the other one in a pod of its own");
  }
  container_kind_ = name;
  note.gpus = asked->units();
  note.gpu_resource = name;
  sum.others.emplace_back(name, asked->units());
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
      two_kinds("spec.containers", kind_name, name,
                "want one GPU kind in a pod; split it into one pod for each");
      continue;
    }
    kind_name = name;
    shape.kind = kind;
    shape.gpus = amount;
    if (most_gpus_ < amount) shape.container_gpus = most_gpus_;
    if (kind == GpuKind::kMig) shape.profile = mig_profile_of(name);
  }
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

bool is_counted_resource(std::string_view resource) {
  if (resource.starts_with(kHugePages)) return true;
  return resource.find('/') != Text::npos && !resource.starts_with("kubernetes.io/");
}

bool is_device_class(std::string_view resource) {
  return resource.starts_with("deviceclass.resource.kubernetes.io/");
}

std::string_view mig_profile_of(std::string_view resource) {
  if (!resource.starts_with(names::kMigPrefix)) return {};
  resource.remove_prefix(names::kMigPrefix.size());
  if (resource.ends_with(names::kSharedSuffix)) {
    resource.remove_suffix(names::kSharedSuffix.size());
  }
  return resource;
}

const ContainerNote* gpu_container(const Pod& pod) {
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(),
                                  [](const ContainerNote& note) { return note.gpus > 0; });
  return found == pod.containers.end() ? nullptr : &*found;
}

void read_resources(json::Value spec, const ExtraGpuResources& extra, std::string_view path,
                    Pod& pod) {
  Reader(extra, path, pod).read(spec);
}

}  // namespace subak
