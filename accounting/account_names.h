// Finds accounts by name, for the account tree: by path ("ml.vision"), and by a Kubernetes
// namespace that belongs to an account.
//
// Errors: none; a broken invariant ends the process.
// Threads: one at a time; the account tree owns the object.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ids.h"

namespace subak {

// The names of all accounts. A path belongs to one account until rename(), even after the account
// is removed. A namespace belongs to at most one account. Look-ups are O(1).
class AccountNames {
 public:
  // find() returns the live account of this path, and find_removed() the removed account. Both
  // functions return none if there is no such account.
  AccountId find(std::string_view path) const { return look_up(live_, path); }
  AccountId find_removed(std::string_view path) const { return look_up(removed_, path); }
  // Returns the account whose spec names "cluster/ns". If no spec names it, returns the account
  // whose spec names "ns". Returns none if no spec has either name.
  AccountId find_namespace(std::string_view cluster, std::string_view ns) const;
  // Returns the account whose spec has exactly this name, "ns" or "cluster/ns". Returns none if no
  // spec has the name.
  AccountId owner_of(std::string_view name) const { return look_up(by_namespace_, name); }
  // Returns the number of live accounts.
  std::size_t live() const { return live_.size(); }

  // Adds the path of a live account. If a removed account has this path, it must have the same id
  // (asserted).
  void add(const std::string& path, AccountId id);
  // Marks the account of the path as removed. The account must be live (asserted).
  void remove(const std::string& path, AccountId id);
  // Adds the path of a removed account. The path must be new (asserted).
  void add_removed(const std::string& path, AccountId id);
  // Gives the account of path `from`, live or removed, the path `to`, which must be new (asserted).
  void rename(const std::string& from, const std::string& to, AccountId id);
  // Returns the paths that live accounts left by rename(), in the order of the calls.
  const std::vector<std::string>& left() const { return left_; }
  // Replaces the namespaces `was` of an account by `next`. If another account has one of `next`,
  // that namespace moves to this account. So an edit of several accounts may exchange namespaces;
  // it must then also replace the namespaces of the other account.
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
  std::vector<std::string> left_;
};

}  // namespace subak
