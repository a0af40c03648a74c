// Adds up GPU time of ledger rows by the columns that a query names. The sums are exact.
// read_usage() uses it. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/runtime/ports.h"

namespace subak {

// Gives each text a number, from 0, so that keys of sums have numbers instead of texts.
class UsageNames {
 public:
  // Returns the number of the text, which gets the next number if it is new.
  std::uint32_t number_of(std::string_view text);
  const std::string& text(std::uint32_t number) const { return texts_[number]; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

// The sums of usage, in one group for each combination of period, payer, holder, state and the
// columns of the query.
class UsageGroups {
 public:
  explicit UsageGroups(const UsageColumns& columns) : columns_(columns) {}
  // Adds the part of a row in [from_ms, to_ms). A row that spans midnight counts in both days, with
  // a part in each. A row that was written after its month was closed counts as a whole at its
  // `booked_ms`. `sign`: 1, or -1 to subtract a row that was added before.
  void add(const LedgerRow& row, TimeMs from_ms, TimeMs to_ms, int sign = 1);
  // Adds the sums of one day for which `wants(payer, holder)` is true.
  template <class F>
  void add(const codec::DaySumsPart& part, F&& wants);
  // Returns the sums of groups with rows, in the order of DailyUsage's members, and empties this
  // object.
  std::vector<DailyUsage> take();

 private:
  struct Key {
    std::int64_t day = 0;
    AccountId payer, holder;
    UsageState state = UsageState::kUsed;
    std::uint32_t product = 0, profile = 0, cluster = 0, ns = 0;
    JobId job;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Sum {
    std::int64_t first_day = INT64_MAX;
    GpuTime amount;
    // May be negative for a while, since rows are subtracted too.
    std::int64_t rows = 0;
  };
  void add(Key key, std::int64_t day, GpuTime amount, std::int64_t rows);

  const UsageColumns columns_;
  UsageNames names_;
  std::unordered_map<Key, Sum, Hash> sums_;
};

template <class F>
void UsageGroups::add(const codec::DaySumsPart& part, F&& wants) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(part.names.size());
  for (const std::string& name : part.names) numbers.push_back(names_.number_of(name));
  for (const codec::DaySum& sum : part.sums) {
    if (!wants(sum.payer, sum.holder)) continue;
    Key key{part.day,
            sum.payer,
            sum.holder,
            sum.state,
            numbers[sum.product],
            numbers[sum.profile],
            numbers[sum.cluster],
            numbers[sum.ns],
            JobId()};
    add(key, part.day, sum.amount(), static_cast<std::int64_t>(sum.rows));
  }
}

}  // namespace subak
