#include "server/edge/writes/domain_state.h"

#include "core/error.h"

namespace subak {
namespace {

DomainCheck wait(const std::string& what, const std::string& why) {
  return {DomainStep::kWait, what + ": " + why};
}

// Checks the template. A user may have made a template of this name, which asks for anything.
DomainCheck check_template(const ClaimTemplate* made, const ComputeDomain& domain,
                           const std::string& key) {
  const std::string what = "ResourceClaimTemplate " + key;
  if (made == nullptr) {
    return wait(what,
                "does not exist; want it from NVIDIA's controller of ComputeDomains, which "
                "makes it for ComputeDomain " +
                    key);
  }
  if (made->domain_uid != domain.uid) {
    return wait(what, "metadata.labels[" + std::string(names::kLabelDomainUid) + "] was \"" +
                          cut_text(made->domain_uid) + "\", want \"" + domain.uid +
                          "\", the uid of ComputeDomain " + key);
  }
  if (!made->of_channel) {
    return wait(what, "spec.spec.devices.requests ask for other devices, want only class " +
                          std::string(names::kChannelClass));
  }
  return {};
}

}  // namespace

DomainCheck check_domain(const ClusterCache& cache, const std::string& key, JobId job,
                         std::uint32_t attempt) {
  const DomainCache::Entry* const entry = cache.domains().find(key);
  if (entry == nullptr) return {DomainStep::kMake, ""};
  const ComputeDomain& domain = entry->object;
  const std::string what = "ComputeDomain " + key;
  const std::string label = "metadata.labels[" + std::string(names::kAttempt) + "]";
  if (!domain.is_ours()) {
    return wait(what, label + " names no attempt of a job, so Subak did not make the object; " +
                          "delete it, or give the gang another name");
  }
  if (domain.going) {
    return wait(what,
                "metadata.deletionTimestamp is set; it is deleted when its finalizers have "
                "ended");
  }
  const std::string name = key.substr(key.find('/') + 1);
  if (domain.claim_template != name) {
    return wait(what, "spec.channel.resourceClaimTemplate.name was \"" +
                          cut_text(domain.claim_template) + "\", want \"" + name + "\"");
  }
  const bool same = domain.job == job && domain.attempt == attempt;
  if (!same && cache.domains().users(key).staying == 0) {
    return wait(what, label + " was " + attempt_label(domain.job, domain.attempt) + ", want " +
                          attempt_label(job, attempt) +
                          "; it is deleted when the pods of the earlier attempt have ended");
  }
  return check_template(cache.domains().find_template(key), domain, key);
}

DomainOwner gang_owner_of(const ClusterCache& cache, const GpuPodEntry& pod) {
  const OwnerEntry* const own = cache.owners().find(pod.owner_uid);
  const OwnerEntry* const above = own == nullptr ? nullptr : cache.owners().find(own->parent);
  if (above != nullptr)
    return {above->api_version(), std::string(above->kind()), above->name, own->parent};
  return {pod.owner_api, pod.owner_kind, pod.owner_name, pod.owner_uid};
}

}  // namespace subak
