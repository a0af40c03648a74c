// The format of a past checkpoint: compressed facts that rebuild an earlier state
// (docs/design/0131). The format is the same in the file of a SQLite store and in a table of a
// database.
//
// A past checkpoint begins with a header (PastHead): a first line, then little-endian numbers.
// Blocks follow. A block has the length of its rows (4 bytes), the length of the compressed rows
// (4), a checksum (4), and the rows (server/codec/kept_row.h), compressed by deflate (RFC 1951).
// The checksums are chained CRC32C, and start from the seed of the store. Threads: any.
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
  // A program can read the facts if it knows this fact version or a newer one.
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

// Reads the header at the beginning of `bytes`. Returns nullopt if the bytes are damaged, have
// another format, or belong to a store with another seed.
std::optional<PastHead> read_past_head(std::string_view bytes, std::uint32_t seed);

// Calls sink.checkpoint_fact() for each fact, and then sink.checkpoint_end(). `version`: the newest
// fact version that this program knows. Uses memory for one block. After an error, `sink` may have
// got some of the facts. kPrecondition, with the field "store.past": the bytes are damaged, or the
// facts need a newer program. Errors of codec::decode() are returned unchanged.
std::optional<Error> decode_past_checkpoint(std::string_view bytes, std::uint32_t seed,
                                            std::uint32_t version, FactSink& sink);

}  // namespace subak
