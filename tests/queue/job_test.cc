#include "queue/job.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace subak {
namespace {

using S = JobState;
constexpr std::array kStates{S::kIncomplete, S::kQueued,  S::kHeld,
                             S::kReserved,   S::kRunning, S::kDone};

TEST(JobStates, TheTableIsExactlyTheDrawnOne) {
  const std::set<std::pair<S, S>> drawn{
      {S::kIncomplete, S::kQueued},  {S::kIncomplete, S::kHeld},   {S::kIncomplete, S::kDone},
      {S::kIncomplete, S::kRunning}, {S::kQueued, S::kIncomplete}, {S::kQueued, S::kHeld},
      {S::kQueued, S::kReserved},    {S::kQueued, S::kDone},       {S::kHeld, S::kIncomplete},
      {S::kHeld, S::kQueued},        {S::kHeld, S::kDone},         {S::kReserved, S::kQueued},
      {S::kReserved, S::kRunning},   {S::kReserved, S::kDone},     {S::kRunning, S::kDone},
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
}

}  // namespace
}  // namespace subak
