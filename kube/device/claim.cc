#include "kube/device/claim.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "core/edge_limits.h"
#include "core/error.h"
#include "core/limits.h"
#include "kube/device/selector.h"
#include "kube/node/node.h"
#include "kube/quantity.h"

namespace subak {
namespace {

std::vector<std::string> read_selectors(json::Value object) {
  std::vector<std::string> out;
  const auto list = json::member(object, "selectors");
  if (!list) return out;
  json::each_item(*list, [&](std::size_t, json::Value selector) {
    if (out.size() < limits::kMaxClaimRequests) {
      out.emplace_back(json::text_in(selector, "cel", "expression"));
    }
  });
  return out;
}

DeviceRequest read_request(json::Value object) {
  DeviceRequest request;
  request.device_class = json::text(object, "deviceClassName");
  request.selectors = read_selectors(object);
  request.admin = json::boolean(object, "adminAccess");
  if (json::text(object, "allocationMode") == "All") {
    request.count = 0;
  } else if (const auto count = json::member(object, "count")) {
    request.count = std::max<std::int64_t>(json::integer(*count, 1), 1);
  }
  return request;
}

std::vector<DeviceRequest> read_alternatives(json::Value request, bool& truncated) {
  std::vector<DeviceRequest> out;
  if (const auto exactly = json::member(request, "exactly")) {
    out.push_back(read_request(*exactly));
  } else if (const auto list = json::member(request, "firstAvailable")) {
    json::each_item(*list, [&](std::size_t, json::Value alternative) {
      if (out.size() < limits::kMaxClaimAlternatives) {
        out.push_back(read_request(alternative));
      } else {
        truncated = true;
      }
    });
  } else {
    out.push_back(read_request(request));  // resource.k8s.io/v1beta1
  }
  return out;
}

// Adds up the limits of each device class over the pod's containers. Kubernetes requires that
// request and limit of such a resource are equal. Init containers count like the other containers,
// so the sum may be too large.
void read_class_requests(json::Value spec, ClaimRefs& out) {
  for (const char* list : {"initContainers", "containers"}) {
    const auto containers = json::member(spec, list);
    if (!containers) continue;
    json::each_item(*containers, [&](std::size_t, json::Value container) {
      const auto resources = json::member(container, "resources");
      const auto limits = resources ? json::member(*resources, "limits") : std::nullopt;
      if (!limits) return;
      json::each_member(*limits, [&](std::string_view name, json::Value value) {
        if (!name.starts_with(kDeviceClassPrefix)) return;
        if (out.classes.size() >= limits::kMaxClaimRequests) return;
        const auto amount = parse_kube_quantity(value.is_string() ? std::string(json::text(value))
                                                                  : simdjson::minify(value));
        if (!amount || amount->nano <= 0) return;
        std::int64_t& sum = out.classes[std::string(name.substr(kDeviceClassPrefix.size()))];
        if (__builtin_add_overflow(sum, amount->units(), &sum))
          sum = std::numeric_limits<std::int64_t>::max();
      });
    });
  }
}

// The largest number of devices that counts. A pod that requests more is refused.
constexpr std::int64_t kMostClaimed = limits::kMaxMilliGpu / kMilliPerGpu + 1;

// What a device of one kind counts as.
struct Meaning {
  GpuKind kind = GpuKind::kNone;
  std::string profile;
  friend bool operator==(const Meaning&, const Meaning&) = default;
};

Meaning meaning_of(const DeviceKind& kind, bool extra) {
  if (extra) return {GpuKind::kWhole, {}};
  if (kind.driver != kGpuDriver) return {};
  if (kind.text("type") == "mig") return {GpuKind::kMig, std::string(kind.text("profile"))};
  return {GpuKind::kWhole, {}};
}

Error not_understood(const DeviceRequest& request, std::string want) {
  return {ErrorCode::kInvalid, "DeviceClass " + cut_text(request.device_class), "",
          std::move(want)};
}

class Resolver {
 public:
  Resolver(const ClusterDevices& cluster, const ExtraGpuResources& extra)
      : cluster_(cluster), extra_(extra) {}

  Result<ClaimedGpus> resolve(const ClaimSpec& spec) {
    if (spec.truncated) {
      return Error{ErrorCode::kInvalid, "spec.devices.requests", "",
                   "want at most " + std::to_string(limits::kMaxClaimRequests) + " requests"};
    }
    for (const std::vector<DeviceRequest>& alternatives : spec.requests) {
      if (auto error = take(alternatives)) return *error;
    }
    std::sort(out_.products.begin(), out_.products.end());
    return std::move(out_);
  }

 private:
  // Adds the first alternative that the cluster can serve.
  std::optional<Error> take(const std::vector<DeviceRequest>& alternatives) {
    std::optional<Error> first;
    for (const DeviceRequest& request : alternatives) {
      Result<ClaimedGpus> one = resolve(request);
      if (one.ok()) return add(request, *one);
      if (!first) first = one.error();
    }
    if (first) return first;
    return Error{ErrorCode::kInvalid, "spec.devices.requests", "", "want a request"};
  }

  Result<ClaimedGpus> resolve(const DeviceRequest& request) {
    // The DeviceClasses of ComputeDomains. Their devices are channels, not GPUs.
    if (request.device_class.starts_with("compute-domain-") &&
        request.device_class.ends_with(".nvidia.com")) {
      return ClaimedGpus();
    }
    const DeviceClass* const of = cluster_.find_class(request.device_class);
    if (of == nullptr) return not_understood(request, "the cluster has no such DeviceClass");
    if (request.admin) return ClaimedGpus();
    std::vector<const std::string*> selectors;
    for (const std::string& selector : of->selectors) selectors.push_back(&selector);
    for (const std::string& selector : request.selectors) selectors.push_back(&selector);
    const bool extra =
        std::find(extra_.begin(), extra_.end(),
                  std::string(kDeviceClassPrefix) + request.device_class) != extra_.end();
    Found found;
    cluster_.each_kind([&](const DeviceKind& kind) { look_at(kind, extra, selectors, found); });
    if (!found.unknown.empty()) {
      return not_understood(request,
                            "Subak does not understand the selector " + cut_text(found.unknown));
    }
    return summed(request, std::move(found));
  }

  // The selected devices.
  struct Found {
    std::vector<Meaning> meanings;
    std::set<std::string> products, nodes;
    // True: some devices of a GPU product are not selected.
    bool some_not = false;
    bool by_uuid = false, on_demand = false;
    // A selector that Subak does not understand, and that decides about some device. Empty: there
    // is none.
    std::string unknown;
  };

  void look_at(const DeviceKind& kind, bool extra, const std::vector<const std::string*>& selectors,
               Found& found) const {
    Selects all = Selects::kYes;
    const std::string* unknown = nullptr;
    for (const std::string* selector : selectors) {
      const Selects one = evaluate_selector(*selector, kind);
      if (one == Selects::kNo) all = Selects::kNo;
      if (one == Selects::kNo) break;
      if (one == Selects::kUnknown) unknown = selector;
      if (one == Selects::kByUuid) all = one;
    }
    const Meaning meaning = meaning_of(kind, extra);
    if (all == Selects::kNo) {
      found.some_not = found.some_not || meaning.kind != GpuKind::kNone;
      return;
    }
    if (unknown != nullptr) {
      found.unknown = *unknown;
      return;
    }
    if (all == Selects::kByUuid && !look_at_each(kind, selectors, found)) return;
    if (kind.partition && meaning.kind == GpuKind::kMig) {
      found.on_demand = true;
      return;
    }
    if (std::find(found.meanings.begin(), found.meanings.end(), meaning) == found.meanings.end()) {
      found.meanings.push_back(meaning);
    }
    if (meaning.kind != GpuKind::kNone) found.products.insert(product_of(kind));
  }

  // Called if a selector names single devices. Returns true if the selectors select a device of
  // this kind.
  bool look_at_each(const DeviceKind& kind, const std::vector<const std::string*>& selectors,
                    Found& found) const {
    bool any = false;
    found.by_uuid = true;
    cluster_.each_device(kind, [&](const std::string& uuid, const std::string& node) {
      const bool selected = std::all_of(selectors.begin(), selectors.end(), [&](const auto* one) {
        return evaluate_selector(*one, kind, &uuid) == Selects::kYes;
      });
      if (!selected) return;
      any = true;
      found.nodes.insert(node);
    });
    return any;
  }

  static Result<ClaimedGpus> summed(const DeviceRequest& request, Found found) {
    if (found.meanings.empty() && found.on_demand) {
      return not_understood(request,
                            "it selects MIG slices that the driver cuts on demand, which "
                            "Subak does not place yet");
    }
    if (found.meanings.empty()) {
      return not_understood(request, "its selectors select no device of the cluster");
    }
    if (found.meanings.size() > 1) {
      return not_understood(request,
                            "its selectors select devices of several kinds; want a selector of "
                            "device.attributes[\"gpu.nvidia.com\"].type, or of a MIG profile");
    }
    ClaimedGpus out;
    out.kind = found.meanings[0].kind;
    if (out.kind == GpuKind::kNone) return out;
    if (request.count == 0) {
      return not_understood(request, "allocationMode All does not say how many GPUs are requested");
    }
    out.gpus = request.count;
    out.profile = std::move(found.meanings[0].profile);
    if (found.some_not || found.by_uuid) {
      out.products.assign(found.products.begin(), found.products.end());
    }
    if (found.by_uuid) out.nodes.assign(found.nodes.begin(), found.nodes.end());
    if (out.nodes.size() > limits::kMaxTermValues) {
      return not_understood(request, "its selectors select single devices on more than " +
                                         std::to_string(limits::kMaxTermValues) + " nodes");
    }
    return out;
  }

  std::optional<Error> add(const DeviceRequest& request, const ClaimedGpus& one) {
    if (out_.add(one)) return std::nullopt;
    return not_understood(request, "want one GPU kind in a pod; split it into one pod for each");
  }

  const ClusterDevices& cluster_;
  const ExtraGpuResources& extra_;
  ClaimedGpus out_;
};

// Reduces `to` to the values that are also in `by`, because all GPUs of a pod are of one product
// and on one node. An empty list means any value. If the lists have no common value, `to` stays as
// it is.
void narrow(std::vector<std::string>& to, const std::vector<std::string>& by) {
  if (by.empty()) return;
  if (to.empty()) {
    to = by;
    return;
  }
  std::vector<std::string> both;
  std::set_intersection(to.begin(), to.end(), by.begin(), by.end(), std::back_inserter(both));
  if (!both.empty()) to = std::move(both);
}

}  // namespace

DeviceClass read_device_class(json::Value object) {
  DeviceClass out;
  const auto spec = json::member(object, "spec");
  if (!spec) return out;
  out.selectors = read_selectors(*spec);
  out.extended_resource = json::text(*spec, "extendedResourceName");
  return out;
}

ClaimSpec read_claim_spec(json::Value object) {
  ClaimSpec out;
  const auto spec = json::member(object, "spec");
  const auto devices = spec ? json::member(*spec, "devices") : std::nullopt;
  const auto requests = devices ? json::member(*devices, "requests") : std::nullopt;
  if (!requests) return out;
  json::each_item(*requests, [&](std::size_t, json::Value request) {
    if (out.requests.size() < limits::kMaxClaimRequests) {
      out.requests.push_back(read_alternatives(request, out.truncated));
    } else {
      out.truncated = true;
    }
  });
  return out;
}

ClaimRefs read_pod_claims(json::Value pod) {
  ClaimRefs out;
  const auto spec = json::member(pod, "spec");
  if (!spec) return out;
  if (const auto claims = json::member(*spec, "resourceClaims")) {
    json::each_item(*claims, [&](std::size_t, json::Value claim) {
      if (out.claims.size() >= limits::kMaxClaimRequests) return;
      out.claims.push_back({std::string(json::text(claim, "resourceClaimName")),
                            std::string(json::text(claim, "resourceClaimTemplateName"))});
    });
  }
  read_class_requests(*spec, out);
  return out;
}

std::string_view reserved_for(json::Value claim) {
  std::string_view first;
  const auto status = json::member(claim, "status");
  const auto list = status ? json::member(*status, "reservedFor") : std::nullopt;
  if (!list) return first;
  json::each_item(*list, [&](std::size_t, json::Value consumer) {
    if (first.empty() && json::text(consumer, "resource") == "pods") {
      first = json::text(consumer, "uid");
    }
  });
  return first;
}

bool ClaimedGpus::add(const ClaimedGpus& other) {
  if (other.kind == GpuKind::kNone) return true;
  if (kind == GpuKind::kNone) {
    *this = other;
    return true;
  }
  if (kind != other.kind || profile != other.profile) return false;
  if (__builtin_add_overflow(gpus, other.gpus, &gpus)) gpus = kMostClaimed;
  gpus = std::min(gpus, kMostClaimed);
  narrow(products, other.products);
  narrow(nodes, other.nodes);
  return true;
}

bool ClaimedGpus::add_to(PodShape& shape) const {
  if (kind == GpuKind::kNone) return true;
  const bool other_kind = shape.kind != kind || shape.profile != profile;
  if (shape.kind != GpuKind::kNone && other_kind) return false;
  shape.kind = kind;
  shape.profile = profile;
  shape.gpus =
      std::min(kMostClaimed, std::min(shape.gpus, kMostClaimed) + std::min(gpus, kMostClaimed));
  if (shape.products.empty()) shape.products = products;
  shape.node_selector.push_back({std::string(kClaimable), "true"});
  std::sort(shape.node_selector.begin(), shape.node_selector.end());
  shape.tolerations.push_back({std::string(kOnlyByClaim), "Exists", "", ""});
  if (nodes.empty()) return true;
  const Requirement here{"metadata.name", "In", nodes};
  if (shape.affinity.empty()) shape.affinity.emplace_back();
  for (AffinityTerm& term : shape.affinity) term.requirements.push_back(here);
  return true;
}

Result<ClaimedGpus> claimed_gpus(const ClaimSpec& spec, const ClusterDevices& cluster,
                                 const ExtraGpuResources& extra) {
  return Resolver(cluster, extra).resolve(spec);
}

std::string product_of(const DeviceKind& kind) {
  std::string name(kind.text("productName"));
  std::replace(name.begin(), name.end(), ' ', '-');
  return name.empty() ? "GPU" : name;
}

}  // namespace subak
