#include "accounting/account_names.h"

#include "core/must.h"

namespace subak {

AccountId AccountNames::look_up(const IdByText& map, std::string_view text) {
  const auto it = map.find(text);
  return it == map.end() ? AccountId() : it->second;
}

AccountId AccountNames::find_namespace(std::string_view cluster, std::string_view ns) const {
  std::string key;
  key.reserve(cluster.size() + 1 + ns.size());
  key.append(cluster).append(1, '/').append(ns);
  const AccountId own = owner_of(key);
  return own ? own : owner_of(ns);
}

void AccountNames::add(const std::string& path, AccountId id) {
  if (const auto gone = removed_.find(path); gone != removed_.end()) {
    must(gone->second == id, "a path keeps its number");
    removed_.erase(gone);
  }
  must(live_.emplace(path, id).second, "a path has one live account");
}

void AccountNames::remove(const std::string& path, AccountId id) {
  must(find(path) == id, "only a live account is removed");
  live_.erase(path);
  must(removed_.emplace(path, id).second, "a path has one account");
}

void AccountNames::add_removed(const std::string& path, AccountId id) {
  must(!find(path), "a removed account is not live");
  must(removed_.emplace(path, id).second, "a path keeps its number");
}

void AccountNames::rename(const std::string& from, const std::string& to, AccountId id) {
  must(!find(to) && !find_removed(to), "a path has one account");
  const bool is_live = find(from) == id;
  IdByText& names = is_live ? live_ : removed_;
  must(look_up(names, from) == id, "an account leaves its own path");
  names.erase(from);
  names.emplace(to, id);
  if (is_live) left_.push_back(from);
}

void AccountNames::set_namespaces(AccountId id, const std::vector<std::string>& was,
                                  const std::vector<std::string>& next) {
  for (const std::string& name : was) {
    const auto owner = by_namespace_.find(name);
    if (owner != by_namespace_.end() && owner->second == id) by_namespace_.erase(owner);
  }
  for (const std::string& name : next) by_namespace_[name] = id;
}

}  // namespace subak
