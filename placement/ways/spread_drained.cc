// Spreads a run in a snapshot without holds. Nearly every node could serve there. To avoid looking
// at all of them, it uses the index's upper bounds until it chooses a domain. If less fits there,
// the result is undecided.
#include <algorithm>

#include "placement/ways/spread.h"

namespace subak {
namespace {

// Takes single nodes, each of which is a domain by itself, one after the other, with as many pods
// as the index says.
class TakeApart {
 public:
  TakeApart(GangAttempt& a, const Bounds& bounds, const Run& run)
      : a_(a), bounds_(bounds), run_(run), left_(run), each_(run.pods->shape->gpus) {
    must(each_ > 0 && run.count > 0, "pods with GPUs are spread");
  }

  // The index has the nodes in the order of spread_caps(), so it looks only at those that it takes.
  bool run() {
    const std::size_t mark = a_.trial().mark();
    std::int64_t level = std::min<std::int64_t>(run_.index.most_free() / each_, run_.count);
    for (; sure_ && left_.count > 0 && level > 0; --level) {
      const auto largest = [&](const DomainKey& d) {
        take(d.low);
        return !sure_ || left_.count <= level;
      };
      if (level < left_.count) {
        run_.index.visit({level * each_, (level + 1) * each_}, 0, {}, largest);
      }
      if (sure_ && left_.count > 0 && level >= left_.count) level = take_last();
    }
    if (sure_ && left_.count == 0) {
      must(a_.trial().mark() == mark + run_.count, "nodes apart hold all pods");
      return true;
    }
    a_.trial().undo_to(mark);
    return false;
  }

 private:
  bool take(NodeIndex i) {
    if (!a_.eligible(bounds_, run_.index, i)) return false;
    const std::int64_t most = std::min<std::int64_t>(run_.index.free(i) / each_, run_.count);
    const auto pods = static_cast<std::uint32_t>(std::min<std::int64_t>(most, left_.count));
    sure_ = a_.cap(bounds_, run_, i, kAllGpus, most) == most &&
            a_.place(bounds_, {left_.pods, left_.index, left_.rank, pods}, i, kAllGpus);
    if (!sure_) return false;
    used_.push_back(i);
    drop_first(left_, pods);
    return true;
  }

  // Called when one node has room for the rest: takes the tightest such node. Returns the level at
  // which the search goes on.
  std::int64_t take_last() {
    std::sort(used_.begin(), used_.end());
    run_.index.visit({.from = left_.count * each_}, 0, {}, [&](const DomainKey& d) {
      return !std::binary_search(used_.begin(), used_.end(), d.low) && (take(d.low) || !sure_);
    });
    return left_.count;  // all others take less
  }

  GangAttempt& a_;
  const Bounds& bounds_;
  const Run& run_;
  Run left_;                     // pods that are not placed yet
  const std::int64_t each_;      // GPUs or slices of one pod, > 0
  std::vector<NodeIndex> used_;  // nodes taken
  bool sure_ = true;             // what the index said was true so far
};

}  // namespace

bool spread_drained(GangAttempt& a, const Bounds& bounds, const Run& run) {
  const Index& x = run.index;
  const std::int64_t each = run.pods->shape->gpus;
  if (!x.drained() || each <= 0) return false;
  if (x.nodes_apart()) {
    const bool ok = TakeApart(a, bounds, run).run();
    if (ok) sort_ranks(a, run);
    return ok;
  }
  std::vector<Cap>& caps = a.memory().caps;
  caps.clear();
  std::int64_t sum = 0;
  for (NodeIndex i = 0; x.knows(i); ++i) {
    const std::int64_t most = std::min<std::int64_t>(x.free(i) / each, run.count);
    if (most <= 0 || !a.eligible(bounds, x, i)) continue;
    sum += most;
    caps.push_back({i, x.domain_of(i), most, x.held(i)});
  }
  if (sum < run.count) return false;
  const bool ok = spread_caps(a, bounds, run, caps, Caps::kUpperBounds);
  if (ok) sort_ranks(a, run);
  return ok;
}

}  // namespace subak
