// The durable form of facts: protobuf wire format by the `fields(v)` lists that every record has,
// so the field numbers are written once. proto/subak/fact/v1/fact.proto describes the same bytes to
// everybody else; a test holds the two together.
//
// Mapping: bool, uint32, uint64, int32, int64, double and string as in proto3; ids are uint32
// (JobId uint64); enums are their value; records are messages. Fields at their default, and single
// records that are empty, are left out. Elements of lists never are.
// Threads: pure functions, no shared state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/fact.h"

namespace subak::codec {

// The durable number of a fact's kind: its place in fact::Body plus 1.
std::uint32_t kind_of(const fact::Body& body);
inline constexpr std::uint32_t kKinds = std::variant_size_v<fact::Body>;

// Appends the body's bytes to `out`. False: they would be more than limits::kMaxFactBytes, which
// decode() refuses, so nobody may write them; `out` is as it was. No input that the engine accepts
// makes such a fact (engine/bounds.h).
[[nodiscard]] bool encode(const fact::Body& body, std::string& out);
// What a writer says of a fact that encode() does not make.
Error too_large(const fact::Body& body);

// The version that brought the kind; kinds from kKinds + 1 on are of a version to come.
std::uint32_t version_of_kind(std::uint32_t kind);

// Reads one body, as a program that knows `version` and older ones does. Unknown fields inside a
// known kind are skipped. Errors, never undefined behaviour: an unknown kind or enum value (a newer
// program wrote it), a value out of range, truncated or malformed bytes, records nested deeper than
// limits::kMaxFactDepth.
Result<fact::Body> decode(std::uint32_t kind, std::string_view bytes,
                          std::uint32_t version = kFactVersion);

}  // namespace subak::codec
