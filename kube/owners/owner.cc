#include "kube/owner.h"

#include <algorithm>

#include "core/limits.h"
#include "kube/owners/kinds.h"
#include "kube/owners/reader.h"

namespace subak {
namespace {

Error too_many_pods(std::size_t role) {
  return {ErrorCode::kInvalid, "spec", "",
          "want at most " + std::to_string(limits::kMaxPodsPerJob) + " pods in a gang (template " +
              std::to_string(role + 1) + ")"};
}

// Returns gang_size() without its upper bound.
std::uint64_t pods_together(const OwnerRecord& o, std::size_t role) {
  const OwnerRole& own = o.roles[role];
  if (own.stated > 0) return own.stated;
  // A pod is alone if only a webhook has added its GPUs, or if the gang needs none of its role.
  const bool counts = own.has_gpus() && own.copies > 0 && own.pods > 0;
  if (o.together == Together::kAll && !counts) return 1;
  if (o.together == Together::kNone || own.independent) return 1;
  if (o.together == Together::kEachJob) return own.pods;
  std::uint64_t sum = 0;
  for (const OwnerRole& r : o.roles) {
    if (!r.has_gpus() || r.independent) continue;
    sum += o.together == Together::kAll ? std::uint64_t{r.copies} * r.pods : r.pods;
  }
  return sum;
}

}  // namespace

std::uint32_t OwnerRecord::gang_size(std::size_t role) const {
  const std::uint64_t pods = pods_together(*this, role);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(pods, 1, limits::kMaxPodsPerJob));
}

// The items of a list do not name their kind, so the caller passes the kind.
Result<OwnerRecord> read_owner(OwnerKind kind, json::Value object, const ExtraGpuResources& extra) {
  OwnerRecord out;
  out.kind = kind;
  OwnerReader reader(out, extra);
  reader.metadata(object);
  if (out.uid.empty() || out.name.empty()) {
    return Error{ErrorCode::kInvalid, out.uid.empty() ? "metadata.uid" : "metadata.name", "",
                 "want an object as the API server sent it"};
  }
  const auto spec = json::member(object, "spec");
  if (!spec) return out;
  (reader.*row_of(kind).read)(*spec, json::member(object, "status"));
  if (reader.full()) {
    return Error{ErrorCode::kInvalid, "spec", "",
                 "want at most " + std::to_string(limits::kMaxTemplates) + " pod templates"};
  }
  for (std::size_t role = 0; role < out.roles.size(); ++role) {
    if (pods_together(out, role) > limits::kMaxPodsPerJob) return too_many_pods(role);
  }
  return out;
}

Result<OwnerRecord> read_owner(json::Value object, const ExtraGpuResources& extra) {
  const std::string_view version = json::text(object, "apiVersion");
  const std::string_view kind = json::text(object, "kind");
  const OwnerKindRow* const row = find_owner_kind(version, kind);
  if (row != nullptr) return read_owner(row->kind, object, extra);
  return Error{ErrorCode::kNotFound, "kind", std::string(version) + " " + std::string(kind),
               "want a kind of owner that is read"};
}

}  // namespace subak
