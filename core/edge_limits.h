// Limits of the service's requests to an API server, and of files that people write. core/limits.h
// has all other limits and says how limits are named and enforced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most requests of one edge to an API server within this time, whatever the server answers.
// They are lists and watches of each of its seven kinds, further pages of all kinds together, and
// session starts. More requests wait. The sum is below 60.
inline constexpr DurationMs kRequestWindowMs = 10'000;
inline constexpr std::size_t kMaxFollowRequests = 5;
inline constexpr std::size_t kMaxPageRequests = 11;
inline constexpr std::size_t kMaxSessionStarts = 6;  // two requests each

// A watch that stayed open this long is healthy: the next one begins at once. After a shorter list
// or watch the edge waits, longer each time. After this many in a row, `status` and the log report
// it.
inline constexpr DurationMs kSteadyWatchMs = 10'000;
inline constexpr std::uint32_t kShortWatchesTold = 3;

// Pages of a list after the first (kListPageObjects). The edge drops the list and begins again
// after a pause for more pages, a longer continue token, or a continue token that came before.
inline constexpr std::size_t kLaterPageObjects = 4'000;
inline constexpr std::size_t kMaxListPages = 300;
inline constexpr std::size_t kMaxContinueBytes = 16u << 10;

// A configuration, accounts, a kubeconfig. A longer file is refused before it is read completely.
inline constexpr std::size_t kMaxWrittenFileBytes = 64u << 20;

}  // namespace subak::limits
