// Computes the checksums of stored rows, by which readers detect a row that was altered. Threads:
// one at a time for each RowSum; the functions are pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// Returns the checksum CRC32C (Castagnoli) of the bytes, as iSCSI uses it (RFC 3720, appendix B.4).
// `before`: the checksum of earlier bytes, which the result continues. So crc32c(b, crc32c(a)) is
// the checksum of a followed by b. If there are no bytes, the result is `before`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// Computes the checksum of one row. Add the columns of the row in their order. A number adds eight
// bytes, the lowest first. A text or blob adds its length and its bytes. So two different rows
// always add different bytes.
class RowSum {
 public:
  // `before`: the checksum that this one continues: that of the previous row, or that of the
  // store's uuid.
  explicit RowSum(std::uint32_t before) : sum_(before) {}
  // Each add() adds one column. An unsigned number counts as the signed number with the same bits.
  RowSum& add(std::int64_t number);
  RowSum& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  RowSum& add(std::string_view bytes);
  // Returns the checksum of all columns that were added.
  std::uint32_t value() const { return sum_; }

 private:
  std::uint32_t sum_;
};

// Returns the checksum of a row of facts or of a checkpoint. `before`: the checksum of the row
// before; because of this chain, the checksums also show a missing or swapped row. `number`: the
// number of the fact, or its position in the checkpoint. `time_ms`: when the fact was made, UTC.
// `body`: the encoded fact.
std::uint32_t fact_sum(std::uint32_t before, std::uint64_t number, TimeMs time_ms,
                       std::uint64_t kind, std::string_view body);

// sum_column() converts a checksum to the value of its column, and sum_of() converts it back. The
// column is an SQLite integer of four bytes.
inline std::int64_t sum_column(std::uint32_t sum) { return static_cast<std::int32_t>(sum); }
inline std::uint32_t sum_of(std::int64_t column) { return static_cast<std::uint32_t>(column); }

}  // namespace subak
