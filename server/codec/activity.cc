#include "server/codec/activity.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>

#include "server/codec/format.h"

namespace subak::codec {
namespace {

using Body = std::variant<ActivityDay, ActivityJobs>;
constexpr std::uint32_t kVersion = 1;
constexpr std::array<std::uint32_t, kVersion> kKindsOfActivityVersion{2};
constexpr Format<Body> kActivity(kKindsOfActivityVersion);

// Sums of many records of this size do not overflow.
constexpr std::int64_t kMostSum = std::int64_t{1} << 56;

std::optional<std::string> encode(const Body& body) {
  std::string out;
  if (!kActivity.encode(body, out)) return std::nullopt;
  return out;
}

template <class T>
Result<T> decode(std::string_view bytes) {
  constexpr std::uint32_t kKind = std::is_same_v<T, ActivityDay> ? 1 : 2;
  Result<Body> body = kActivity.decode(kKind, bytes, kVersion);
  if (!body.ok()) return body.error();
  return std::get<T>(std::move(*body));
}

bool is_sum(std::int64_t value) { return value >= 0 && value <= kMostSum; }

bool good(const ActivitySums& s) {
  return is_sum(s.idle) && is_sum(s.low) && is_sum(s.active) && is_sum(s.energy_mj);
}

bool good(const JobActivity& j) {
  return good(j.sums) && is_sum(j.unknown) && is_sum(j.until_ms) && is_sum(j.idle_since_ms) &&
         is_sum(j.idle_seen_ms);
}

Error out_of_range(std::string field) {
  return {ErrorCode::kInvalid, std::move(field), "", "want sums and times from 0 on"};
}

}  // namespace

std::optional<std::string> encode_activity(const ActivityDay& day) { return encode(day); }
std::optional<std::string> encode_activity(const ActivityJobs& jobs) { return encode(jobs); }

Result<ActivityDay> decode_activity_day(std::string_view bytes) {
  Result<ActivityDay> day = decode<ActivityDay>(bytes);
  if (!day.ok()) return day;
  const bool sound =
      is_sum(day->day) && std::all_of(day->hours.begin(), day->hours.end(),
                                      [](const auto& h) { return h.hour < 24 && good(h.sums); });
  if (!sound) return out_of_range("activity_day");
  return day;
}

Result<ActivityJobs> decode_activity_jobs(std::string_view bytes) {
  Result<ActivityJobs> jobs = decode<ActivityJobs>(bytes);
  if (!jobs.ok()) return jobs;
  const bool sound =
      is_sum(jobs->until_ms) && std::all_of(jobs->jobs.begin(), jobs->jobs.end(),
                                            [](const JobActivity& j) { return good(j); });
  if (!sound) return out_of_range("activity_jobs");
  return jobs;
}

}  // namespace subak::codec
