// Reads and writes the sums of days (server/store/days/day_sums.h) in a SQLite store.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "server/store/days/day_sums.h"
#include "server/store/file/connection.h"
#include "server/store/file/write_gate.h"

namespace subak {

// Reads the sums of the days [from_day, to_day), and checks their checksums. The caller begins the
// transaction, so that the mark and the sums are of one snapshot. `seed`: the start of the store's
// checksums (server/store/proof/head.h). If a row is altered or missing, the error says damage
// (says_damage()). Threads: those that may use the connection.
Result<DaySums> read_day_sums(Connection& db, std::uint32_t seed, std::int64_t from_day,
                              std::int64_t to_day);

// Writes the sums on the connection of the commits, and takes turns with commits (WriteGate). The
// connection and the gate must outlive the object. Threads: one at a time.
class SqliteDays final : public DaySumsTable {
 public:
  SqliteDays(Connection& db, WriteGate& gate, std::uint32_t seed)
      : db_(db), gate_(gate), seed_(seed) {}
  std::optional<Error> write(const DayMark& mark, std::span<const StoredPart> parts) override;
  std::optional<Error> clear() override;

 private:
  bool put_part(const StoredPart& part);
  bool put_mark(const DayMark& mark);
  // Rolls back and returns the error of the last call.
  Error undone();

  Connection& db_;
  WriteGate& gate_;
  const std::uint32_t seed_;
};

}  // namespace subak
