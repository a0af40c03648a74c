#include "server/codec/codec.h"

#include "server/codec/format.h"

namespace subak::codec {
namespace {
constexpr Format<fact::Body> kFacts(kKindsOfVersion);
}

std::uint32_t kind_of(const fact::Body& body) { return kFacts.kind_of(body); }

std::uint32_t version_of_kind(std::uint32_t kind) { return kFacts.version_of_kind(kind); }

std::optional<std::uint32_t> encode(const fact::Body& body, std::string& out) {
  return kFacts.encode(body, out);
}

Error refusal(const fact::Body& body, std::uint32_t version) {
  return kFacts.refusal(body, version);
}

Result<fact::Body> decode(std::uint32_t kind, std::string_view bytes, std::uint32_t version) {
  return kFacts.decode(kind, bytes, version);
}

}  // namespace subak::codec
