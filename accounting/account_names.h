// Finds accounts by name: by path, and by a namespace that belongs to an account.
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

// A path always means the same account, live or removed. A namespace belongs to at most one
// account. Look-ups are O(1); nothing iterates over the names.
class AccountNames {
 public:
  // find() returns the live account of this path, and find_removed() the removed one. Both return
  // none if there is no such account.
  AccountId find(std::string_view path) const { return look_up(live_, path); }
  AccountId find_removed(std::string_view path) const { return look_up(removed_, path); }
  // Returns the account that names "cluster/ns", else the one that names "ns"; none if no account
  // does.
  AccountId find_namespace(std::string_view cluster, std::string_view ns) const;
  // Returns the account whose spec has exactly this name, "ns" or "cluster/ns". Returns none if no
  // spec has it.
  AccountId owner_of(std::string_view name) const { return look_up(by_namespace_, name); }
  // Returns the number of live accounts.
  std::size_t live() const { return live_.size(); }

  // Adds the path of a live account. If a removed account has this path, its id must be the same
  // (asserted).
  void add(const std::string& path, AccountId id);
  // Marks the account of the path as removed. It must be live (asserted).
  void remove(const std::string& path, AccountId id);
  // Adds the path of a removed account. It must be new (asserted).
  void add_removed(const std::string& path, AccountId id);
  // Replaces the namespaces of an account. The account must have exactly `was`, and no other
  // account may have one of `next` (both asserted).
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
