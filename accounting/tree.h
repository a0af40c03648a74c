// The account tree: shares, quota, limits, and for every node its current holds and running GPUs
// and its decayed meters (accounting/decay.h). A start or end changes only the leaf and its
// ancestors.
//
// usage       everything that the node's jobs reserved, from reservation to end, even if another
//             account pays; a parent has the sum of its children and of its own jobs.
// surplus     allocation that the node's quota does not cover, metered at each node by itself.
// adjustment  what edits of shares add to the surplus when siblings are ordered; see set().
//
// A name keeps its number. An account that is deleted and created again continues with its usage,
// surplus and adjustment, so no account sheds its past usage. A new name begins with its siblings'
// mean (begin_at_mean), so a new name gains nothing either.
//
// The root ("", id 1) exists from the start, with shares 1, no quota of its own and revision 0.
// set() may then give it a spec like any other node (the engine's genesis fact).
//
// Errors: check() says what is wrong with a spec. No other call refuses: the engine has checked
// limits and states, and broken preconditions are asserted.
// Units: amounts in milli-GPU, decayed usage and surplus in milli-GPU x ms, times in ms.
// Threads: none; owned by the engine.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accounting/amounts.h"
#include "accounting/decay.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

inline constexpr AccountId kRootAccount{1};
// Holder and payer that are not nodes of the tree.
// holds released before binding, lost nodes, ...
inline constexpr AccountId kPlatform{0xffff'fffe};
inline constexpr AccountId kUnassigned{0xffff'fffd};  // namespaces of no account

// Whether jobs end at their time limit. Values are durable: append only.
enum class TimeLimits : std::uint8_t {
  kInherit,   // as the account above; at the root as the policy
  kAdvised,   // no: a limit only says when the job's GPUs become free
  kEnforced,  // yes
};
template <>
struct EnumText<TimeLimits> {
  static constexpr std::array<std::string_view, 3> names{"inherit", "advised", "enforced"};
};

// One node as configured. Users are leaves made on first use; their path is "<account>/<user>".
struct AccountSpec {
  std::string path;  // "ml.vision", "ml.vision/ana"; "" is the root
  bool user = false;
  std::int64_t shares = 1;  // relative to its siblings; 0 = only when no other job wants it
  ProductAmounts quota;     // guaranteed GPUs; empty: for a user 0, for an account the sum of its
                            // children's (0 for a leaf)
  ProductAmounts limit;     // most GPUs at once; empty: none
  std::string borrow;       // most above quota, all products together: "8", "gpu=8", "none" = 0;
                            // empty: unlimited. Acts as a limit of quota + borrow on the allocation
  std::string lend;         // most that others may borrow, in the same form; empty: unlimited.
                            // Checked and kept; nothing acts on it before reclaim exists
  std::vector<std::string> namespaces;  // sorted; "ns" in every cluster or "cluster/ns"
  bool held = false;                    // account hold: no job of the account starts
  bool draining = false;                // account drain: running jobs end, no new job is accepted
  TimeLimits time_limits = TimeLimits::kInherit;

  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "user", user);
    v(3, "shares", shares);
    v(4, "quota", quota);
    v(5, "limit", limit);
    v(6, "borrow", borrow);
    v(7, "lend", lend);
    v(8, "namespaces", namespaces);
    v(9, "held", held);
    v(10, "draining", draining);
    v(11, "time_limits", time_limits);
  }
  friend bool operator==(const AccountSpec&, const AccountSpec&) = default;
};

// One node with its state. Ids index a dense vector; children are ordered by id. Jobs may sit at
// any node, also at an account that has users. The fields that a pass reads of every sibling come
// first, in cache lines of their own: identity and allocation, then the two meters of the sort. The
// other fields that a start or end changes follow.
struct alignas(64) AccountNode {
  AccountId id;
  AccountId parent;                // none for the root
  MilliGpu held = 0, running = 0;  // sums over products
  MilliGpu quota_total = 0;        // of quota
  GpuTime usage_total;             // undecayed usage up to usage_as_of
  TimeMs usage_as_of = 0;
  std::uint32_t changes = 0;  // rises when a meter changes, or the allocation at or below it
  alignas(64) DecayedMeter surplus;
  DecayedMeter adjustment;  // of share edits; decays with the rest (rate always 0)
  alignas(64) DecayedMeter usage;
  std::vector<ProductLevel> levels;  // by product
  // By product, 0 = any. `quota` is the effective one: its own, or the sum of its children's.
  std::vector<std::pair<ProductId, MilliGpu>> quota, limit;
  std::optional<MilliGpu> borrow;   // as parsed; none: unlimited
  std::vector<AccountId> children;  // live ones, by id
  AccountSpec spec;
  std::int64_t revision = 0;
  std::uint32_t depth = 0;  // root 0
  std::uint32_t below = 0;  // live nodes at or below it
  bool removed = false;     // stays for the ledger; never scheduled
  MilliGpu alloc() const { return held + running; }
};

// Parses the `borrow` or `lend` of a spec; none: unlimited. kInvalid, with `field`, for an amount
// of one product and for text that is no amount.
Result<std::optional<MilliGpu>> parse_borrow(std::string_view text, std::string_view field);

// All accounts and users, live and removed.
class AccountTree {
 public:
  // Half-life 0: usage does not decay.
  explicit AccountTree(DurationMs half_life_ms = 7 * kDayMs);
  const DecayClock& clock() const { return clock_; }

  // --- structure ---------------------------------------------------------------------------------
  // Returns why set() would refuse the spec, by its field; nothing if it would accept it. kInvalid:
  // the path's form (labels [a-z0-9_-]+ joined by dots, a user below an account), a value out of
  // range, or a list that is not sorted. kNotFound: no parent. kExists: another account's
  // namespace. kExhausted: too many accounts.
  std::optional<Error> check(const AccountSpec& spec) const;
  // Creates the node `id`, revives it if it was removed, or replaces its spec. check() must have
  // passed. `quota` and `limit` are those of the spec by product id. A node keeps its path for
  // ever, and a path its node: `id` is id_for(spec.path) (asserted), except when a checkpoint names
  // all nodes.
  //
  // A change of shares adds the adjustment that keeps (surplus + adjustment) / shares continuous at
  // `now`; none if the old or the new shares are 0. A change of quota changes the surplus from
  // `now` on, also that of ancestors without a quota of their own.
  void set(AccountId id, const AccountSpec& spec, std::int64_t revision, TimeMs now,
           const std::vector<std::pair<ProductId, MilliGpu>>& quota,
           const std::vector<std::pair<ProductId, MilliGpu>>& limit);
  // Sets the adjustment of a node that set() just made, under a name that never existed. It puts
  // the node at its siblings' mean: shares x (sum of sort_surplus / sum of shares) over those with
  // shares. Jobs of an account without a user are siblings of its users too, with shares 1 and
  // their past usage. So the node's target (accounting/order.h) is exactly its share. Asserts that
  // nothing is allocated. O(siblings).
  void begin_at_mean(AccountId id, TimeMs now);
  // Removes a node. It must not be the root, and must have no live children and no allocation
  // (asserted). From `now` on its quota is missing from ancestors that have none of their own.
  void remove(AccountId id, TimeMs now);
  // Restores a node that a checkpoint lists as removed. It takes its id, and find() never returns
  // it.
  void restore_removed(AccountId id, AccountId parent, const AccountSpec& spec,
                       std::int64_t revision);
  AccountId find(std::string_view path) const;  // none if unknown or removed
  // Returns the parent of any path, whether the node exists or not; none for the root, or without a
  // parent.
  AccountId parent_of(std::string_view path) const;
  // Returns the account that names "cluster/ns", else the one that names "ns"; none if no account
  // does.
  AccountId find_namespace(std::string_view cluster, std::string_view ns) const;
  // Asserts that the node exists. The reference is valid until a node is added.
  const AccountNode& node(AccountId id) const {
    assert(exists(id));
    return nodes_[id.value];
  }
  // Prefetches what a pass reads of the node: allocation, surplus and adjustment.
  void prefetch(AccountId id) const {
    const AccountNode* const node = nodes_.data() + id.value;
    __builtin_prefetch(node);
    __builtin_prefetch(&node->surplus);
    __builtin_prefetch(&node->adjustment);
  }
  // True also for a removed node: its history stays.
  bool exists(AccountId id) const {
    return id.value != 0 && id.value < nodes_.size() && nodes_[id.value].id == id;
  }
  AccountId next_id() const;  // the id that the next new name gets
  // Returns the number of this path: the live node's, the removed one's, else next_id().
  AccountId id_for(std::string_view path) const;
  // Returns the revision of its next edit. Revisions continue when a removed node is created again.
  // 1 if it never existed.
  std::int64_t next_revision(AccountId id) const { return exists(id) ? node(id).revision + 1 : 1; }
  std::vector<AccountId> preorder() const;  // live nodes, parents first, by id

  // --- holds and running jobs --------------------------------------------------------------------
  // O(depth) each. `leaf` is the job's node; its ancestors follow.
  //
  // Begins a hold: held GPUs, usage and surplus rise on the whole path.
  void hold(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now);
  // Turns held into running. Usage does not change.
  void bind(AccountId leaf, ProductId product, MilliGpu amount, TimeMs now);
  // Ends held (`was_running` false) or running GPUs. `now` may lie before the node's last change,
  // if an end was reported late. Usage is exact then too; surplus changes as of that last change.
  void release(AccountId leaf, ProductId product, MilliGpu amount, bool was_running, TimeMs now);

  // --- reads, in milli-GPU x ms or milli-GPU -----------------------------------------------------
  // `t` must not be before the node's last change. To read many nodes at one instant, pass a
  // DecayInstant (clock().at(t)): then each read costs a few ns.
  double usage(AccountId id, TimeMs t) const { return usage(id, clock_.at(t)); }
  double usage(AccountId id, const DecayInstant& at) const;
  double surplus(AccountId id, TimeMs t) const;  // without the adjustment
  double sort_surplus(AccountId id, TimeMs t) const { return sort_surplus(id, clock_.at(t)); }
  double sort_surplus(AccountId id, const DecayInstant& at) const;  // surplus + adjustment, >= 0
  // The same for all instants of these half-lives, while nothing changes. For a finite half-life.
  DecayedMeter::Course sort_surplus_course(AccountId id, std::int64_t half_lives) const;
  GpuTime usage_undecayed(AccountId id, TimeMs t) const;  // exact

  // --- checkpoint --------------------------------------------------------------------------------
  // Restores the saved meters of `id`. Call it after every node is set and after the open holds
  // were replayed with hold() and bind() (at any time).
  void restore_meters(AccountId id, const DecayedMeter::State& usage,
                      const DecayedMeter::State& surplus, const DecayedMeter::State& adjustment,
                      GpuTime usage_total, TimeMs usage_as_of);

  // Sets another half-life: every decayed meter and adjustment starts again from zero at `now`, at
  // its present rate. restore_meters() may then set values that a reader computed. Undecayed usage
  // stays.
  void restart_meters(DurationMs half_life_ms, TimeMs now);

  // Rises with every edit of the structure: specs, children, effective quotas, half-life.
  std::uint64_t structure_version() const { return edited_.size(); }
  // Returns the nodes that were edited or removed, or got another effective quota, since
  // structure_version() was `version`: in order, some of them twice.
  std::span<const AccountId> edited_since(std::uint64_t version) const {
    assert(version <= edited_.size());
    return std::span(edited_).subspan(version);
  }
  // Asserts the invariants of every node. O(nodes); for tests.
  void check_invariants() const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  using IdByText = std::unordered_map<std::string, AccountId, TextHash, std::equal_to<>>;
  using Amounts = std::vector<std::pair<ProductId, MilliGpu>>;

  AccountNode& at(AccountId id);
  AccountNode& slot(AccountId id);  // makes room up to id
  AccountNode& create(AccountId id, const AccountSpec& spec);
  void revive(AccountNode& node);
  void add_to_parent(AccountNode& node);
  void adjust_for_shares(AccountNode& node, std::int64_t new_shares, TimeMs now);
  void replace_namespaces(AccountNode& node, const std::vector<std::string>& namespaces);
  // Sets the node's next effective quota, and updates the ancestors whose quota depends on it.
  void refresh_quota(AccountNode* node, Amounts next, TimeMs now);
  Amounts quota_of_children(const AccountNode& parent) const;
  void refresh_surplus(AccountNode& node, const DecayInstant& now);
  void change_path(AccountId leaf, ProductId product, MilliGpu held, MilliGpu running, TimeMs now);
  void check_node(const AccountNode& node) const;
  std::optional<Error> check_room(const AccountSpec& spec, AccountId parent) const;
  std::optional<Error> check_place(const AccountSpec& spec) const;
  std::optional<Error> check_namespaces(const AccountSpec& spec) const;
  DecayClock clock_;
  std::vector<AccountNode> nodes_;  // index = id
  std::size_t live_ = 0;            // nodes that are not removed
  IdByText by_path_;                // look-up only, never iterated
  IdByText removed_by_path_;
  IdByText by_namespace_;
  std::vector<AccountId> edited_;  // as edited_since() tells
};

}  // namespace subak
