// Limits of what the service asks of an API server, and of files that people write. As core/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// What one edge asks of an API server in this time, whatever the server answers: lists and watches of each of its seven
// kinds, further pages of all kinds together, starts of a session. More waits. The sum is below 60.
inline constexpr DurationMs kRequestWindowMs = 10'000;
inline constexpr std::size_t kMaxFollowRequests = 5;
inline constexpr std::size_t kMaxPageRequests = 11;
inline constexpr std::size_t kMaxSessionStarts = 6;  // two requests each

// A watch that stayed open for so long is sound: the next one begins at once. Lists and watches that end sooner are
// asked for after pauses that grow; after so many in a row, `status` and the log say so.
inline constexpr DurationMs kSteadyWatchMs = 10'000;
inline constexpr std::uint32_t kShortWatchesTold = 3;

// Pages of a list after the first (kListPageObjects). More pages, a longer token of the next page, or a token that came
// before: the list is given up and begins again after a pause.
inline constexpr std::size_t kLaterPageObjects = 4'000;
inline constexpr std::size_t kMaxListPages = 300;
inline constexpr std::size_t kMaxContinueBytes = 16u << 10;

// A configuration, accounts, a kubeconfig. Longer: refused before it is read whole.
inline constexpr std::size_t kMaxWrittenFileBytes = 64u << 20;

}  // namespace subak::limits
