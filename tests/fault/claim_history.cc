#include "claim_history.h"

#include <algorithm>
#include <concepts>
#include <map>
#include <set>
#include <utility>

#include "engine/engine.h"

namespace subak::fault {
namespace {

// The job that a fact is about; none: it is about no job.
JobId job_of(const fact::Body& body) {
  return std::visit(
      [](const auto& fact) {
        if constexpr (requires { requires std::same_as<decltype(fact.job), JobId>; }) {
          return fact.job;
        } else if constexpr (requires { requires std::same_as<decltype(fact.id), JobId>; }) {
          return fact.id;
        } else {
          return JobId();
        }
      },
      body);
}

class Reader {
 public:
  ClaimHistory read(const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) {
      if (const auto* asked = std::get_if<fact::StopAsked>(&fact.body)) judge(fact, *asked);
      if (const auto* claimed = std::get_if<fact::Claimed>(&fact.body)) judge(fact, *claimed);
      engine_.evolve(fact);
      if (const auto* claimed = std::get_if<fact::Claimed>(&fact.body)) take(*claimed);
      close(fact);
    }
    for (const auto& [job, claim] : open_) {
      const auto row = engine_.job(job, false);
      if (!row || row->state == JobState::kDone) wrong("the claim of " + name(job) + " is left");
    }
    return std::move(history_);
  }

 private:
  static std::string name(JobId id) { return text::job_id_text(id); }
  void wrong(std::string what) { history_.mistakes.push_back("claims: " + std::move(what)); }

  void judge(const Fact& fact, const fact::StopAsked& asked) {
    if (asked.cause != Cause::kPreempted) return;
    ++history_.asked;
    if (!asked_.insert({asked.id, asked.attempt}).second)
      wrong(name(asked.id) + " is preempted twice in attempt " + std::to_string(asked.attempt));
    const bool is_due = std::any_of(open_.begin(), open_.end(), [&](const auto& claim) {
      return std::any_of(claim.second.victims.begin(), claim.second.victims.end(),
                         [&](const fact::Claimed::Victim& victim) {
                           return victim.job == asked.id && victim.attempt == asked.attempt &&
                                  victim.ask_ms <= fact.time_ms;
                         });
    });
    if (!is_due) wrong(name(asked.id) + " is preempted, and no claim asks for it");
  }

  void judge(const Fact& fact, const fact::Claimed& claimed) {
    const bool ends = claimed.slots.empty();
    if (ends != open_.contains(claimed.job))
      wrong(name(claimed.job) + (ends ? " ends a claim that it does not have" : " claims twice") +
            ", fact " + std::to_string(fact.seq));
    for (const fact::Claimed::Victim& victim : claimed.victims) {
      const auto row = engine_.job(victim.job, false);
      if (!row || row->attempt != victim.attempt || is_waiting(row->state))
        wrong(name(claimed.job) + " claims from " + name(victim.job) + ", which holds nothing");
      for (const auto& [other, claim] : open_) {
        const bool both =
            std::any_of(claim.victims.begin(), claim.victims.end(),
                        [&](const fact::Claimed::Victim& v) { return v.job == victim.job; });
        if (both) wrong(name(victim.job) + " is a victim twice");
      }
    }
  }

  void take(const fact::Claimed& claimed) {
    if (claimed.slots.empty()) return;
    ++history_.made;
    open_[claimed.job] = claimed;
  }

  // Closes the claims that the engine does not have any more.
  void close(const Fact& fact) {
    if (open_.empty()) return;
    std::set<JobId> still;
    for (const ClaimRow& row : engine_.claims("")) still.insert(row.job);
    std::erase_if(open_, [&](const auto& claim) {
      const JobId job = claim.first;
      if (still.contains(job)) return false;
      if (job_of(fact.body) != job)
        wrong("the claim of " + name(job) + " is lost by fact " + std::to_string(fact.seq));
      const bool starts = std::holds_alternative<fact::AttemptStarted>(fact.body);
      ++(starts ? history_.started : history_.ended);
      return true;
    });
  }

  Engine engine_;
  ClaimHistory history_;
  std::map<JobId, fact::Claimed> open_;
  std::set<std::pair<JobId, std::uint32_t>> asked_;
};

}  // namespace

ClaimHistory read_claims(const std::vector<Fact>& facts) { return Reader().read(facts); }

}  // namespace subak::fault
