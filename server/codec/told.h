// The durable form of what is kept of told starts (engine/told_kept.h): as that of facts
// (server/codec/codec.h), in versions of its own. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/told_kept.h"

namespace subak::codec {

std::string encode_told(const ToldKept& told);
// An error for bytes that nobody wrote, and for fields that only a newer program knows. What it says is
// not judged (ToldStarts::from).
Result<ToldKept> decode_told(std::string_view bytes);

}  // namespace subak::codec
