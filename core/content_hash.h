// A digest of a call's content. It shows whether a caller reuses a request id for another content.
// Facts store the digest, so the function never changes. It is FNV-1a of 64 bits (Fowler, Noll,
// Vo), and mixes the bits at the end. It detects mistakes of people and programs: two contents have
// the same digest once in 10^19. It is no signature. A caller who finds a collision fools only
// itself, since ids belong to their caller.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flat_index.h"

namespace subak {

// Returns the digest of these bytes. It is never 0: in facts, 0 means "no digest". O(bytes).
inline std::uint64_t content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : content) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  hash = mix_bits(hash);
  return hash == 0 ? 1 : hash;
}

}  // namespace subak
