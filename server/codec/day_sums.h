// The sums of the ledger's rows by UTC day (docs/design/0105), and their durable form. A row of the
// ledger is an interval in which one pod held GPUs of one node. The sums are derived: a store can
// make them again from the rows. The form works like that of facts (server/codec/codec.h), but has
// its own version numbers. Threads: any; plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/ledger.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The days that one sum of usage adds up, in UTC. A week begins on Monday.
enum class UsagePeriod : std::uint8_t { kAll, kDay, kWeek, kMonth };
// Returns the UTC day with this instant, in days since 1970-01-01.
std::int64_t utc_day_of(TimeMs t);
// Returns the first day of the period with this day. UsagePeriod::kAll: the day itself.
std::int64_t first_day_of(UsagePeriod period, std::int64_t day);

}  // namespace subak

namespace subak::codec {

// The most sums in one part (DaySumsPart). A part with so many sums still has less than
// limits::kMaxFactBytes bytes, unless its names are very long.
inline constexpr std::size_t kMaxPartSums = 16'384;

// The sum of the rows of one day that agree in all columns except `rows` and the amount.
struct DaySum {
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  // Positions in DaySumsPart::names.
  std::uint32_t product = 0, profile = 0, cluster = 0, ns = 0;
  // The amount, as GpuTime::gpu_seconds() and GpuTime::rest() return it.
  std::int64_t gpu_seconds = 0, rest = 0;
  // The number of rows in the sum, from 1.
  std::uint64_t rows = 0;

  GpuTime amount() const { return GpuTime::from_parts(gpu_seconds, rest); }
  template <class V>
  void fields(V& v) {
    v(1, "payer", payer);
    v(2, "holder", holder);
    v(3, "state", state);
    v(4, "product", product);
    v(5, "profile", profile);
    v(6, "cluster", cluster);
    v(7, "ns", ns);
    v(8, "gpu_seconds", gpu_seconds);
    v(9, "rest", rest);
    v(10, "rows", rows);
  }
};

// Some sums of one day. A day with many sums has several parts.
struct DaySumsPart {
  static constexpr std::string_view kName = "day_sums";
  // Days since 1970-01-01, UTC.
  std::int64_t day = 0;
  // The texts that the sums name.
  std::vector<std::string> names;
  std::vector<DaySum> sums;

  template <class V>
  void fields(V& v) {
    v(1, "day", day);
    v(2, "names", names);
    v(3, "sums", sums);
  }
};

// Returns the durable form. nullopt: it has more than limits::kMaxFactBytes bytes.
std::optional<std::string> encode_day_sums(const DaySumsPart& part);
// Reads the durable form. An error means that the bytes are malformed, or that they have fields
// that only a newer program knows. It can also mean that a sum is out of range. Such a sum has no
// payer or rows, a rest of more than a GPU-second, or a name that the part does not have.
Result<DaySumsPart> decode_day_sums(std::string_view bytes);

}  // namespace subak::codec
