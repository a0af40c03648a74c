// The jobs of one cluster that may give back GPUs of one product, so that another job gets them. A
// search for claims makes the list when it begins, and updates it after each claim that it makes
// (docs/design/0049). A claim sets GPUs aside for a waiting job, the claimant; the jobs that must
// end for it are its victims.
//
// Threads: one at a time; the objects refer to the state.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "accounting/quota/without.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// A giver: a job that may give back its GPUs of one product.
struct Giver {
  const state::Job* job = nullptr;
  // The milli-GPU of the product that the job holds.
  MilliGpu milligpu = 0;
  // The index of the giver in Candidates::givers().
  std::uint32_t index = 0;
};

// The givers, by account.
struct GiverTree {
  // The givers of each account, in the order in which they give GPUs back.
  std::map<AccountId, std::vector<Giver>> jobs;
  // For each account, its children with givers at or below them, in the order in which they give
  // GPUs back.
  std::map<AccountId, std::vector<AccountId>> children;
};

// True if giver `a` gives before giver `b`. Both are jobs of the same account. Jobs that are not
// is_slow() come first, then the lowest priority, then the latest start.
bool gives_before(const State& s, const Giver& a, const Giver& b);
// True if the job's grace period is longer than Policy::reclaim_max_grace_ms. Such a job gives
// last.
bool is_slow(const State& s, const state::Job& job);
// True if account `a` gives before its sibling `b`: `a` holds more GPUs for each of its shares.
// `left`: the holdings of the accounts, without the jobs that give or end.
bool has_more(const AccountTree& tree, const WithoutHoldings& left, AccountId a, AccountId b);

// The givers of one cluster and product, and the figures by which the search chooses among them.
class Candidates {
 public:
  // The state must outlive the object. While the object exists, only new claims may change the
  // state, and each must be passed to follow(). O(nodes and holds of the cluster + victims of all
  // claims).
  Candidates(const State& s, ClusterId cluster, ProductId product);

  ProductId product() const { return product_; }
  // The present nodes with this product, ascending.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  // The milli-GPU of the largest of these nodes.
  MilliGpu largest_node() const { return largest_node_; }
  // The free milli-GPU of these nodes, including nodes that take no pods.
  MilliGpu free() const { return free_; }
  // All givers, ascending by job id. A giver that became a victim stays in the list, but may_give()
  // is then false.
  const std::vector<Giver>& givers() const { return givers_; }
  bool may_give(std::uint32_t index) const { return may_give_[index]; }
  // The givers by account, without the victims of claims.
  const GiverTree& tree() const { return tree_; }
  // Jobs that are already ending, for any reason, and are not victims of a claim.
  const std::vector<const state::Job*>& ending() const { return ending_; }
  // The GPUs that each account would hold if the jobs of ending() and the victims of all claims had
  // ended. Claimed GPUs count as held by the claimant's account.
  const WithoutHoldings& left() const { return left_; }
  // The milli-GPU of the product that victims of claims hold.
  MilliGpu claimed() const { return claimed_; }

  // Returns the givers of the list `givers` as a tree. O(givers x depth).
  GiverTree tree_of(const std::vector<Giver>& givers) const;

  // True if note_spent() was called for the account, so that it gives nothing: its quota covers all
  // its GPUs in left().
  bool is_spent(AccountId id) const;
  // Records that the account gives nothing. The record is valid until a claim changes the GPUs of
  // the account.
  void note_spent(AccountId id) const;

  // Updates the givers. Call follow() after each claim that was made.
  void follow(const state::Claim& claim);

 private:
  void collect(ClusterId cluster);
  void add(const state::Job& job);
  void add_to(GiverTree& tree, const Giver& giver) const;
  void sort(GiverTree& tree) const;
  // leave_order() removes the account from the order of its siblings. enter_order() adds it again.
  void leave_order(AccountId id);
  void enter_order(AccountId id);
  void remove(const state::Job& job);

  const State& s_;
  const ProductId product_;
  std::vector<NodeId> nodes_;
  MilliGpu largest_node_ = 0, free_ = 0, claimed_ = 0;
  std::vector<Giver> givers_;
  std::vector<bool> may_give_;
  GiverTree tree_;
  std::vector<const state::Job*> ending_;
  WithoutHoldings left_;
  // A cache for is_spent(); the index is AccountId::value.
  mutable std::vector<bool> spent_;
};

}  // namespace subak::derive
