// Limits of the calls, event streams and sign-ins of browsers. core/limits.h says how limits are
// named and enforced.
#pragma once

#include <cstddef>

#include "core/quantity.h"

namespace subak::limits {

// The body of a call or of a sign-in. The service reads a longer body, drops it and answers
// resource_exhausted.
inline constexpr std::size_t kMaxBrowserBodyBytes = 64u << 10;
// Calls in flight, in all and of one caller. A further call is refused with resource_exhausted.
inline constexpr std::size_t kMaxBrowserCalls = 1024;
inline constexpr std::size_t kMaxBrowserCallsPerCaller = 128;
// Bytes of all answers that wait for their conversion to JSON. An answer beyond this is dropped,
// and its caller gets resource_exhausted.
inline constexpr std::size_t kMaxBrowserAnswerBytes = 256u << 20;
// How long a call may take. A caller may ask for less with Connect-Timeout-Ms. After this time the
// answer is deadline_exceeded.
inline constexpr DurationMs kBrowserCallMs = 30 * kSecondMs;

// Open event streams, in all and of one session. A further stream is refused with
// resource_exhausted.
inline constexpr std::size_t kMaxLiveStreams = 1000;
inline constexpr std::size_t kMaxLiveStreamsPerSession = 16;
// Bytes that a reader of events has not taken yet. With more, the service closes its connection.
inline constexpr std::size_t kMaxLiveBacklogBytes = 1u << 20;
// A longer event has no data. It names the call that reads the same.
inline constexpr std::size_t kMaxLiveEventBytes = 128u << 10;
// How often the service looks for changes, and how often it looks when there is no new fact.
inline constexpr DurationMs kLiveEveryMs = kSecondMs;
inline constexpr DurationMs kLiveIdleMs = 10 * kSecondMs;
// After this time without an event, a reader gets an empty comment, so that proxies keep the
// connection.
inline constexpr DurationMs kLiveKeepAliveMs = 15 * kSecondMs;

// Sessions end after kSessionLifeMs. One more than kMaxSessionsPerToken ends the oldest session of
// the token. At kMaxSessions, a further sign-in is refused with resource_exhausted.
inline constexpr DurationMs kSessionLifeMs = 12 * kHourMs;
inline constexpr std::size_t kMaxSessionsPerToken = 64;
inline constexpr std::size_t kMaxSessions = 10'000;
// Sign-ins from one address within kSignInWindowMs, and addresses that the service remembers. A
// further sign-in is refused with resource_exhausted.
inline constexpr DurationMs kSignInWindowMs = kMinuteMs;
inline constexpr std::size_t kMaxSignInsPerAddress = 30;
inline constexpr std::size_t kMaxSignInAddresses = 4096;

}  // namespace subak::limits
