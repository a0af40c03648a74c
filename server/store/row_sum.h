// Checksums of stored rows, so that none is believed which is not what was written.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// CRC32C (Castagnoli), as in iSCSI. `before` continues the sum of what came first.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The sum of one row: feed its columns in their order. A number counts as eight bytes, the lowest
// first; a text or blob as its length and its bytes. So no two different rows feed the same bytes.
class RowSum {
 public:
  // `before`: what the row goes on from, the row before it or its store's uuid.
  explicit RowSum(std::uint32_t before) : sum_(before) {}
  RowSum& add(std::int64_t number);
  RowSum& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  RowSum& add(std::string_view bytes);
  std::uint32_t value() const { return sum_; }

 private:
  std::uint32_t sum_;
};

// A row of facts or of a checkpoint. `number`: the fact's, or its place in the checkpoint.
std::uint32_t fact_sum(std::uint32_t before, std::uint64_t number, TimeMs time_ms,
                       std::uint64_t kind, std::string_view body);

// As a column: four bytes of an SQLite integer.
inline std::int64_t sum_column(std::uint32_t sum) { return static_cast<std::int32_t>(sum); }
inline std::uint32_t sum_of(std::int64_t column) { return static_cast<std::uint32_t>(column); }

}  // namespace subak
