// The limits of notices, the messages that the service posts to receivers (docs/design/0125).
// Constants only. core/limits.h says how limits are named and enforced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most receivers of a receivers file. A file with more is refused.
inline constexpr std::size_t kMaxReceivers = 32;
// The length of a receiver's name, as of a DNS label. A longer name is refused.
inline constexpr std::size_t kMaxReceiverNameBytes = 63;
// The least and the largest size of a receiver's secret. A secret of another size is refused.
inline constexpr std::size_t kMinNoticeSecretBytes = 16, kMaxNoticeSecretBytes = 1024;
// The most notices that may wait for one receiver. A further notice drops the oldest one, which
// counts as lost.
inline constexpr std::size_t kMaxNoticesWaiting = 1'000;
// A notice that was not delivered within this time counts as lost.
inline constexpr DurationMs kMaxNoticeAgeMs = kDayMs;
// Within kNoticeWindowMs, at most kNoticesPerWindow messages to one receiver begin. If more notices
// wait than messages may begin, all notices become one message, a summary.
inline constexpr DurationMs kNoticeWindowMs = kMinuteMs;
inline constexpr std::size_t kNoticesPerWindow = 20;
// A summary quotes the texts of this many notices, and only counts the others.
inline constexpr std::size_t kNoticesQuoted = 10;
// A message that the receiver refused this often counts as lost, so that it does not stop later
// messages. A refusal is an HTTP status such as 400, 403, 413 or 422.
inline constexpr std::uint32_t kMaxNoticeRefusals = 10;
// How long one request may take, and how many bytes its answer may have. A request that exceeds a
// limit counts as failed.
inline constexpr DurationMs kNoticePostMs = 10 * kSecondMs;
inline constexpr std::size_t kMaxNoticeAnswerBytes = 64u << 10;
// After a delivery, the marks are written within kNoticeMarkMs. After a crash, the notices that
// were delivered since the last write are sent again, with the same ids. If nothing is delivered,
// the marks are written every kNoticeIdleMarkMs.
inline constexpr DurationMs kNoticeMarkMs = kSecondMs, kNoticeIdleMarkMs = kMinuteMs;
// How many facts may wait for the notifier. If more wait, it reads them from the store.
inline constexpr std::size_t kNotifierFacts = 65'536;
// The most facts for one read of the follower or of the store. Other reads may run between two such
// reads.
inline constexpr std::size_t kNoticeFactsPerRead = 512;
// The most jobs whose reservations NoticeMaker remembers. At this limit, it forgets all of them.
// Then the cause of a job's next move decides whether the move gives a notice.
inline constexpr std::size_t kMaxPromisesKnown = 10'000;

}  // namespace subak::limits
