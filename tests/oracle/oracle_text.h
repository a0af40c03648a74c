// Words and numbers that the oracle's parts share.
#pragma once

#include <cstdint>
#include <string>

#include "core/ids.h"
#include "core/limits.h"
#include "core/text.h"

namespace subak::sim {

// An end that never comes, in ms.
inline constexpr TimeMs kNeverEnds = limits::kMaxTimeMs;

// The name of a job, or of one of its pods, in a complaint.
inline std::string name(JobId id) { return text::job_id_text(id); }
inline std::string name(JobId id, std::uint32_t rank) {
  return name(id) + "/" + std::to_string(rank);
}

}  // namespace subak::sim
