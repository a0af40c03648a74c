// What the templates of an owner that waits suspended say of its pods.
#include <algorithm>

#include "core/limits.h"
#include "kube/owner.h"
#include "kube/owners/kinds.h"

namespace subak {
namespace {

bool creates_gpu_pods(const OwnerRole& role) {
  return role.has_gpus() && role.copies > 0 && role.pods > 0;
}

}  // namespace

std::optional<ParkedPods> parked_pods(const OwnerRecord& owner) {
  if (owner.ended) return std::nullopt;
  const OwnerRole* first = nullptr;
  std::size_t first_at = 0;
  ParkedPods out;
  std::uint64_t pods = 0;
  for (std::size_t i = 0; i < owner.roles.size(); ++i) {
    const OwnerRole& role = owner.roles[i];
    if (!creates_gpu_pods(role)) continue;
    if (role.record == nullptr) return std::nullopt;
    if (first == nullptr) first = &role, first_at = i;
    const std::uint64_t of_role = std::uint64_t{role.copies} * role.pods;
    pods += of_role;
    if (pods > limits::kMaxPodsPerJob) return std::nullopt;
    out.groups.push_back({static_cast<std::uint32_t>(of_role), role.shape});
  }
  if (first == nullptr) return std::nullopt;
  const std::uint32_t size = owner.gang_size(first_at);
  const bool alone = size == 1 && owner.kind == OwnerKind::kJob;
  if (alone) out.groups = {{1, first->shape}};
  if (!alone && (size != pods || owner.together != Together::kAll)) return std::nullopt;
  out.pod = *first->record;
  out.pod.uid = owner.uid;
  out.pod.ns = owner.ns;
  out.pod.name = owner.name;
  out.pod.owner = shortened(owner.uid, limits::kMaxNameBytes);
  out.pod.gang = size > 1 ? shortened(owner.name, limits::kMaxNameBytes) : std::string();
  out.pod.gang_size = size;
  out.pod.rank = size > 1 ? 0 : -1;
  out.pod.shape = first->shape;
  out.pod.gated = true;
  out.pod.controlled = true;
  out.pod.foreign_gates = false;
  out.pod.let_go_to.clear();
  out.pod.replaced_alone = size > 1 && owner.replaced_alone;
  out.pod.owners.size_of_owner = first->stated == 0;
  return out;
}

}  // namespace subak
