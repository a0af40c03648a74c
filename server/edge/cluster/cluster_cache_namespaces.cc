// The namespaces of a cluster: their label that names an account.
#include <string>
#include <utility>
#include <vector>

#include "core/names.h"
#include "server/edge/cluster/cluster_cache.h"

namespace subak {

void ClusterCache::see_namespace(const WatchEvent& event) {
  const std::string ns(json::text_in(event.object, "metadata", "name"));
  const auto metadata = json::member(event.object, "metadata");
  const auto labels = metadata ? json::member(*metadata, "labels") : std::nullopt;
  std::string account;
  if (labels && event.kind != WatchKind::kDeleted) account = json::text(*labels, names::kAccount);
  const auto known = namespaces_.find(ns);
  if (ns.empty() || (known == namespaces_.end() && account.empty())) return;
  NamespaceEntry& entry = namespaces_[ns];
  entry.list = namespace_list_;
  if (entry.account == account) return;
  entry.account = std::move(account);
  tell_label(ns, entry.account);
}

bool ClusterCache::complete_namespaces() {
  std::vector<std::string> gone;
  for (const auto& [ns, entry] : namespaces_) {
    if (entry.list != namespace_list_) gone.push_back(ns);
  }
  if (!believe(gone.size(), namespaces_.size(), namespaces_asked_)) return false;
  for (const std::string& ns : gone) {
    namespaces_.erase(ns);
    tell_label(ns, "");
  }
  return true;
}

void ClusterCache::tell_label(const std::string& ns, const std::string& account) {
  tell_gone("s" + ns, in::NamespaceSeen{cluster_, ns, account});
}

}  // namespace subak
