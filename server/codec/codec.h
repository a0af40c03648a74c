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
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/fact.h"

namespace subak::codec {

// Each function is that of Format (server/codec/format.h), for facts.
inline constexpr std::uint32_t kKinds = std::variant_size_v<fact::Kinds>;
// The durable number of a fact's kind: its place in fact::Body plus 1.
std::uint32_t kind_of(const fact::Body& body);
// The version that brought the kind; kinds from kKinds + 1 on are of a version to come.
std::uint32_t version_of_kind(std::uint32_t kind);

// Appends the body's bytes to `out`. The oldest version that can read them; nothing: nobody could,
// and `out` is as it was. No input that the engine accepts makes such a fact (engine/bounds.h).
[[nodiscard]] std::optional<std::uint32_t> encode(const fact::Body& body, std::string& out);
// Why a store of this version does not take the fact: too large, or of a newer version.
Error refusal(const fact::Body& body, std::uint32_t version);

// Reads one body, as a program that knows `version` and older ones does. Errors, never undefined
// behaviour: kPrecondition for a kind, a field or an enum value of a newer version, with its place;
// kInvalid for bytes that nobody wrote.
Result<fact::Body> decode(std::uint32_t kind, std::string_view bytes,
                          std::uint32_t version = kFactVersion);

}  // namespace subak::codec
