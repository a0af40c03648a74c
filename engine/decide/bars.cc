// Decisions about nodes that turn pods away: the next try waits, longer each time.
#include <algorithm>

#include "core/limits.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

DurationMs length_ms(std::uint32_t times) {
  DurationMs length = limits::kFirstBarMs;
  for (std::uint32_t i = 1; i < times && length < limits::kLongestBarMs; ++i) length *= 2;
  return std::min(length, limits::kLongestBarMs);
}

void forget(Decision& d, const fact::NodeBarred& bar) {
  d.emit(fact::NodeBarred{bar.node, bar.shape, 0, 0, false});
}

}  // namespace

void bar_node(Decision& d, NodeId node, const PodShape& shape) {
  const PodShape pod = shape;  // NOLINT: facts follow, which the reference need not outlive
  const fact::NodeBarred* const known = d.s.bars().find(node, pod);
  const std::uint32_t times = known == nullptr ? 1 : known->times + 1;
  if (known == nullptr && d.s.bars().size() >= limits::kMaxBars) forget(d, d.s.bars().first());
  d.emit(fact::NodeBarred{node, pod, times, d.s.now() + length_ms(times), true});
}

void forgive_node(Decision& d, NodeId node, const PodShape& shape) {
  const fact::NodeBarred* const known = d.s.bars().find(node, shape);
  if (known != nullptr) forget(d, fact::NodeBarred(*known));
}

void end_bars(Decision& d) {
  for (const fact::NodeBarred& bar : d.s.bars().ended(d.s.now())) {
    if (bar.barred) {
      d.emit(fact::NodeBarred{bar.node, bar.shape, bar.times, bar.until_ms + limits::kBarMemoryMs,
                              false});
    } else {
      forget(d, bar);
    }
  }
}

}  // namespace subak::decide
