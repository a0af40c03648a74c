#include "server/api/history/job_past.h"

#include <algorithm>
#include <variant>

#include "server/api/history/history_limits.h"
#include "server/past/fact_times.h"

namespace subak::api {

JobPast::JobPast(const Asked& asked)
    : asked_(asked),
      history_(asked.job),
      step_(asked.after > 0 ? Step::kScan : Step::kNarrow),
      high_(asked.last_seq + 1),
      at_(asked.after) {}

Result<bool> JobPast::read(StoreReader& store) {
  const std::uint64_t turn = facts_read_ + limits::kHistoryFactsPerTurn;
  while (step_ < Step::kDone && facts_read_ < turn) {
    const auto error = step_ == Step::kNarrow ? narrow(store)
                       : step_ == Step::kFind ? find(store)
                                              : scan(store);
    if (error) return *error;
    if (step_ >= Step::kDone || facts_read_ < limits::kMaxHistoryFacts) continue;
    next_ = std::max<std::uint64_t>(1, step_ == Step::kScan ? at_ : low_);
    step_ = Step::kDone;
  }
  return step_ >= Step::kDone;
}

Result<std::vector<Fact>> JobPast::facts(StoreReader& store, std::uint64_t after,
                                         std::uint64_t most) {
  auto read = store.facts(after, most);
  if (read.ok()) facts_read_ += read->size();
  return read;
}

std::optional<std::strong_ordering> JobPast::order_of(const Fact& fact) const {
  const auto* const created = std::get_if<fact::JobCreated>(&fact.body);
  if (created == nullptr || created->id.cluster() != asked_.job.cluster()) return std::nullopt;
  return created->id <=> asked_.job;
}

std::optional<Error> JobPast::narrow(StoreReader& store) {
  step_ = Step::kFind;
  if (asked_.from_ms > 0) {
    const auto low = last_fact_before(store, asked_.from_ms, asked_.last_seq);
    if (!low.ok()) return low.error();
    low_ = *low;
  }
  if (asked_.until_ms < INT64_MAX) {
    const auto last = last_fact_before(store, asked_.until_ms + 1, asked_.last_seq);
    if (!last.ok()) return last.error();
    high_ = std::max(low_, *last) + 1;
  }
  if (low_ == 0) return std::nullopt;
  // The begin is most often close to the time at which the job came.
  const auto near = facts(store, low_, limits::kHistoryFactsPerLook);
  if (!near.ok()) return near.error();
  for (const Fact& fact : *near) {
    const auto order = order_of(fact);
    if (!order) continue;
    if (*order < 0) low_ = fact.seq;
    if (*order == 0) begin_scan(fact.seq);
    if (*order >= 0) break;
  }
  return std::nullopt;
}

std::optional<Error> JobPast::find(StoreReader& store) {
  const bool last = high_ - low_ <= limits::kHistoryFactsPerLook;
  if (last) {
    at_ = middle_ = low_;
  } else if (at_ == 0) {
    at_ = middle_ = low_ + (high_ - low_) / 2;
  }
  const std::uint64_t left = high_ - 1 - at_;
  const auto some =
      left == 0 ? Result<std::vector<Fact>>(std::vector<Fact>())
                : facts(store, at_, std::min<std::uint64_t>(left, limits::kHistoryFactsPerLook));
  if (!some.ok()) return some.error();
  for (const Fact& fact : *some) {
    at_ = fact.seq;
    const auto order = order_of(fact);
    if (!order || (last && *order < 0)) continue;
    if (*order == 0) {
      begin_scan(fact.seq);
    } else {
      *order < 0 ? low_ = fact.seq : high_ = middle_ + 1;
      at_ = 0;
    }
    if (last && *order > 0) step_ = Step::kMissing;
    return std::nullopt;
  }
  if (last) {
    step_ = Step::kMissing;
  } else if (some->empty() || at_ + 1 >= high_) {
    high_ = middle_ + 1;
    at_ = 0;
  }
  return std::nullopt;
}

void JobPast::begin_scan(std::uint64_t created) {
  step_ = Step::kScan;
  at_ = created - 1;
}

std::optional<Error> JobPast::scan(StoreReader& store) {
  const std::uint64_t left = asked_.last_seq - std::min(at_, asked_.last_seq);
  if (left == 0) {
    step_ = Step::kDone;
    return std::nullopt;
  }
  const auto some = facts(store, at_, std::min<std::uint64_t>(left, limits::kHistoryFactsPerRead));
  if (!some.ok()) return some.error();
  if (some->empty()) step_ = Step::kDone;
  for (const Fact& fact : *some) {
    at_ = fact.seq;
    history_.add(fact);
    const bool full = history_.events().size() >= asked_.most_events;
    if (!full && !history_.ended()) continue;
    step_ = Step::kDone;
    if (!history_.ended()) next_ = at_;
    break;
  }
  return std::nullopt;
}

}  // namespace subak::api
