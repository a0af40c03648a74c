#include "server/edge/events/domain_notices.h"

#include "core/duration.h"
#include "core/edge_limits.h"
#include "core/text.h"

namespace subak {

void DomainNotices::look(std::int64_t monotonic_ms) {
  constexpr DurationMs kEveryMs = 10 * kSecondMs;
  if (monotonic_ms < due_ms_) return;
  due_ms_ = monotonic_ms + kEveryMs;
  std::set<std::pair<std::string, std::string>> late;
  for (const auto& [key, entry] : cache_.domains().all()) {
    if (!entry.object.is_ours()) continue;
    for (const auto& [node, since_ms] : entry.not_ready_since) {
      if (monotonic_ms - since_ms < limits::kDomainNodeLateMs) continue;
      late.emplace(entry.object.uid, node);
      if (!told_.contains({entry.object.uid, node})) tell(entry.object, node);
    }
  }
  late_ = late.size();
  told_ = std::move(late);
}

void DomainNotices::tell(const ComputeDomain& domain, const std::string& node) {
  PodEvent event;
  event.api_version = "resource.nvidia.com/v1beta1";
  event.kind = "ComputeDomain";
  event.ns = domain.ns;
  event.name = domain.name;
  event.uid = domain.uid;
  if (!domain.owner.uid.empty()) {
    event.api_version = domain.owner.api_version;
    event.kind = domain.owner.kind;
    event.name = domain.owner.name;
    event.uid = domain.owner.uid;
  }
  event.reason = "ComputeDomainNotReady";
  event.action = "WatchComputeDomain";
  event.note = "job " + text::job_id_text(domain.job) + ": ComputeDomain " + domain.ns + "/" +
               domain.name + ": status.nodes[" + node + "].status has not been Ready for " +
               format_duration(limits::kDomainNodeLateMs) +
               "; the pods on the node cannot share memory with the others";
  event.warning = true;
  recorder_.tell(std::move(event));
}

}  // namespace subak
