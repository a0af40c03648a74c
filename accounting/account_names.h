// The names of accounts: paths, and the namespaces that belong to accounts.
//
// Errors: none; a broken invariant ends the process.
// Threads: none; the account tree owns it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ids.h"

namespace subak {

// A path has one account for ever, live or removed. A namespace belongs to at most one account.
// Look-ups are O(1); nothing iterates over the names.
class AccountNames {
 public:
  // Returns the live account of this path, or the removed one; none if there is none.
  AccountId find(std::string_view path) const { return look_up(live_, path); }
  AccountId find_removed(std::string_view path) const { return look_up(removed_, path); }
  // Returns the account that names "cluster/ns", else the one that names "ns"; none if no account
  // does.
  AccountId find_namespace(std::string_view cluster, std::string_view ns) const;
  // Returns the account whose spec has exactly this name, "ns" or "cluster/ns"; none if no spec
  // has.
  AccountId owner_of(std::string_view name) const { return look_up(by_namespace_, name); }
  // Returns the number of live accounts.
  std::size_t live() const { return live_.size(); }

  // Makes the path that of a live account. A removed account of this path has the same id
  // (asserted).
  void add(const std::string& path, AccountId id);
  // Makes the account of the path a removed one. It must be live (asserted).
  void remove(const std::string& path, AccountId id);
  // Adds the path of a removed account. It must be new (asserted).
  void add_removed(const std::string& path, AccountId id);
  // Replaces the namespaces of an account. It has exactly `was`, and no other account has one of
  // `next` (both asserted).
  void set_namespaces(AccountId id, const std::vector<std::string>& was,
                      const std::vector<std::string>& next);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  using IdByText = std::unordered_map<std::string, AccountId, TextHash, std::equal_to<>>;
  static AccountId look_up(const IdByText& map, std::string_view text);

  IdByText live_, removed_;  // by path
  IdByText by_namespace_;
};

}  // namespace subak
