// One node by time, against a count that knows nothing of how it is made.
#include "engine/plan/plan_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace subak::derive {
namespace {

// Who has how much at one time, the free part under nobody: by the words of plan_node.h alone.
using Held = std::map<std::pair<int, JobId>, MilliGpu>;  // kind; -1: closed, -2: free

Held held_at(const NodeTime& node, TimeMs at) {
  Held out;
  MilliGpu left = node.installed;
  const auto take = [&](int kind, JobId job, MilliGpu wants) {
    const MilliGpu has = std::min(wants, left);
    if (has > 0) out[{kind, job}] += has;
    left -= has;
  };
  for (const auto& hold : node.runs) {
    if (hold.to_ms > at) take(0, hold.job, hold.milligpu);
  }
  take(-1, JobId(), node.is_closed(at) ? left : node.lost);
  for (const auto& hold : node.coming) {
    if (hold.from_ms <= at && at < hold.to_ms) take(2, hold.job, hold.milligpu);
  }
  if (node.reserved_for && at < node.reserved_until_ms) take(1, node.reserved_for, left);
  if (left > 0) out[{-2, JobId()}] = left;
  return out;
}

NodeTime random_node(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  NodeTime node;
  node.installed = 1000 * (1 + below(8));
  if (below(3) == 0) {
    node.closed_from_ms = below(2) * below(40);
    node.closed_until_ms = node.closed_from_ms + below(60);
  }
  node.lost = below(3) == 0 ? 1000 * below(3) : 0;
  for (int i = below(4); i > 0; --i) {
    node.runs.push_back({JobId(static_cast<std::uint64_t>(i)), 500 * (1 + below(8)), 0, below(50)});
  }
  TimeMs from = 0;
  for (int i = below(6); i > 0; --i) {  // by start, as held_at() goes through them
    from += below(15);
    node.coming.push_back(
        {JobId(10 + static_cast<std::uint64_t>(i)), 500 * (1 + below(8)), from, from + below(30)});
  }
  if (below(2) == 0) {
    node.reserved_for = JobId(99);
    node.reserved_until_ms = below(60);
  }
  return node;
}

TEST(PlanNode, EachMomentIsAsANaiveCountSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const NodeTime node = random_node(random);
    const auto pieces = pieces_of(node, 0, 50);
    for (TimeMs at = 0; at < 50; ++at) {
      Held held;
      MilliGpu sum = 0;
      for (const PlanPiece& piece : pieces) {
        if (piece.from_ms > at || piece.to_ms <= at) continue;
        held[{piece.kind ? static_cast<int>(*piece.kind) : -1, piece.job}] += piece.milligpu;
        sum += piece.milligpu;
      }
      ASSERT_LE(sum, node.installed);
      if (sum < node.installed) held[{-2, JobId()}] = node.installed - sum;
      ASSERT_EQ(held, held_at(node, at)) << "round " << round << " at " << at;
    }
  }
}

TEST(PlanNode, WhatDoesNotChangeIsOnePiece) {
  NodeTime node;
  node.installed = 8000;
  node.runs = {{JobId(1), 2000, 0, 40}, {JobId(2), 1000, 0, 10}};
  node.coming = {{JobId(3), 1000, 20, 100}};
  const auto pieces = pieces_of(node, 0, 50);
  const std::vector<PlanPiece> want{{PlanKind::kRuns, JobId(1), 0, 40, 2000},
                                    {PlanKind::kRuns, JobId(2), 0, 10, 1000},
                                    {PlanKind::kForecast, JobId(3), 20, 50, 1000}};
  EXPECT_EQ(pieces, want);
}

TEST(PlanNode, ManyThatComeOneAfterTheOtherCostNoSquare) {
  NodeTime node;
  node.installed = 8000;
  for (int i = 0; i < 50'000; ++i) {
    node.coming.push_back({JobId(static_cast<std::uint64_t>(i) + 1), 1000, i, i + 8});
  }
  EXPECT_EQ(pieces_of(node, 0, 50'000).size(), 50'000u);
}

}  // namespace
}  // namespace subak::derive
