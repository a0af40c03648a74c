// Checksums of stored rows, by which altered rows are detected.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// Returns the CRC32C (Castagnoli), as in iSCSI. `before` continues the checksum of earlier bytes.
// crc32c(b, crc32c(a)) is the checksum of a followed by b. Of no bytes it is `before`. Source: RFC
// 3720, appendix B.4.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The checksum of one row: add its columns in order. A number counts as eight bytes, the lowest
// first; a text or blob as its length and its bytes. So no two different rows add the same bytes.
class RowSum {
 public:
  // `before`: the checksum to continue from, of the previous row or of the store's uuid.
  explicit RowSum(std::uint32_t before) : sum_(before) {}
  // An unsigned number counts as the signed one with the same bits.
  RowSum& add(std::int64_t number);
  RowSum& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  RowSum& add(std::string_view bytes);
  // The checksum of all that was added.
  std::uint32_t value() const { return sum_; }

 private:
  std::uint32_t sum_;
};

// Returns the checksum of a row of facts or of a checkpoint. `number`: the fact's, or its place in
// the checkpoint.
// `body`: the encoded fact. `time_ms`: when it was made, UTC. Rows are chained: `before` is the
// checksum of the row before, so a missing or swapped row is found too.
std::uint32_t fact_sum(std::uint32_t before, std::uint64_t number, TimeMs time_ms,
                       std::uint64_t kind, std::string_view body);

// Convert a checksum to a column and back: four bytes of an SQLite integer.
inline std::int64_t sum_column(std::uint32_t sum) { return static_cast<std::int32_t>(sum); }
inline std::uint32_t sum_of(std::int64_t column) { return static_cast<std::uint32_t>(column); }

}  // namespace subak
