#include "server/codec/told.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <variant>

#include "server/codec/format.h"

namespace subak::codec {
namespace {

using Body = std::variant<ToldKept>;
constexpr std::uint32_t kVersion = 1;
constexpr std::array<std::uint32_t, kVersion> kKindsOfToldVersion{1};
constexpr Format<Body> kTold(kKindsOfToldVersion);
constexpr std::uint32_t kKind = 1;

}  // namespace

std::string encode_told(const ToldKept& told) {
  std::string out;
  const bool written = kTold.encode(told, out).has_value();
  assert(written);  // limits::kToldStarts of them take a megabyte
  return out;
}

Result<ToldKept> decode_told(std::string_view bytes) {
  Result<Body> body = kTold.decode(kKind, bytes, kVersion);
  if (!body.ok()) return body.error();
  return std::get<ToldKept>(std::move(*body));
}

}  // namespace subak::codec
