#include "server/codec/calibration.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <variant>

#include "server/codec/format.h"

namespace subak::codec {
namespace {

using Body = std::variant<CalibrationRecord>;
constexpr std::uint32_t kVersion = 1;
constexpr std::array<std::uint32_t, kVersion> kKindsOfCalibrationVersion{1};
constexpr Format<Body> kCalibration(kKindsOfCalibrationVersion);
constexpr std::uint32_t kKind = 1;

}  // namespace

std::string encode_calibration(const CalibrationRecord& record) {
  std::string out;
  const bool written = kCalibration.encode(record, out).has_value();
  assert(written);  // limits::kMaxCalibrationStarts of them take a megabyte
  return out;
}

Result<CalibrationRecord> decode_calibration(std::string_view bytes) {
  Result<Body> body = kCalibration.decode(kKind, bytes, kVersion);
  if (!body.ok()) return body.error();
  return std::get<CalibrationRecord>(std::move(*body));
}

}  // namespace subak::codec
