// What the queue would be, and what the next pass would start, if what is only observed were
// enforced: played on a copy of the state (docs/design/0035). Threads: none; its owner's.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/decide/decide.h"
#include "engine/engine.h"
#include "engine/state/state.h"
#include "engine/view.h"
#include "placement/search.h"

namespace subak::decide {

class Would {
 public:
  // Of this state and the pods that the View says wait without us, at the later time of both. It keeps
  // nothing of either. nullptr: together they are more than limits::kMaxWouldQueue. O(state + pods),
  // and one pass.
  static std::unique_ptr<Would> make(const State& s, const View& view);

  // From the row `begin` on those at or below `account` (empty: all), at most `most`. Each that waits
  // costs one search for a place.
  std::vector<WouldRow> rows(std::string_view account, std::size_t begin, std::size_t most);

 private:
  struct Waiting {
    const state::Cluster* cluster;
    const PodRecord* pod;
  };
  static std::vector<Waiting> waiting_in(const State& s, const View& view);
  Would(const State& s, const std::vector<Waiting>& pods, TimeMs t);
  void enforce_all();
  void queue(const Waiting& waiting);
  void play_pass();
  bool is_below(JobId id, std::string_view account) const;
  WouldRow row(std::size_t index);

  State copy_;
  std::unique_ptr<Search> search_;  // of the copy
  PassMemory memory_;
  std::set<JobId> pending_;  // jobs of the copy alone
  std::size_t in_order_ =
      0;  // how many of rows_ are the order; behind them gangs that are not whole
  std::vector<JobId> rows_;
};

}  // namespace subak::decide
