#include "server/edge/cache/namespace_cache.h"

#include <utility>
#include <vector>

#include "core/names.h"

namespace subak {

void NamespaceCache::see(const WatchEvent& event) {
  const std::string ns(json::text_in(event.object, "metadata", "name"));
  const auto metadata = json::member(event.object, "metadata");
  const auto labels = metadata ? json::member(*metadata, "labels") : std::nullopt;
  std::string account;
  if (labels && event.kind != WatchKind::kDeleted) account = json::text(*labels, names::kAccount);
  const auto known = entries_.find(ns);
  if (ns.empty() || (known == entries_.end() && account.empty())) return;
  Entry& entry = entries_[ns];
  entry.list = round_.number();
  if (entry.account == account) return;
  entry.account = std::move(account);
  tell(ns, entry.account);
}

bool NamespaceCache::complete() {
  std::vector<std::string> gone;
  for (const auto& [ns, entry] : entries_) {
    if (entry.list != round_.number()) gone.push_back(ns);
  }
  if (!round_.believe(gone.size(), entries_.size())) return false;
  for (const std::string& ns : gone) {
    entries_.erase(ns);
    tell(ns, "");
  }
  return true;
}

void NamespaceCache::tell(const std::string& ns, const std::string& account) {
  outbox_.changed(about::Namespace{ns}, in::NamespaceSeen{outbox_.cluster(), ns, account});
}

}  // namespace subak
