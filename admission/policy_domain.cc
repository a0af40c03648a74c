// The ComputeDomain of a pod's gang. The webhook adds the ResourceClaim, since a pod's
// ResourceClaims cannot change later. The edge makes the ComputeDomain when the gang starts.
#include <algorithm>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "kube/domain/domain_objects.h"
#include "kube/patch.h"

namespace subak::policy {
namespace {

// True if some node of the cluster offers a channel, as far as the View knows.
bool offers_channels(const LargestNode& largest) {
  const auto& all = largest.extended;
  return std::any_of(all.begin(), all.end(), [](const ResourceCount& r) {
    return r.name == names::kChannel && r.count > 0;
  });
}

// True if the gang has more GPUs than the largest node.
bool needs_several_nodes(const ClusterView& cluster, const Pod& pod) {
  const std::int64_t gpus = pod.shape.gpus * static_cast<std::int64_t>(pod.gang.size);
  return cluster.largest_node_gpus > 0 && gpus > cluster.largest_node_gpus;
}

bool by_policy(const Context& c, const Pod& pod) {
  return c.config.compute_domains_for_nvlink && is_one_nvlink_gang(pod) &&
         !domain_key_of(pod).key.set && offers_channels(c.cluster.largest_node) &&
         needs_several_nodes(c.cluster, pod);
}

// True if the ComputeDomain of the pod's gang is Subak's matter.
bool is_ours(const Context& c, const Pod& pod) {
  if (pod.shape.kind != GpuKind::kWhole || !pod.claims.device.empty()) return false;
  return pod.in_domain() || by_policy(c, pod);
}

// Converts "spec.containers[0]" to "/spec/containers/0".
std::string pointer_of(std::string_view field) {
  std::string out = "/";
  for (const char c : field) {
    if (c != ']') out += c == '.' || c == '[' ? '/' : c;
  }
  return out;
}

void append_to_list(std::string_view list, bool exists, const std::string& item,
                    PatchWriter& patch) {
  const std::string pointer(list);
  exists ? patch.add(pointer + "/-", item) : patch.add(pointer, "[" + item + "]");
}

}  // namespace

bool needs_domain(const Context& c, const Pod& pod) {
  return pod.claims.domain_template.empty() && is_ours(c, pod);
}

std::optional<Decision> domain_refusal(const Context& c, const Pod& pod, std::string_view path) {
  if (!is_ours(c, pod)) return std::nullopt;
  const auto refuse = [&](const std::string& want) {
    const auto& [name, key] = domain_key_of(pod);
    return denied(Because::kInvalidValue, Error{ErrorCode::kInvalid, key_field(path, key, name),
                                                std::string(key.value), want});
  };
  const LargestNode& largest = c.cluster.largest_node;
  const bool known = c.cluster.synced && c.cluster.largest_node_gpus > 0 && !largest.more;
  if (known && !offers_channels(largest)) {
    return refuse(
        "want it in a cluster that has ComputeDomains: no node of this one offers " +
        std::string(names::kChannel) +
        "; NVIDIA's DRA driver must run on its nodes with resources.computeDomains.enabled");
  }
  if (pod.gang.size > kMaxDomainNodes) {
    return refuse("want a gang of at most " + std::to_string(kMaxDomainNodes) + " pods, not " +
                  std::to_string(pod.gang.size) +
                  ": each needs a node of its own, and an IMEX domain has no more nodes");
  }
  if (!stays_in_one_clique(pod)) {
    return refuse(
        "want it beside topology nvlink, nvlink-exclusive or node without segments, since a "
        "ComputeDomain shares memory only inside one NVLink domain; or put prefer: before the "
        "topology");
  }
  return std::nullopt;
}

void add_domain_claim(const Pod& pod, std::string_view review_uid, PatchWriter& patch) {
  const ContainerNote* const user = gpu_container(pod);
  if (user == nullptr) return;
  const std::string name(names::kDomainClaim);
  const std::string of = domain_name_of(pod, review_uid);
  append_to_list("/spec/resourceClaims", pod.claims.listed,
                 R"({"name":")" + name + R"(","resourceClaimTemplateName":")" + of + R"("})",
                 patch);
  append_to_list(pointer_of(user->field) + "/resources/claims", user->has_claims,
                 R"({"name":")" + name + R"("})", patch);
}

}  // namespace subak::policy
