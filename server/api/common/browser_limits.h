// Limits of the calls, event streams and sign-ins of browsers that show the console. Constants
// only. core/limits.h says how limits are named and enforced.
#pragma once

#include <cstddef>

#include "core/quantity.h"

namespace subak::limits {

// The largest body of a call or of a sign-in. The service reads a longer body, drops it and answers
// resource_exhausted.
inline constexpr std::size_t kMaxBrowserBodyBytes = 64u << 10;
// The most calls in flight, in all and of one caller. A further call is refused with
// resource_exhausted.
inline constexpr std::size_t kMaxBrowserCalls = 1024;
inline constexpr std::size_t kMaxBrowserCallsPerCaller = 128;
// The most bytes of all answers that wait for their conversion to JSON. An answer beyond this limit
// is dropped, and its caller gets resource_exhausted.
inline constexpr std::size_t kMaxBrowserAnswerBytes = 256u << 20;
// How long a call may take. A caller may ask for less with Connect-Timeout-Ms. After this time the
// answer is deadline_exceeded.
inline constexpr DurationMs kBrowserCallMs = 30 * kSecondMs;
// The least time from one call to the next equal call. A browser that makes the same call meanwhile
// waits for the next one and shares its answer (server/browser/shared_calls.h).
inline constexpr DurationMs kSharedCallMs = 100;

// The most open event streams, in all and of one session. A further stream is refused with
// resource_exhausted.
inline constexpr std::size_t kMaxLiveStreams = 1000;
inline constexpr std::size_t kMaxLiveStreamsPerSession = 16;
// The most bytes that wait for one reader of events. Beyond this limit, the service closes the
// reader's connection.
inline constexpr std::size_t kMaxLiveBacklogBytes = 1u << 20;
// The most bytes of an event. A longer event has no data, and names the call that returns the data.
inline constexpr std::size_t kMaxLiveEventBytes = 128u << 10;
// How often the service looks for new facts, and how often it reads again without any new fact.
inline constexpr DurationMs kLiveEveryMs = kSecondMs;
inline constexpr DurationMs kLiveIdleMs = 10 * kSecondMs;
// After this time without an event, a reader gets an empty comment, so that proxies keep the
// connection.
inline constexpr DurationMs kLiveKeepAliveMs = 15 * kSecondMs;

// Sessions end after kSessionLifeMs. A token has at most kMaxSessionsPerToken sessions: one more
// sign-in ends its oldest session. At kMaxSessions, a further sign-in is refused with
// resource_exhausted.
inline constexpr DurationMs kSessionLifeMs = 12 * kHourMs;
inline constexpr std::size_t kMaxSessionsPerToken = 64;
inline constexpr std::size_t kMaxSessions = 10'000;
// The most sign-ins from one address within kSignInWindowMs, and the most addresses that the
// service remembers. A further sign-in is refused with resource_exhausted.
inline constexpr DurationMs kSignInWindowMs = kMinuteMs;
inline constexpr std::size_t kMaxSignInsPerAddress = 30;
inline constexpr std::size_t kMaxSignInAddresses = 4096;

}  // namespace subak::limits
