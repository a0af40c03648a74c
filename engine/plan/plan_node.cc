#include "engine/plan/plan_node.h"

#include <algorithm>
#include <utility>

#include "core/must.h"

namespace subak::derive {
namespace {

// Returns the times at which the node changes, sorted and each once. The first time is `from_ms`,
// and the last time is `to_ms`.
std::vector<TimeMs> changes(const NodeTime& node, TimeMs from_ms, TimeMs to_ms) {
  std::vector<TimeMs> out{from_ms, to_ms, node.reserved_until_ms, node.closed_from_ms,
                          node.closed_until_ms};
  for (const NodeTime::Hold& hold : node.runs) out.push_back(hold.to_ms);
  for (const NodeTime::Hold& hold : node.coming) {
    out.push_back(hold.from_ms);
    out.push_back(hold.to_ms);
  }
  for (TimeMs& at : out) at = std::clamp(at, from_ms, to_ms);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  must(out.front() == from_ms && out.back() == to_ms, "the changes have both ends");
  return out;
}

// Collects the pieces, interval by interval. If a job has the same amount as in the previous
// interval, the class extends the job's piece.
class Pieces {
 public:
  void begin() { before_ = std::exchange(here_, {}); }
  void add(PlanPiece one) {
    must(one.from_ms < one.to_ms, "a piece takes some time");
    if (one.milligpu <= 0) return;
    for (const std::size_t i : before_) {
      PlanPiece& piece = pieces_[i];
      if (piece.kind != one.kind || piece.job != one.job || piece.milligpu != one.milligpu)
        continue;
      piece.to_ms = one.to_ms;
      here_.push_back(i);
      return;
    }
    here_.push_back(pieces_.size());
    pieces_.push_back(one);
  }
  std::vector<PlanPiece> take() && {
    std::sort(pieces_.begin(), pieces_.end());
    return std::move(pieces_);
  }

 private:
  std::vector<PlanPiece> pieces_;
  std::vector<std::size_t> before_, here_;  // indexes of pieces: previous interval, this one
};

// Adds a piece for each hold, in the order of the holds. Each hold takes its GPUs from `left`.
void add(const std::vector<NodeTime::Hold>& holds, PlanKind kind, TimeMs a, TimeMs b,
         MilliGpu& left, Pieces& out) {
  for (const NodeTime::Hold& hold : holds) {
    const MilliGpu has = std::min(hold.milligpu, left);
    must(has <= left, "a hold takes from what is left");
    out.add({kind, hold.job, a, b, has});
    left -= has;
  }
}

}  // namespace

std::vector<PlanPiece> pieces_of(NodeTime node, TimeMs from_ms, TimeMs to_ms) {
  const std::vector<TimeMs> times = changes(node, from_ms, to_ms);
  std::vector<NodeTime::Hold> coming;  // holds of `node.coming` that have begun by now
  std::stable_sort(node.coming.begin(), node.coming.end(),
                   [](const auto& a, const auto& b) { return a.from_ms < b.from_ms; });
  auto next = node.coming.begin();
  Pieces out;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const TimeMs a = times[i], b = times[i + 1];
    out.begin();
    for (; next != node.coming.end() && next->from_ms <= a; ++next) coming.push_back(*next);
    const auto is_over = [a](const NodeTime::Hold& hold) { return hold.to_ms <= a; };
    std::erase_if(node.runs, is_over);
    std::erase_if(coming, is_over);
    MilliGpu left = node.installed;
    add(node.runs, PlanKind::kRuns, a, b, left, out);
    const MilliGpu closed = node.is_closed(a) ? left : std::min(node.lost, left);
    out.add({std::nullopt, JobId(), a, b, closed});
    left -= closed;
    must(left >= 0, "a node has no less than nothing left");
    add(coming, PlanKind::kForecast, a, b, left, out);
    if (node.reserved_for && a < node.reserved_until_ms) {
      out.add({PlanKind::kIdle, node.reserved_for, a, b, left});
    }
  }
  return std::move(out).take();
}

}  // namespace subak::derive
