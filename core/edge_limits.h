// Limits of the service's requests to an API server, and of files that people write. core/limits.h
// has all other limits and says how limits are named and enforced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most requests of one edge to an API server within kRequestWindowMs, whatever the server
// answers. kMaxFollowRequests limits lists and watches, for each of the edge's seven kinds of
// objects. kMaxPageRequests limits further pages, for all kinds together. Requests beyond a limit
// wait. All limits together allow fewer than 60 requests.
inline constexpr DurationMs kRequestWindowMs = 10'000;
inline constexpr std::size_t kMaxFollowRequests = 5;
inline constexpr std::size_t kMaxPageRequests = 11;
inline constexpr std::size_t kMaxSessionStarts = 6;  // two requests each

// A watch that stays open for kSteadyWatchMs is healthy, and after it the next watch begins at
// once. After a shorter list or watch the edge waits, longer each time. After kShortWatchesTold
// short lists or watches in a row, `status` and the log report them.
inline constexpr DurationMs kSteadyWatchMs = 10'000;
inline constexpr std::uint32_t kShortWatchesTold = 3;

// The limits of the pages of a list after the first page, which has kListPageObjects objects. The
// edge drops a list that has more pages, a longer continue token, or a continue token that came
// before. After a pause, the edge begins a new list.
inline constexpr std::size_t kLaterPageObjects = 4'000;
inline constexpr std::size_t kMaxListPages = 300;
inline constexpr std::size_t kMaxContinueBytes = 16u << 10;

// The most bytes of a file with a configuration, accounts or a kubeconfig. A longer file is refused
// before it is read completely.
inline constexpr std::size_t kMaxWrittenFileBytes = 64u << 20;

}  // namespace subak::limits
