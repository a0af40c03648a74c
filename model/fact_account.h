// Facts about accounts of the account tree. Part of model/fact.h, which says what a fact is:
// include that header instead.
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "model/method.h"

namespace subak::fact {

// Creates an account or replaces its settings. A new account is added below its parent, which the
// account's path names.
struct AccountSet {
  static constexpr std::string_view kName = "account_set";
  // The account's id, never 0. The engine assigns the id when it creates the account.
  AccountId id;
  AccountSpec spec;
  // One more than the previous revision of the account.
  std::int64_t revision = 0;
  EditStamp edit;
  // Set in checkpoints only: the moves of the account to other parents (JobCounts::moves). Older
  // programs wrote the last move alone: its time, and the parent before it.
  TimeMs moved_ms = 0;
  AccountId moved_from{};
  std::vector<PastMove> moves{};
  // True: the edit changes the shares, and they also count for past usage (ShareEdit).
  bool retroactive = false;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "spec", spec);
    v(3, "revision", revision);
    v(4, "edit", edit);
    v(5, "moved_ms", moved_ms);
    v(6, "moved_from", moved_from);
    v(7, "moves", moves);
    v(8, "retroactive", retroactive);
  }
};

// The account, which has no jobs left, is removed from the tree. Its id stays in the ledger and is
// never reused.
struct AccountDeleted {
  static constexpr std::string_view kName = "account_deleted";
  AccountId id;
  EditStamp edit;
  // The settings of the deleted account, because the ledger still names it. Facts from before
  // accounts could be moved have the settings in checkpoints only.
  AccountSpec spec;
  // Set in checkpoints only.
  AccountId parent;
  std::int64_t revision = 0;
  std::vector<PastMove> moves{};
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "edit", edit);
    v(3, "spec", spec);
    v(4, "parent", parent);
    v(5, "revision", revision);
    v(6, "moves", moves);
  }
};

// The account has another path. One edit has such a fact for each account that moves: first for the
// account that the edit names, then for the accounts and users below it, parents first. The first
// of these facts gives all of them, and removed accounts below them, their new paths.
struct AccountMoved {
  static constexpr std::string_view kName = "account_moved";
  AccountId id;
  // The settings of the account with its new path.
  AccountSpec spec;
  // One more than the previous revision of the account.
  std::int64_t revision = 0;
  EditStamp edit;
  // The parent before the edit. Set only in the first fact of an edit.
  AccountId from{};
  // The path before the edit.
  std::string was{};
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "spec", spec);
    v(3, "revision", revision);
    v(4, "edit", edit);
    v(5, "from", from);
    v(6, "was", was);
  }
};

}  // namespace subak::fact
