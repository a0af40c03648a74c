// The jobs of one cluster that may give back GPUs of one product, as they are at the begin of a
// search for claims (docs/design/0084).
//
// Threads: none; borrows the state.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "accounting/quota/without.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// A job that may give back what it holds of one product.
struct Giver {
  const state::Job* job = nullptr;
  // What it holds of the product.
  MilliGpu milligpu = 0;
  // Its index in Candidates::givers().
  std::uint32_t index = 0;
};

// Jobs that may give, by account.
struct GiverTree {
  // The jobs of each account, in the order in which they give.
  std::map<AccountId, std::vector<Giver>> jobs;
  // The children of each account that have such jobs at or below them, in the order in which they
  // give.
  std::map<AccountId, std::vector<AccountId>> children;
};

// The order of the jobs of an account: true if the first of both gives first.
bool gives_before(const State& s, const Giver& a, const Giver& b);
// True if the job may take longer to end than the policy allows. Such a job gives last.
bool is_slow(const State& s, const state::Job& job);
// True if the account gives before its sibling: by what it would hold for its shares.
bool has_more(const AccountTree& tree, const WithoutHoldings& left, AccountId a, AccountId b);

class Candidates {
 public:
  // O(nodes and holds of the cluster, and victims of all claims). The state outlives it. It may
  // change only by claims, and each must be passed to follow().
  Candidates(const State& s, ClusterId cluster, ProductId product);

  ProductId product() const { return product_; }
  // The present nodes with this product; ascending.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  // The GPUs of the largest of these nodes.
  MilliGpu largest_node() const { return largest_node_; }
  // The free GPUs of these nodes, closed nodes included.
  MilliGpu free() const { return free_; }
  // All jobs that may give, ascending by id. Those that became victims stay listed: may_give().
  const std::vector<Giver>& givers() const { return givers_; }
  bool may_give(std::uint32_t index) const { return may_give_[index]; }
  // The same jobs by account, without the victims of claims.
  const GiverTree& tree() const { return tree_; }
  // Jobs that end already, for whatever reason, and are no victims of a claim.
  const std::vector<const state::Job*>& ending() const { return ending_; }
  // What all accounts would hold if these and the victims of all claims were gone.
  const WithoutHoldings& left() const { return left_; }
  // What the victims of claims hold of the product.
  MilliGpu claimed() const { return claimed_; }

  // Returns the givers of this list as a tree. O(givers x depth).
  GiverTree tree_of(const std::vector<Giver>& givers) const;

  // Accounts that, as far as left() goes, give nothing: their quota covers all that they hold.
  bool is_spent(AccountId id) const;
  // Remembers such an account, until a claim changes what it holds.
  void note_spent(AccountId id) const;

  // Call it after each claim that was made.
  void follow(const state::Claim& claim);

 private:
  void collect(ClusterId cluster);
  void add(const state::Job& job);
  void add_to(GiverTree& tree, const Giver& giver) const;
  void sort(GiverTree& tree) const;
  // Removes the account from the order among its siblings, and adds it again.
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
  // By AccountId::value; a cache.
  mutable std::vector<bool> spent_;
};

}  // namespace subak::derive
