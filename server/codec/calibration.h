// The durable form of the records for start-time calibration
// (engine/forecast/calibration_record.h). It works like the form of facts (server/codec/codec.h),
// and has its own versions. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/forecast/calibration_record.h"

namespace subak::codec {

// Returns the durable form of the records.
// Asserts that it fits limits::kMaxFactBytes, as limits::kMaxCalibrationStarts ensures.
std::string encode_calibration(const CalibrationRecord& record);
// Reads the records. An error means malformed bytes, or fields that only a newer program knows.
// StartCalibration::from() checks the values.
Result<CalibrationRecord> decode_calibration(std::string_view bytes);

}  // namespace subak::codec
