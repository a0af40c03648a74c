// Encodes and decodes a variant of records. The types of the variant are called kinds; each has
// kName (the name in errors) and fields(v), which lists its fields. A later version may only add
// kinds at the end of the variant. codec.h uses Format for facts.
//
// Every kind, field and enum value belongs to the version that introduced it (core/text.h). A
// reader of an older version refuses data of a newer version, and never drops such data silently. A
// writer returns the version that its bytes need, so that a store for older programs can refuse
// these bytes.
// Threads: any; const functions without shared state.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/limits.h"
#include "core/stored_size.h"
#include "server/codec/wire.h"

namespace subak::codec {

// The std::variant of a body: Body itself, or the type Body::Alternatives, from which Body derives.
template <class Body>
struct VariantOf {
  using Type = Body;
};
template <class Body>
requires requires { typename Body::Alternatives; }
struct VariantOf<Body> {
  using Type = typename Body::Alternatives;
};

// Encodes and decodes the bodies of one variant. The store keeps the number of each body's kind
// (kind_of()), which follows from the kind's place. So only append kinds to the variant.
template <class Body>
class Format {
 public:
  using Kinds = typename VariantOf<Body>::Type;
  static constexpr std::uint32_t kKinds = std::variant_size_v<Kinds>;

  // `kinds_of_version`: for each version from 1 on, how many kinds it and all older versions have
  // together. It must not be empty. The array must outlive this object.
  constexpr explicit Format(std::span<const std::uint32_t> kinds_of_version)
      : kinds_of_version_(kinds_of_version) {
    assert(kinds_of_version.back() == kKinds);
  }

  // Returns the durable number of the body's kind: the index of the kind in Body plus 1.
  static std::uint32_t kind_of(const Body& body) {
    return static_cast<std::uint32_t>(body.index()) + 1;
  }
  // Returns the version that introduced the kind. For a kind that this program does not know, the
  // result is the newest version plus 1.
  constexpr std::uint32_t version_of_kind(std::uint32_t kind) const {
    std::uint32_t version = 1;
    for (const std::uint32_t kinds : kinds_of_version_) version += kind > kinds ? 1 : 0;
    return version;
  }

  // Appends the body's bytes to `out` and returns the oldest version that can read them. nullopt:
  // no version can read the body, because its bytes are more than limits::kMaxFactBytes or an enum
  // has an undefined value. Then `out` is unchanged. The limit is checked after encoding, so `out`
  // may be larger than the limit for a moment.
  [[nodiscard]] std::optional<std::uint32_t> encode(const Body& body, std::string& out) const {
    const std::size_t start = out.size();
    WireWriter writer{out};
    // fields() is not const because readers share it; a writer changes nothing.
    std::visit([&](auto& record) { record.fields(writer); }, const_cast<Body&>(body));
    if (!writer.unknown && out.size() - start <= limits::kMaxFactBytes) {
      return std::max(writer.needs, version_of_kind(kind_of(body)));
    }
    out.resize(start);
    return std::nullopt;
  }

  // Says why a store of this version refuses a body. Call it only for a body that is refused.
  // The error is kInvalid for a body that is too large, else kPrecondition.
  Error refusal(const Body& body, std::uint32_t version) const {
    const auto [name, bytes] = std::visit(
        [](const auto& record) { return std::pair(record.kName, stored_bytes(record)); }, body);
    if (bytes > limits::kMaxFactBytes) {
      return {ErrorCode::kInvalid, std::string(name), std::to_string(bytes) + " bytes",
              "want at most " + std::to_string(limits::kMaxFactBytes) +
                  " bytes, which is all that can be read again"};
    }
    std::string unused;
    const auto needs = encode(body, unused);
    return {ErrorCode::kPrecondition, std::string(name),
            needs ? "of fact version " + std::to_string(*needs) : "with a value of no version",
            "want facts of version " + std::to_string(version) + ", which the store has"};
  }

  // Reads one body like a program that knows `version` (at least 1) and all older versions. Bad
  // bytes lead to an error, never to undefined behaviour. kPrecondition: `kind` is 0, or a kind,
  // field or value is one that only a newer program knows. kInvalid: a number is out of range, the
  // bytes are truncated or malformed, or records are nested deeper than limits::kMaxFactDepth. The
  // error's field names the place in the body, such as "account_set.spec.shares".
  Result<Body> decode(std::uint32_t kind, std::string_view bytes, std::uint32_t version) const {
    if (kind == 0 || kind > kKinds || version_of_kind(kind) > version) {
      const std::size_t newest = std::min<std::size_t>(version, kinds_of_version_.size());
      return Error{ErrorCode::kPrecondition, "kind", std::to_string(kind),
                   "want 1 to " + std::to_string(kinds_of_version_[newest - 1]) +
                       ", the kinds of " + known(version)};
    }
    if (bytes.size() > limits::kMaxFactBytes) {
      return Error{ErrorCode::kInvalid, "body", std::to_string(bytes.size()) + " bytes",
                   "at most " + std::to_string(limits::kMaxFactBytes)};
    }
    static constexpr auto kDecoders = decoders(std::make_index_sequence<kKinds>());
    const auto size = static_cast<int>(bytes.size());
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), size);
    in.PushLimit(size);
    return kDecoders[kind - 1](in, version);
  }

 private:
  // A function that reads a body of one kind. The stream must end where the body ends. A static
  // table has one such function for each kind.
  using Decoder = Result<Body> (*)(CodedInputStream&, std::uint32_t);

  // Returns text for errors: the fact versions that a reader of this version knows.
  static std::string known(std::uint32_t version) {
    return "fact version " + std::to_string(version) + ", which is all that this program knows";
  }

  template <class T>
  static Result<Body> decode_as(CodedInputStream& in, std::uint32_t version) {
    Body body(std::in_place_type<T>);
    zero(std::get<T>(body));
    WireReader reader{in, version};
    if (reader.read_record(std::get<T>(body))) return body;
    std::string place(T::kName);
    if (!reader.field.empty()) place += "." + reader.field;
    if (reader.newer) {
      return Error{ErrorCode::kPrecondition, place, reader.got,
                   "want the fields and values of " + known(version)};
    }
    return Error{ErrorCode::kInvalid, place, "",
                 reader.error != nullptr ? reader.error : "is malformed or cut short"};
  }

  // Returns the decoder of each kind, in the order of the variant.
  template <std::size_t... I>
  static constexpr std::array<Decoder, sizeof...(I)> decoders(std::index_sequence<I...>) {
    return {&decode_as<std::variant_alternative_t<I, Kinds>>...};
  }

  std::span<const std::uint32_t> kinds_of_version_;
};

}  // namespace subak::codec
