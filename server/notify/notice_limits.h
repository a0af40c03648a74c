// The limits of notices (docs/design/0125). core/limits.h says how limits are named and enforced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most receivers of a receivers file. A file with more is refused.
inline constexpr std::size_t kMaxReceivers = 32;
// The sizes of a receiver's secret. Another secret is refused.
inline constexpr std::size_t kMinNoticeSecretBytes = 16, kMaxNoticeSecretBytes = 1024;
// The most notices that may wait for one receiver. A further notice drops the oldest one, which
// counts as lost.
inline constexpr std::size_t kMaxNoticesWaiting = 1'000;
// A notice that was not delivered within this time counts as lost.
inline constexpr DurationMs kMaxNoticeAgeMs = kDayMs;
// Within kNoticeWindowMs, at most kNoticesPerWindow messages to one receiver begin. If more notices
// wait than may begin, they become one message, a summary.
inline constexpr DurationMs kNoticeWindowMs = kMinuteMs;
inline constexpr std::size_t kNoticesPerWindow = 20;
// How many notices of a summary its text quotes. The text only counts the others.
inline constexpr std::size_t kNoticesQuoted = 10;
// A message that the receiver refused this often (HTTP status 400, 403, 413, 422 and the like)
// counts as lost, so that it does not stop the messages behind it.
inline constexpr std::uint32_t kMaxNoticeRefusals = 10;
// How long one request may take, and how many bytes its answer may have. Beyond it, the request
// counts as failed.
inline constexpr DurationMs kNoticePostMs = 10 * kSecondMs;
inline constexpr std::size_t kMaxNoticeAnswerBytes = 64u << 10;
// How long after a delivery the marks are written at most. After a crash, the notices that were
// delivered in this time are sent again, with the same ids. If nothing was delivered, the marks are
// written every kNoticeIdleMarkMs.
inline constexpr DurationMs kNoticeMarkMs = kSecondMs, kNoticeIdleMarkMs = kMinuteMs;
// How many facts may wait for the notifier. If more wait, it reads them from the store.
inline constexpr std::size_t kNotifierFacts = 65'536;
// How many facts one read of the follower or of the store is about. Other reads take turns with it.
inline constexpr std::size_t kNoticeFactsPerRead = 512;
// The most jobs with a promised start whose promises are remembered. Beyond it, all are forgotten.
// The next move of each job's promise is then told even if its start does not become later.
inline constexpr std::size_t kMaxPromisesKnown = 10'000;

}  // namespace subak::limits
