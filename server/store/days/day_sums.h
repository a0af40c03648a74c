// Makes the stored sums of the ledger's rows by UTC day, from which usage reports are read. A store
// calls add_day_sums() with its own reader and table. The sums include all rows up to a mark
// (DayMark). If a later row is for an earlier day, such as a correction, it is added to the sums of
// that day. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/runtime/ports.h"

namespace subak {

// One part of a day's sums in its durable form.
struct StoredPart {
  std::int64_t day = 0;
  // The position of the part in its day, from 0.
  std::uint64_t part = 0;
  // The result of codec::encode_day_sums().
  std::string bytes;
};

// Return the checksums of a part and of the mark. `seed`: the start of the store's checksums.
std::uint32_t part_sum(std::uint32_t seed, std::int64_t day, std::uint64_t part,
                       std::string_view bytes);
std::uint32_t mark_sum(std::uint32_t seed, const DayMark& mark);

// The stored sums, as add_day_sums() changes them.
class DaySumsTable {
 public:
  virtual ~DaySumsTable() = default;
  // Writes these parts and the mark in one transaction. Other parts stay.
  virtual std::optional<Error> write(const DayMark& mark, std::span<const StoredPart> parts) = 0;
  // Removes all parts and the mark in one transaction.
  virtual std::optional<Error> clear() = 0;
};

// Adds the ledger rows after the mark to the sums, in steps of 50,000 rows. A crash loses at most
// one step. It first reads all sums. If one sum is damaged or missing, it removes all sums and
// makes them again. `wanted`: see Store::add_day_sums().
std::optional<Error> add_day_sums(StoreReader& reader, DaySumsTable& table,
                                  const std::function<bool()>& wanted);

}  // namespace subak
