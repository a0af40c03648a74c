// The namespaces of a cluster: their label that names an account.
#include <string>
#include <utility>
#include <vector>

#include "core/names.h"
#include "server/edge/cluster/cards.h"

namespace subak {

void Cards::see_namespace(const WatchEvent& event) {
  const std::string ns(json::text_in(event.object, "metadata", "name"));
  const auto metadata = json::member(event.object, "metadata");
  const auto labels = metadata ? json::member(*metadata, "labels") : std::nullopt;
  std::string account;
  if (labels && event.kind != WatchKind::kDeleted) account = json::text(*labels, names::kAccount);
  const auto known = namespaces_.find(ns);
  if (ns.empty() || (known == namespaces_.end() && account.empty())) return;
  NamespaceCard& card = namespaces_[ns];
  card.list = namespace_list_;
  if (card.account == account) return;
  card.account = std::move(account);
  tell_label(ns, card.account);
}

bool Cards::complete_namespaces() {
  std::vector<std::string> gone;
  for (const auto& [ns, card] : namespaces_) {
    if (card.list != namespace_list_) gone.push_back(ns);
  }
  if (!believe(gone.size(), namespaces_.size(), namespaces_asked_)) return false;
  for (const std::string& ns : gone) {
    namespaces_.erase(ns);
    tell_label(ns, "");
  }
  return true;
}

void Cards::tell_label(const std::string& ns, const std::string& account) {
  tell_gone("s" + ns, in::NamespaceSeen{cluster_, ns, account});
}

}  // namespace subak
