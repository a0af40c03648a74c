#include "model/job.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace subak {
namespace {

using S = JobState;
constexpr std::array kStates{S::kIncomplete, S::kQueued, S::kPaused, S::kStarting,
                             S::kRunning,    S::kEnding, S::kDone};

TEST(JobStates, TheTableIsExactlyTheDrawnOne) {
  const std::set<std::pair<S, S>> drawn{
      {S::kIncomplete, S::kQueued}, {S::kIncomplete, S::kPaused}, {S::kIncomplete, S::kRunning},
      {S::kIncomplete, S::kEnding}, {S::kIncomplete, S::kDone},   {S::kQueued, S::kIncomplete},
      {S::kQueued, S::kPaused},     {S::kQueued, S::kStarting},   {S::kQueued, S::kEnding},
      {S::kQueued, S::kDone},       {S::kPaused, S::kIncomplete}, {S::kPaused, S::kQueued},
      {S::kPaused, S::kEnding},     {S::kPaused, S::kDone},       {S::kStarting, S::kIncomplete},
      {S::kStarting, S::kQueued},   {S::kStarting, S::kPaused},   {S::kStarting, S::kRunning},
      {S::kStarting, S::kEnding},   {S::kStarting, S::kDone},     {S::kRunning, S::kIncomplete},
      {S::kRunning, S::kQueued},    {S::kRunning, S::kPaused},    {S::kRunning, S::kEnding},
      {S::kRunning, S::kDone},      {S::kEnding, S::kIncomplete}, {S::kEnding, S::kQueued},
      {S::kEnding, S::kPaused},     {S::kEnding, S::kDone},
  };
  for (const S from : kStates) {
    for (const S to : kStates) {
      EXPECT_EQ(may_change(from, to), drawn.contains({from, to}))
          << enum_name(from) << " -> " << enum_name(to);
    }
  }
}

TEST(JobStates, EveryStateCanEndAndDoneIsLast) {
  for (const S state : kStates) EXPECT_EQ(may_change(state, S::kDone), state != S::kDone);
  for (const S state : kStates) EXPECT_FALSE(may_change(S::kDone, state));
}

TEST(JobStates, NamesRoundTrip) {
  for (const S state : kStates) EXPECT_EQ(enum_from<S>(enum_name(state)), state);
  for (std::size_t i = 0; i < EnumText<Cause>::names.size(); ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(enum_from<Cause>(enum_name(cause)), cause);
  }
}

TEST(JobStates, WhatAPersonOrARuleEndedDoesNotComeBack) {
  const std::set<Cause> for_good{Cause::kCancelled, Cause::kTimeLimit, Cause::kBudget,
                                 Cause::kMisconfigured};
  for (std::size_t i = 0; i < EnumText<Cause>::names.size(); ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(comes_back(cause), !for_good.contains(cause)) << enum_name(cause);
  }
}

TEST(PodGates, OnlyGo) {
  using G = PodGate;
  EXPECT_EQ(gates_left(G::kBoth, G::kClosed), G::kClosed);
  EXPECT_EQ(gates_left(G::kBoth, G::kForeign), G::kForeign);
  EXPECT_EQ(gates_left(G::kClosed, G::kOpen), G::kOpen);
  EXPECT_EQ(gates_left(G::kOpen, G::kBoth), G::kOpen);  // late news
  EXPECT_EQ(gates_left(G::kForeign, G::kClosed), G::kOpen);
  EXPECT_TRUE(is_closed(G::kClosed) && is_closed(G::kBoth));
  EXPECT_FALSE(is_closed(G::kOpen) || is_closed(G::kForeign));
}

}  // namespace
}  // namespace subak
