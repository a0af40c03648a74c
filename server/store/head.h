// What a store says of itself: the rows of `meta`, and `head`, which each commit rewrites. Both
// carry their own sums. Private to server/store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/connection.h"

namespace subak {

// Its value; nullopt: there is no such row. An error: it cannot be read or is not what was written.
Result<std::optional<std::string>> read_meta(Connection& db, std::string_view key);
// The sum of a row of `meta`.
std::uint32_t meta_sum(std::string_view key, std::string_view value);
// Adds or replaces. False: ask db.error().
bool write_meta(Connection& db, std::string_view key, std::string_view value);

// Of the store in that file, under which a copy of it is made. An error: it cannot be read, or is damaged.
Result<std::string> read_uuid(const std::string& path);
// What the sums of a store's rows begin with.
Result<std::uint32_t> read_seed(Connection& db);

struct Head {
  std::uint64_t facts = 0;      // number of the last
  std::uint32_t facts_sum = 0;  // of its row; of an empty store the seed
  std::uint64_t ledger = 0;     // rows
  std::uint64_t audit = 0;      // rows
};
Result<Head> read_head(Connection& db, std::uint32_t seed);

class HeadWriter {
 public:
  bool prepare(Connection& db, std::uint32_t seed);
  bool write(const Head& head);

 private:
  Statement replace_;
  std::uint32_t seed_ = 0;
};

// Which checkpoint is in use.
struct CheckpointMark {
  std::uint64_t seq = 0;     // 0: none
  std::uint64_t facts = 0;   // rows
  std::uint32_t sum = 0;     // of the last row
  std::uint32_t anchor = 0;  // of fact `seq`, from which the facts after it go on
};
Result<CheckpointMark> read_checkpoint_mark(Connection& db, std::uint32_t seed);
bool write_checkpoint_mark(Connection& db, const CheckpointMark& mark);

}  // namespace subak
