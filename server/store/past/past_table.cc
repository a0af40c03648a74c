#include "server/store/past/past_table.h"

#include <algorithm>

#include "server/codec/past_checkpoint_limits.h"
#include "server/store/past/past_checkpoint.h"

namespace subak {
namespace {

// Returns the index in `kept` at which a past checkpoint after the fact `seq` belongs.
std::size_t place_of(std::span<const StoredCheckpoint> kept, std::uint64_t seq) {
  const auto place =
      std::lower_bound(kept.begin(), kept.end(), seq,
                       [](const StoredCheckpoint& one, std::uint64_t at) { return one.seq < at; });
  return static_cast<std::size_t>(place - kept.begin());
}

// Returns the distance of the neighbours of `kept[at]`, which must not be the last one.
std::uint64_t gap_around(std::span<const StoredCheckpoint> kept, std::size_t at) {
  return kept[at + 1].seq - (at == 0 ? 0 : kept[at - 1].seq);
}

// Returns the index of the one to drop first. `kept` must have at least two.
std::size_t first_to_drop(std::span<const StoredCheckpoint> kept) {
  std::size_t best = 0;
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
    if (gap_around(kept, i) < gap_around(kept, best)) best = i;
  }
  return best;
}

bool is_too_much(std::span<const StoredCheckpoint> kept) {
  std::uint64_t bytes = 0;
  for (const StoredCheckpoint& one : kept) bytes += one.bytes;
  return kept.size() > limits::kMaxPastCheckpoints || bytes > limits::kMaxPastCheckpointsBytes;
}

// Adds a past checkpoint to `kept`, and drops others until they are few enough. False: the new one
// would be dropped.
bool take_in(std::vector<StoredCheckpoint>& kept, const StoredCheckpoint& made) {
  std::size_t at = place_of(kept, made.seq);
  kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(at), made);
  while (is_too_much(kept) && kept.size() > 1) {
    const std::size_t drop = first_to_drop(kept);
    const bool is_last = at + 1 == kept.size();
    if (!is_last && gap_around(kept, at) <= gap_around(kept, drop)) return false;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(drop));
    if (drop < at) --at;
  }
  return true;
}

}  // namespace

bool wants_past_checkpoint(std::span<const StoredCheckpoint> kept, std::uint64_t seq) {
  const std::size_t next = place_of(kept, seq);
  if (next < kept.size() && kept[next].seq - seq < limits::kPastCheckpointFacts) return false;
  const std::uint64_t before = next == 0 ? 0 : kept[next - 1].seq;
  if (seq - before < limits::kPastCheckpointFacts) return false;
  std::vector<StoredCheckpoint> all(kept.begin(), kept.end());
  return take_in(all, {seq, 0, 0});
}

std::optional<Error> add_past_checkpoint(PastTable& table, std::uint32_t seed, std::uint64_t seq,
                                         const std::function<const PackedFacts*()>& facts) {
  auto kept = table.list();
  if (!kept.ok()) return kept.error();
  if (!wants_past_checkpoint(*kept, seq)) return std::nullopt;
  const auto anchor = table.sum_of_fact(seq);
  if (!anchor.ok()) return anchor.error();
  const PackedFacts* const packed = facts();
  if (packed == nullptr) return std::nullopt;
  const auto bytes = encode_past_checkpoint(*packed, seq, *anchor, seed);
  if (!bytes.ok()) return bytes.error();
  if (!take_in(*kept, {seq, packed->size(), bytes->size()})) return std::nullopt;
  if (auto error = table.keep_only(*kept)) return error;
  return table.write(seq, *bytes);
}

}  // namespace subak
