// The durable form of the records behind start-time calibration (engine/forecast/told_kept.h). It works as
// that of facts (server/codec/codec.h), in versions of its own. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/forecast/told_kept.h"

namespace subak::codec {

// Returns the durable form of the records.
std::string encode_told(const ToldKept& told);
// Reads the records. An error means malformed bytes, or fields that only a newer program knows.
// ToldStarts::from judges the values.
Result<ToldKept> decode_told(std::string_view bytes);

}  // namespace subak::codec
