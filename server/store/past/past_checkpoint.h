// The form of a past checkpoint: the facts that rebuild the state after some fact, compressed
// (docs/design/0131). It is the same in the file of a SQLite store and in the table of a database.
//
// It begins with a head (PastHead): a first line, then numbers, the lowest byte first. Blocks
// follow. A block has the length of its rows (4 bytes), the length of the compressed rows (4), a
// checksum (4), and the rows (server/codec/kept_row.h), compressed by deflate (RFC 1951). The
// checksums are chained CRC32C, and start from the seed of the store. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"

namespace subak {

inline constexpr std::string_view kPastFirstLine = "subak past checkpoint 1\n";
// The bytes of a head: the first line, `seq` (8), `anchor` (4), `needs` (4), `facts` (8), and the
// checksum (4).
inline constexpr std::size_t kPastHeadBytes = kPastFirstLine.size() + 28;

// The head of a past checkpoint.
struct PastHead {
  // The last fact of the state.
  std::uint64_t seq = 0;
  // The stored checksum of this fact. Since the checksums of facts are chained, it belongs to this
  // history and to no other one.
  std::uint32_t anchor = 0;
  // The oldest fact version that can read the facts.
  std::uint32_t needs = 1;
  // The number of facts.
  std::uint64_t facts = 0;
  friend bool operator==(const PastHead&, const PastHead&) = default;
};

// Returns the past checkpoint in its stored form. `seed`: the start of the store's checksums.
// `anchor`: the stored checksum of the fact `seq`. kExhausted: it would have more than
// limits::kMaxPastCheckpointBytes. O(size of the facts).
Result<std::string> encode_past_checkpoint(const PackedFacts& facts, std::uint64_t seq,
                                           std::uint32_t anchor, std::uint32_t seed);

// Reads the head at the beginning of `bytes`. nullopt: the bytes are not a head of this form and of
// the store with this seed, or they are damaged.
std::optional<PastHead> read_past_head(std::string_view bytes, std::uint32_t seed);

// Passes the facts to `sink`, and then checkpoint_end(). `version`: the newest fact version that
// this program knows. Needs memory for one block. kPrecondition, with the field "store.past": the
// bytes are damaged, or the facts need a newer program. Then `sink` may have got some facts.
std::optional<Error> decode_past_checkpoint(std::string_view bytes, std::uint32_t seed,
                                            std::uint32_t version, FactSink& sink);

}  // namespace subak
