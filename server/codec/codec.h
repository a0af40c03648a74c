// Encodes facts to their durable form, and decodes them. A fact is a decision or observation that
// the service stores (model/fact.h). The durable form is the protobuf wire format. The functions
// below get the field numbers from the `fields(v)` list of each record, so the code states each
// field number once. proto/subak/fact/v1/fact.proto describes the same bytes for other programs,
// and a test compares the two.
//
// bool, uint32, uint64, int32, int64, double and string are encoded as in proto3. An id becomes a
// uint32, except that a JobId becomes a uint64. An enum becomes its value, and a record becomes a
// message. A field with its default value is omitted, and so is an empty record that is not in a
// list. Elements of lists are never omitted.
// The form has versions, numbered from 1 (kFactVersion: the newest that this program knows). A
// newer version adds kinds, fields or enum values of facts, and removes none. Threads: any; pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "model/fact.h"

namespace subak::codec {

// The number of kinds of facts that this program knows.
inline constexpr std::uint32_t kKinds = std::variant_size_v<fact::Kinds>;
// Each function below has the same name as a member of Format (server/codec/format.h) and calls
// that member.

// Returns the durable number of a fact's kind: the index of the kind in fact::Body plus 1.
std::uint32_t kind_of(const fact::Body& body);
// Returns the version that introduced the kind. Kinds from kKinds + 1 on belong to a later version.
std::uint32_t version_of_kind(std::uint32_t kind);

// Appends the body's bytes to `out` and returns the oldest version that can read them. nullopt: no
// version can read this fact, so `out` is unchanged. No input that the engine accepts makes such a
// fact (model/bounds/bounds.h).
[[nodiscard]] std::optional<std::uint32_t> encode(const fact::Body& body, std::string& out);
// Says why a store of this version refuses the fact: the fact is too large, or only a newer version
// can read it.
Error refusal(const fact::Body& body, std::uint32_t version);

// Reads one body like a program that knows `version` and all older versions. Malformed input leads
// to an error, never to undefined behaviour. kPrecondition: the bytes have a kind, field or enum
// value of a newer version, and the error names it. kInvalid: no version writes such bytes.
Result<fact::Body> decode(std::uint32_t kind, std::string_view bytes,
                          std::uint32_t version = kFactVersion);

}  // namespace subak::codec
