#include "server/edge/provisioning/provisioning_plan.h"

#include <algorithm>
#include <utility>

#include "core/edge_limits.h"

namespace subak {
namespace {

using Newest = std::map<JobId, const ProvisioningRequest*>;

// Returns the newest request of each job. Puts all others into `drop`.
Newest newest_of(const std::map<std::string, RequestCache::Entry>& requests,
                 std::vector<ProvisioningRequest>& drop) {
  Newest out;
  for (const auto& [key, entry] : requests) {
    const auto [at, is_new] = out.try_emplace(entry.request.job, &entry.request);
    if (is_new) continue;
    const bool newer = at->second->number < entry.request.number;
    drop.push_back(newer ? *at->second : entry.request);
    if (newer) at->second = &entry.request;
  }
  return out;
}

ProvisioningRequest next_of(const NodeDemand& demand, const ProvisioningRequest* last) {
  ProvisioningRequest out;
  out.ns = demand.ns;
  out.class_name = demand.class_name;
  out.job = demand.job;
  out.number = last == nullptr ? 1 : last->number + 1;
  out.name = provisioning_name(out.job, out.number);
  out.digest = demand.digest;
  return out;
}

bool may_make(const NodeDemand& demand, const ProvisioningRequest* last, TimeMs now_ms) {
  if (!demand.needs_more) return false;
  if (last == nullptr) return true;
  if (last->number == UINT32_MAX) return false;
  if (!last->going && !has_ended(last->state) && last->digest == demand.digest) return false;
  const TimeMs since_ms = std::min(last->since_ms, now_ms);
  return now_ms - since_ms >= provisioning_pause(last->number);
}

// True if the request of a job that does not wait for nodes stays.
bool may_stay(const ProvisioningRequest& request, TimeMs unneeded_ms, TimeMs now_ms) {
  if (now_ms - unneeded_ms < limits::kProvisioningUnneededMs) return true;
  return request.state == ProvisioningState::kProvisioned &&
         now_ms - request.since_ms < limits::kProvisionedKeptMs;
}

}  // namespace

DurationMs provisioning_pause(std::uint32_t number) {
  const std::uint32_t doubled = std::min<std::uint32_t>(std::max(number, 1U) - 1, 16);
  return std::min(limits::kProvisioningRetryMs << doubled, limits::kMaxProvisioningRetryMs);
}

ProvisioningPlan plan_provisioning(const DemandPage& page,
                                   const std::map<std::string, RequestCache::Entry>& requests,
                                   const UnneededSince& unneeded, TimeMs now_ms) {
  ProvisioningPlan plan;
  Newest newest = newest_of(requests, plan.drop);
  for (const NodeDemand& demand : page.jobs) {
    const auto at = newest.find(demand.job);
    const ProvisioningRequest* const last = at == newest.end() ? nullptr : at->second;
    if (may_make(demand, last, now_ms)) plan.make.push_back({&demand, next_of(demand, last)});
    if (at != newest.end()) newest.erase(at);
  }
  for (const auto& [job, request] : newest) {
    const auto since = unneeded.find(job);
    const TimeMs since_ms = since == unneeded.end() ? now_ms : since->second;
    if (page.unbound.contains(job) && may_stay(*request, since_ms, now_ms)) {
      plan.unneeded.emplace(job, since_ms);
    } else {
      plan.drop.push_back(*request);
    }
  }
  std::erase_if(plan.drop, [](const ProvisioningRequest& request) { return request.going; });
  return plan;
}

}  // namespace subak
