#include "server/store/days/read_usage.h"

#include <algorithm>
#include <utility>

#include "server/log/log.h"
#include "server/store/days/ledger_filter.h"
#include "server/store/days/usage_groups.h"
#include "server/store/file/refusals.h"

namespace subak {
namespace {

class UsageRead {
 public:
  UsageRead(const LedgerQuery& query, const UsageReads& reads)
      : query_(query),
        reads_(reads),
        filter_(query),
        groups_(query.columns),
        first_(utc_day_of(query.from_ms) + (query.from_ms % kDayMs == 0 ? 0 : 1)),
        end_(utc_day_of(query.to_ms)) {}

  std::optional<Error> run() {
    DaySums sums;
    if (!query_.columns.job && first_ < end_) {
      auto read = reads_.sums(first_, end_);
      if (!read.ok() && !says_damage(read.error())) return read.error();
      if (read.ok()) {
        sums = std::move(*read);
      } else {
        log::warn("sums of days not used", {{"error", read.error().message()}});
      }
    }
    if (sums.mark.seq == 0) return add_since(query_.from_ms, query_.last_seq, query_.to_ms);
    for (const codec::DaySumsPart& part : sums.parts) {
      groups_.add(part,
                  [&](AccountId payer, AccountId holder) { return filter_.wants(payer, holder); });
    }
    return add_rest(sums.mark.seq);
  }

  std::vector<DailyUsage> take() { return groups_.take(); }

 private:
  // Adds rows of the facts after `after` up to `last`, as far as they lie in [from_ms, to_ms).
  std::optional<Error> add(std::uint64_t after, std::uint64_t last, TimeMs from_ms, TimeMs to_ms,
                           int sign) {
    if (after >= last || from_ms >= to_ms) return std::nullopt;
    return reads_.rows(after, last, [&](const LedgerRow& row) {
      if (filter_.wants(row)) groups_.add(row, from_ms, to_ms, sign);
    });
  }
  // Adds rows of all facts up to `last`, as far as they lie in [from_ms, to_ms).
  std::optional<Error> add_since(TimeMs from_ms, std::uint64_t last, TimeMs to_ms) {
    const auto after = reads_.last_until(from_ms);
    if (!after.ok()) return after.error();
    return add(*after, last, from_ms, to_ms, 1);
  }
  // Adds what the sums up to `mark` lack, and takes away what they have beyond the query.
  std::optional<Error> add_rest(std::uint64_t mark) {
    const TimeMs from_ms = first_ * kDayMs, to_ms = end_ * kDayMs;
    auto error = mark < query_.last_seq
                     ? add(mark, query_.last_seq, query_.from_ms, query_.to_ms, 1)
                     : add(query_.last_seq, mark, from_ms, to_ms, -1);
    const std::uint64_t last = std::min(mark, query_.last_seq);
    if (!error && query_.from_ms < from_ms) error = add_since(query_.from_ms, last, from_ms);
    if (!error && to_ms < query_.to_ms) error = add_since(to_ms, last, query_.to_ms);
    return error;
  }

  const LedgerQuery& query_;
  const UsageReads& reads_;
  const LedgerFilter filter_;
  UsageGroups groups_;
  // The days that lie in the period as a whole: [first_, end_).
  const std::int64_t first_, end_;
};

}  // namespace

Result<std::vector<DailyUsage>> read_usage(const LedgerQuery& query, const UsageReads& reads) {
  UsageRead read(query, reads);
  if (auto error = read.run()) return *error;
  return read.take();
}

}  // namespace subak
