// A digest of a call's content. The digest shows whether a caller reuses a request id (an
// idempotency key) with different content. Facts, the engine's durable records, store the digest.
// So the function must never change. The function is FNV-1a of 64 bits (Fowler, Noll, Vo), and
// mixes the bits at the end. The digest detects mistakes of people and programs: two different
// contents have the same digest with a probability of about 10^-19. The digest is not a signature.
// A caller who makes two contents with the same digest harms only itself, because request ids
// belong to their caller.
// Threads: any; pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flat_index.h"

namespace subak {

// Returns the digest of these bytes. The digest is never 0, because 0 means "no digest" in facts.
// O(bytes).
inline std::uint64_t content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : content) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  hash = mix_bits(hash);
  return hash == 0 ? 1 : hash;
}

}  // namespace subak
