#include "server/codec/day_sums.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <variant>

#include "server/codec/format.h"

namespace subak {

std::int64_t utc_day_of(TimeMs t) { return t / kDayMs - (t % kDayMs < 0 ? 1 : 0); }

std::int64_t first_day_of(UsagePeriod period, std::int64_t day) {
  using namespace std::chrono;
  const sys_days date{days(day)};
  switch (period) {
    case UsagePeriod::kAll:
    case UsagePeriod::kDay:
      return day;
    case UsagePeriod::kWeek:
      return (date - (weekday(date) - Monday)).time_since_epoch().count();
    case UsagePeriod::kMonth: {
      const year_month_day parts(date);
      return sys_days(parts.year() / parts.month() / 1).time_since_epoch().count();
    }
  }
  return day;
}

}  // namespace subak

namespace subak::codec {
namespace {

using Body = std::variant<DaySumsPart>;
constexpr std::uint32_t kVersion = 1;
constexpr std::array<std::uint32_t, kVersion> kKindsOfDaySumsVersion{1};
constexpr Format<Body> kDaySums(kKindsOfDaySumsVersion);

// Sums of many records of this size do not overflow.
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 56;

bool good(const DaySum& s, std::size_t names) {
  const std::uint32_t last = std::max(std::max(s.product, s.profile), std::max(s.cluster, s.ns));
  return static_cast<bool>(s.payer) && last < names && s.rows > 0 && s.rest >= 0 &&
         s.rest < GpuTime::kRawPerGpuSecond && s.gpu_seconds >= -kMostSeconds &&
         s.gpu_seconds <= kMostSeconds;
}

}  // namespace

std::optional<std::string> encode_day_sums(const DaySumsPart& part) {
  std::string out;
  if (!kDaySums.encode(Body(part), out)) return std::nullopt;
  return out;
}

Result<DaySumsPart> decode_day_sums(std::string_view bytes) {
  Result<Body> body = kDaySums.decode(1, bytes, kVersion);
  if (!body.ok()) return body.error();
  auto part = std::get<DaySumsPart>(std::move(*body));
  const bool sound = part.sums.size() <= kMaxPartSums &&
                     std::all_of(part.sums.begin(), part.sums.end(),
                                 [&](const DaySum& s) { return good(s, part.names.size()); });
  if (sound) return part;
  return Error{ErrorCode::kInvalid, std::string(DaySumsPart::kName), "",
               "want sums with a payer, rows, an amount and names of the part"};
}

}  // namespace subak::codec
