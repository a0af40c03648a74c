// Decides which past checkpoints a store keeps (docs/design/0131). A read of the past starts from
// the nearest earlier one, so the gaps between them must not be large anywhere.
//
// A store keeps a checkpoint if all others are at least limits::kPastCheckpointFacts away. At the
// limits on number and bytes, it drops the one whose neighbours are nearest to each other; of equal
// ones, the oldest. Fact 0 counts as a neighbour, and the last one is never dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"

namespace subak {

// True if a checkpoint after the fact `seq` is worth keeping. Then all in `kept` are at least
// limits::kPastCheckpointFacts away, and the limits would not drop the new one before others.
// `kept`: in order of `seq`. O(n). Threads: any.
bool wants_past_checkpoint(std::span<const StoredCheckpoint> kept, std::uint64_t seq);

// The past checkpoints of a store, as add_past_checkpoint() changes them.
class PastTable {
 public:
  virtual ~PastTable() = default;
  // Returns those that belong to the facts of the store, in order of `seq`. The anchor of such a
  // past checkpoint is the stored checksum of its last fact.
  virtual Result<std::vector<StoredCheckpoint>> list() = 0;
  // Returns the stored checksum of the fact `seq`. kNotFound: there is no such fact.
  virtual Result<std::uint32_t> sum_of_fact(std::uint64_t seq) = 0;
  // Makes a past checkpoint durable: all of it or nothing. `bytes`: of encode_past_checkpoint().
  virtual std::optional<Error> write(std::uint64_t seq, std::string_view bytes) = 0;
  // Removes all past checkpoints but these, also those that list() leaves out.
  virtual std::optional<Error> keep_only(std::span<const StoredCheckpoint> kept) = 0;
};

// Does the work of Store::add_past_checkpoint(). `seed`: the start of the store's checksums.
// Threads: as the table.
std::optional<Error> add_past_checkpoint(PastTable& table, std::uint32_t seed, std::uint64_t seq,
                                         const std::function<const PackedFacts*()>& facts);

}  // namespace subak
