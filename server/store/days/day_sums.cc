#include "server/store/days/day_sums.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "server/log/log.h"
#include "server/store/days/usage_groups.h"
#include "server/store/file/refusals.h"
#include "server/store/file/row_sum.h"

namespace subak {
namespace {

constexpr std::size_t kRowsPerStep = 50'000;
constexpr std::int64_t kDaysPerRead = 32;

// Reads all sums. Returns the mark; an empty mark: a sum is damaged or missing.
Result<DayMark> check_sums(StoreReader& reader, const std::function<bool()>& wanted) {
  auto first = reader.day_sums(0, 0);
  std::uint64_t parts = 0;
  std::optional<Error> error;
  if (!first.ok()) error = first.error();
  const DayMark mark = error ? DayMark() : first->mark;
  for (std::int64_t day = mark.from_day; day < mark.to_day && !error && wanted();
       day += kDaysPerRead) {
    const auto sums = reader.day_sums(day, std::min(mark.to_day, day + kDaysPerRead));
    if (sums.ok()) {
      parts += sums->parts.size();
    } else {
      error = sums.error();
    }
  }
  if (error && !says_damage(*error)) return *error;
  if (error) log::warn("sums of days are made again", {{"error", error->message()}});
  if (error || (wanted() && parts != mark.parts)) return DayMark();
  return mark;
}

// Divides the sums of one day into parts.
std::optional<Error> append_parts(const std::vector<DailyUsage>& sums,
                                  std::vector<StoredPart>& out) {
  for (std::size_t from = 0; from < sums.size(); from += codec::kMaxPartSums) {
    UsageNames names;
    codec::DaySumsPart part;
    part.day = sums[from].day;
    for (std::size_t i = from; i < std::min(sums.size(), from + codec::kMaxPartSums); ++i) {
      const DailyUsage& u = sums[i];
      part.sums.push_back({u.payer, u.holder, u.state, names.number_of(u.product),
                           names.number_of(u.profile), names.number_of(u.cluster),
                           names.number_of(u.ns), u.amount.gpu_seconds(), u.amount.rest(), u.rows});
    }
    part.names = names.texts();
    auto bytes = codec::encode_day_sums(part);
    if (!bytes) return Error{ErrorCode::kInvalid, "store.usage_days", "", "want shorter names"};
    out.push_back({part.day, from / codec::kMaxPartSums, std::move(*bytes)});
  }
  return std::nullopt;
}

// Adds rows to the sums of their days. `mark`: that of the stored sums; it is moved to the last row.
std::optional<Error> add_step(StoreReader& reader, DaySumsTable& table,
                              const std::vector<LedgerEntry>& rows, DayMark& mark) {
  std::map<std::int64_t, UsageGroups> days;
  DayMark next = mark;
  const auto load = [&](std::int64_t day) -> std::optional<Error> {
    const auto [at, fresh] = days.try_emplace(day, UsageColumns());
    if (!fresh) return std::nullopt;
    const auto sums = reader.day_sums(day, day + 1);
    if (!sums.ok()) return sums.error();
    next.parts -= sums->parts.size();
    for (const codec::DaySumsPart& part : sums->parts) {
      at->second.add(part, [](AccountId, AccountId) { return true; });
    }
    return std::nullopt;
  };
  for (const LedgerEntry& entry : rows) {
    const std::int64_t first = utc_day_of(entry.row.counts_from());
    const std::int64_t last = utc_day_of(entry.row.counts_to() - 1);
    for (std::int64_t day = first; day <= last; ++day) {
      if (auto error = load(day)) return error;
      days.at(day).add(entry.row, day * kDayMs, (day + 1) * kDayMs);
    }
  }
  std::vector<StoredPart> parts;
  if (mark.parts == 0) next.from_day = next.to_day = days.begin()->first;
  next.from_day = std::min(next.from_day, days.begin()->first);
  next.to_day = std::max(next.to_day, days.rbegin()->first + 1);
  for (auto& [day, groups] : days) {
    if (auto error = append_parts(groups.take(), parts)) return error;
  }
  next.seq = rows.back().seq;
  next.rows += rows.size();
  next.parts += parts.size();
  if (auto error = table.write(next, parts)) return error;
  mark = next;
  return std::nullopt;
}

}  // namespace

std::uint32_t part_sum(std::uint32_t seed, std::int64_t day, std::uint64_t part,
                       std::string_view bytes) {
  return RowSum(seed).add(day).add(part).add(bytes).value();
}

std::uint32_t mark_sum(std::uint32_t seed, const DayMark& mark) {
  return RowSum(seed)
      .add(mark.seq)
      .add(mark.rows)
      .add(mark.parts)
      .add(mark.from_day)
      .add(mark.to_day)
      .value();
}

std::optional<Error> add_day_sums(StoreReader& reader, DaySumsTable& table,
                                  const std::function<bool()>& wanted) {
  const auto checked = check_sums(reader, wanted);
  if (!checked.ok()) return checked.error();
  DayMark mark = *checked;
  LedgerQuery query;
  query.most = kRowsPerStep;
  while (wanted()) {
    query.after_seq = mark.seq;
    const auto rows = reader.ledger(query);
    if (!rows.ok()) return rows.error();
    if (rows->empty()) return std::nullopt;
    if (mark.seq == 0) {
      if (auto error = table.clear()) return error;
    }
    if (auto error = add_step(reader, table, *rows, mark)) return error;
    if (rows->size() < kRowsPerStep) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace subak
