// A small file of a replica's own: the last fact that it knows to be durable in a database which others have too. So a
// copy of the database that lacks it is recognized, also after a restart.
// Threads: any; one writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "engine/fact.h"

namespace subak {

struct KnownFact {
  std::uint64_t seq = 0;  // 0: none
  TimeMs time_ms = 0;
  std::uint32_t sum = 0;  // sum_of_known()
  std::uint64_t accepted =
      0;  // the last fact that took others for lost (LossAccepted), up to this one; 0: none
  friend bool operator==(const KnownFact&, const KnownFact&) = default;
};

// Of number, time, kind and body: another fact under the same number has another one.
std::uint32_t sum_of_known(const Fact& fact);

// Durable on return; the file there is replaced whole, or stays. Its folder must exist.
std::optional<Error> write_known_file(const std::string& path, const KnownFact& known);
// Without a file: no fact. An error: it is not what was written, or cannot be read.
Result<KnownFact> read_known_file(const std::string& path);

}  // namespace subak
