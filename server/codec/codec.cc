#include "server/codec/codec.h"

#include <array>
#include <utility>
#include <variant>

#include "core/stored_size.h"
#include "server/codec/wire.h"

namespace subak::codec {
namespace {

Error bad_fact(std::string field, std::string got, std::string want) {
  return Error{ErrorCode::kInvalid, std::move(field), std::move(got), std::move(want)};
}

template <class T>
Result<fact::Body> decode_as(CodedInputStream& in) {
  fact::Body body(std::in_place_type<T>);
  zero(std::get<T>(body));
  WireReader reader{in};
  if (reader.read_record(std::get<T>(body))) return body;
  const std::string_view field = reader.field.empty() ? "fact" : reader.field;
  return bad_fact(std::string(T::kName) + "." + std::string(field), "",
                  reader.error != nullptr ? reader.error : "is malformed or cut short");
}

using Decoder = Result<fact::Body> (*)(CodedInputStream&);

template <std::size_t... I>
constexpr std::array<Decoder, sizeof...(I)> decoders(std::index_sequence<I...>) {
  return {&decode_as<std::variant_alternative_t<I, fact::Body>>...};
}
constexpr auto kDecoders = decoders(std::make_index_sequence<kKinds>());

}  // namespace

std::uint32_t kind_of(const fact::Body& body) {
  return static_cast<std::uint32_t>(body.index()) + 1;
}

bool encode(const fact::Body& body, std::string& out) {
  const std::size_t start = out.size();
  WireWriter writer{out};
  // fields() is not const because readers share it; a writer changes nothing.
  std::visit([&](auto& record) { record.fields(writer); }, const_cast<fact::Body&>(body));
  if (out.size() - start <= limits::kMaxFactBytes) return true;
  out.resize(start);
  return false;
}

Error too_large(const fact::Body& body) {
  const auto [name, bytes] = std::visit(
      [](const auto& record) { return std::pair(record.kName, stored_bytes(record)); }, body);
  return bad_fact(std::string(name), std::to_string(bytes) + " bytes",
                  "want at most " + std::to_string(limits::kMaxFactBytes) +
                      " bytes, which is all that can be read again");
}

std::uint32_t version_of_kind(std::uint32_t kind) {
  std::uint32_t version = 1;
  for (const std::uint32_t kinds : kKindsOfVersion) version += kind > kinds ? 1 : 0;
  return version;
}

Result<fact::Body> decode(std::uint32_t kind, std::string_view bytes, std::uint32_t version) {
  if (kind == 0 || version_of_kind(kind) > version) {
    return bad_fact("kind", std::to_string(kind),
                    "want 1 to " + std::to_string(kKindsOfVersion[version - 1]) +
                        ", the kinds of fact version " + std::to_string(version) +
                        ", which is all that this program knows");
  }
  if (bytes.size() > limits::kMaxFactBytes) {
    return bad_fact("body", std::to_string(bytes.size()) + " bytes",
                    "at most " + std::to_string(limits::kMaxFactBytes));
  }
  const auto size = static_cast<int>(bytes.size());
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), size);
  in.PushLimit(size);
  return kDecoders[kind - 1](in);
}

}  // namespace subak::codec
