// The durable form of the records for start-time calibration
// (engine/forecast/calibration_record.h). These records say how far earlier start estimates were
// from the actual starts. This form works like the durable form of facts (server/codec/codec.h),
// but has its own version numbers. Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/forecast/calibration_record.h"

namespace subak::codec {

// Returns the durable form of the records. Asserts that this form has at most limits::kMaxFactBytes
// bytes. limits::kMaxCalibrationStarts bounds the number of records so that the form always fits.
std::string encode_calibration(const CalibrationRecord& record);
// Reads the records. An error means that the bytes are malformed, or that they have fields that
// only a newer program knows. This function does not check the values; StartCalibration::from()
// does.
Result<CalibrationRecord> decode_calibration(std::string_view bytes);

}  // namespace subak::codec
