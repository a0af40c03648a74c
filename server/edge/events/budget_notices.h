// Reports to teams that their account has spent 80 or 100 % of a budget (GPU time that it may use
// in a period). They get one Event of the type Warning on each of their namespaces. The engine
// records each part of a budget once in a period (fact::BudgetReached), so there is one Event for
// each.
// Threads: the edge's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/edge/events/event_recorder.h"

namespace subak {

// A part of a budget that an account has spent.
struct BudgetNotice {
  // The account's path, and the text of the budget, such as "10000h/month".
  std::string account, budget;
  // 80 or 100.
  std::uint32_t percent = 0;
  // When the engine recorded it.
  TimeMs at_ms = 0;
};

// Returns the namespaces of a cluster that belong to the account or to one below it, by the
// settings of accounts or by labels, in the order of their names. If there is none, as for a user,
// returns the namespaces in which jobs of the account hold GPUs. Returns only namespaces with the
// mode enforce, and at most limits::kMaxBudgetNamespaces. O(accounts + labels + pods that hold
// GPUs).
std::vector<std::string> budget_namespaces(const Engine& engine, const std::string& cluster,
                                           const std::string& account);

// The notices of one edge. They wait in a queue: the follower, the engine that serves reads, finds
// the namespaces of one after the other.
class BudgetNotices {
 public:
  // Asks the follower for a read; false: it refuses the read.
  using Read = std::function<bool(std::function<void(const Engine&)>)>;
  // Runs a task on the edge's thread. Any thread may call it.
  using Put = std::function<void(std::function<void()>)>;

  // `recorder` must outlive this object. `put` must run no task after this object is destroyed.
  BudgetNotices(std::string cluster, EventRecorder& recorder, Read read, Put put);
  BudgetNotices(const BudgetNotices&) = delete;
  BudgetNotices& operator=(const BudgetNotices&) = delete;

  // Records Events about the notice, once the follower has said on which namespaces. If
  // limits::kMaxBudgetNotices notices wait, the oldest one is dropped.
  void tell(BudgetNotice notice);
  // Asks the follower about the next notice, if no question is open. Call it in each turn.
  void turn();

 private:
  void record(const BudgetNotice& notice, const std::vector<std::string>& namespaces);

  const std::string cluster_;
  EventRecorder& recorder_;
  const Read read_;
  const Put put_;
  std::deque<BudgetNotice> waiting_;
  // True: the follower reads about the first waiting notice.
  bool asking_ = false;
};

}  // namespace subak
