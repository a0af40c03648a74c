// Limits of the service's requests to an API server, and of files that people write. core/limits.h
// has all other limits and says how limits are named and enforced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most requests of one edge to an API server within kRequestWindowMs, whatever the server
// answers. kMaxFollowRequests limits lists and watches, for each of the edge's eleven kinds of
// objects. kMaxPageRequests limits further pages, for all kinds together. Requests beyond a limit
// wait. All limits together allow fewer than 80 requests.
inline constexpr DurationMs kRequestWindowMs = 10'000;
inline constexpr std::size_t kMaxFollowRequests = 5;
inline constexpr std::size_t kMaxPageRequests = 11;
inline constexpr std::size_t kMaxSessionStarts = 6;  // two requests each

// A watch that stays open for kSteadyWatchMs is healthy: the edge begins the next watch at once.
// After a shorter list or watch the edge waits first, longer each time. After kShortWatchesTold
// short lists or watches in a row, `status` and the log report them.
inline constexpr DurationMs kSteadyWatchMs = 10'000;
inline constexpr std::uint32_t kShortWatchesTold = 3;

// The first page of a list has kListPageObjects objects; these limits are for the later pages. The
// edge drops a list that has more pages, a longer continue token, or a repeated continue token.
// After it dropped a list, the edge pauses and then begins a new list.
inline constexpr std::size_t kLaterPageObjects = 4'000;
inline constexpr std::size_t kMaxListPages = 300;
inline constexpr std::size_t kMaxContinueBytes = 16u << 10;

// The most bytes of a file with a configuration, accounts or a kubeconfig. Subak stops reading a
// longer file and refuses the file.
inline constexpr std::size_t kMaxWrittenFileBytes = 64u << 20;

// Devices of a ResourceSlice, attributes of a device, requests of a claim, and alternatives of a
// request, as the API server limits them. Subak ignores the rest.
inline constexpr std::size_t kMaxDevicesPerSlice = 128;
inline constexpr std::size_t kMaxDeviceAttributes = 32;
inline constexpr std::size_t kMaxClaimRequests = 32;
inline constexpr std::size_t kMaxClaimAlternatives = 8;
// Kinds of devices in a cluster. Devices of further kinds do not count.
inline constexpr std::size_t kMaxDeviceKinds = 4096;
// A longer or deeper selector counts as one that Subak does not understand.
inline constexpr std::size_t kMaxSelectorBytes = 10u << 10;
inline constexpr int kMaxSelectorDepth = 32;

}  // namespace subak::limits
