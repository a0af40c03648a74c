// The reader of claims finds what it is to find: histories with one mistake each, and one without.
#include "claim_history.h"

#include <gmock/gmock.h>

namespace subak::fault {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kBegin[] = {
    "cluster_set id=1 name=main mode=enforce",
    "node_set id=1 cluster=1 spec={name=n1 product=H100 gpus=8}",
    "cluster_synced id=1 synced=true owned=true",
    "account_set id=2 spec={path=a shares=1 quota=[{product=gpu milligpu=8000}]} revision=1",
    "account_set id=3 spec={path=b shares=1} revision=1",
    "job_created id=1-1 state=queued leaf=3 request={groups=[{count=1 shape={kind=whole gpus=8}}]} "
    "gang_size=1",
    "attempt_started id=1-1 attempt=1 until_ms=9000 slots=[{node=1 gpu_mask=255 milligpu=8000}]",
    "job_created id=1-2 state=queued leaf=2 request={groups=[{count=1 shape={kind=whole gpus=8}}]} "
    "gang_size=1",
};
constexpr const char* kClaim =
    "claimed job=1-2 slots=[{node=1 gpu_mask=255 milligpu=8000}] victims=[{job=1-1 attempt=1 "
    "ask_ms=8}] made_ms=8";
constexpr const char* kAsked =
    "stop_asked id=1-1 attempt=1 cause=preempted until_ms=9999 from=starting";

// A fact each millisecond.
ClaimHistory history(const std::vector<std::string>& more) {
  std::vector<std::string> lines(std::begin(kBegin), std::end(kBegin));
  lines.insert(lines.end(), more.begin(), more.end());
  std::vector<Fact> facts;
  for (const std::string& line : lines) {
    const std::string number = std::to_string(facts.size() + 1);
    const auto fact = fact_from_text("#" + number + " @" + number + " " + line);
    EXPECT_TRUE(fact.ok()) << line;
    facts.push_back(*fact);
  }
  return read_claims(facts);
}

TEST(ClaimHistory, FindsNothingWrong) {
  const ClaimHistory found = history({kClaim, kAsked, "claimed job=1-2 cause=stays"});
  EXPECT_THAT(found.mistakes, IsEmpty());
  EXPECT_EQ(found.made, 1u);
  EXPECT_EQ(found.asked, 1u);
  EXPECT_EQ(found.ended, 1u);
  EXPECT_EQ(found.started, 0u);
}

TEST(ClaimHistory, FindsAVictimThatNoClaimAsksFor) {
  EXPECT_THAT(history({kAsked}).mistakes, ElementsAre(HasSubstr("no claim asks for it")));
}

TEST(ClaimHistory, FindsAVictimThatIsAskedTooEarly) {
  std::string early = kClaim;
  early.replace(early.find("ask_ms=8"), 8, "ask_ms=5000");
  EXPECT_THAT(history({early, kAsked}).mistakes, ElementsAre(HasSubstr("no claim asks for it")));
}

TEST(ClaimHistory, FindsAVictimThatHoldsNothing) {
  std::string other = kClaim;
  other.replace(other.find("attempt=1"), 9, "attempt=7");
  EXPECT_THAT(history({other}).mistakes, ElementsAre(HasSubstr("which holds nothing")));
}

}  // namespace
}  // namespace subak::fault
