// The durable form of facts. It is protobuf wire format, written from the `fields(v)` list of each
// record, so that the code states each field number once. proto/subak/fact/v1/fact.proto describes
// the same bytes for other programs, and a test compares the two.
//
// bool, uint32, uint64, int32, int64, double and string are encoded as in proto3. Ids become uint32
// (JobId uint64), enums their value, and records messages. Fields at their default and empty single
// records are omitted. Elements of lists are never omitted. Threads:
// pure functions, no shared state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "model/fact.h"

namespace subak::codec {

// The number of kinds of facts that this program knows. Each function below calls that of Format
// (server/codec/format.h) for facts.
inline constexpr std::uint32_t kKinds = std::variant_size_v<fact::Kinds>;
// Returns the durable number of a fact's kind: its place in fact::Body plus 1.
std::uint32_t kind_of(const fact::Body& body);
// Returns the version that introduced the kind. Kinds from kKinds + 1 on belong to a later version.
std::uint32_t version_of_kind(std::uint32_t kind);

// Appends the body's bytes to `out` and returns the oldest version that can read them. nullopt: no
// version can read them, and `out` is unchanged. No input that the engine accepts makes such a fact
// (model/bounds.h).
[[nodiscard]] std::optional<std::uint32_t> encode(const fact::Body& body, std::string& out);
// Says why a store of this version refuses the fact: it is too large, or of a newer version.
Error refusal(const fact::Body& body, std::uint32_t version);

// Reads one body as a program does that knows `version` and older ones. Malformed input leads to an
// error, never to undefined behaviour. kPrecondition: the bytes have a kind, field or enum value of
// a newer version, which the error names. kInvalid: no version writes such bytes.
Result<fact::Body> decode(std::uint32_t kind, std::string_view bytes,
                          std::uint32_t version = kFactVersion);

}  // namespace subak::codec
