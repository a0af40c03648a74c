// Checksums of stored rows, by which altered rows are detected.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// Returns the CRC32C (Castagnoli), as in iSCSI. `before`: the checksum of earlier bytes, which it
// continues. So crc32c(b, crc32c(a)) is the checksum of a followed by b. For no bytes the result is
// `before`. Source: RFC 3720, appendix B.4.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// Computes the checksum of one row: add its columns in order. A number adds eight bytes, the lowest
// first. A text or blob adds its length and its bytes.
// So two different rows always add different bytes.
class RowSum {
 public:
  // `before`: the checksum that it continues, of the previous row or of the store's uuid.
  explicit RowSum(std::uint32_t before) : sum_(before) {}
  // An unsigned number counts as the signed one with the same bits.
  RowSum& add(std::int64_t number);
  RowSum& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  RowSum& add(std::string_view bytes);
  // Returns the checksum of all columns added.
  std::uint32_t value() const { return sum_; }

 private:
  std::uint32_t sum_;
};

// Returns the checksum of a row of facts or of a checkpoint. `number`: the number of the fact, or
// its place in the checkpoint.
// `body`: the encoded fact. `time_ms`: when the fact was made, UTC. Rows are chained: `before` is
// the checksum of the row before. So a missing or swapped row is detected too.
std::uint32_t fact_sum(std::uint32_t before, std::uint64_t number, TimeMs time_ms,
                       std::uint64_t kind, std::string_view body);

// Convert a checksum to the value of a column and back.
// The column is an SQLite integer of four bytes.
inline std::int64_t sum_column(std::uint32_t sum) { return static_cast<std::int32_t>(sum); }
inline std::uint32_t sum_of(std::int64_t column) { return static_cast<std::uint32_t>(column); }

}  // namespace subak
