#include "server/past/moment.h"

#include <charconv>
#include <utility>

#include "core/duration.h"
#include "server/past/fact_times.h"
#include "server/past/past_limits.h"

namespace subak {
namespace {

constexpr char kForm[] = "want the number of a fact, or a time such as 2026-03-01T12:00:00Z";

}  // namespace

Result<Moment> read_moment(std::string_view text, const std::string& field) {
  const auto refused = [&](std::string_view got) {
    return Error{ErrorCode::kInvalid, field, std::string(got), kForm};
  };
  if (text.size() > limits::kMaxMomentBytes) {
    return refused(std::string(text.substr(0, limits::kMaxMomentBytes)) + "...");
  }
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::uint64_t seq = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seq);
    if (error != std::errc() || end != text.data() + text.size()) return refused(text);
    return Moment(seq);
  }
  const Result<TimeMs> time = parse_time(text, field);
  if (!time.ok()) return refused(text);
  return Moment(MomentTime{*time});
}

Result<std::uint64_t> seq_of_moment(StoreReader& reader, const Moment& moment, std::uint64_t last,
                                    const std::string& field) {
  if (last == 0) {
    return Error{ErrorCode::kInvalid, field, "", "want a service that has facts: it has none yet"};
  }
  const Result<Fact> first = fact_after(reader, 0);
  if (!first.ok()) return first.error();
  if (const auto* const seq = std::get_if<std::uint64_t>(&moment)) {
    if (*seq >= first->seq && *seq <= last) return *seq;
    return Error{ErrorCode::kInvalid, field, std::to_string(*seq),
                 "want a fact from " + std::to_string(first->seq) + " to " + std::to_string(last)};
  }
  const TimeMs time_ms = std::get<MomentTime>(moment).time_ms;
  if (time_ms < first->time_ms) {
    return Error{ErrorCode::kInvalid, field, format_time(time_ms),
                 "want a time from " + format_time(first->time_ms) + " on: the first fact, " +
                     std::to_string(first->seq) + ", is of that time"};
  }
  return last_fact_before(reader, time_ms + 1, last);
}

}  // namespace subak
