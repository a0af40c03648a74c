// A stored fact: the first byte is its kind, the rest its body. What is decoded has one encoding,
// which decodes as the same, in bytes and in text.
#include "core/stored_size.h"
#include "engine/derive/history/job_history.h"
#include "model/fact.h"
#include "server/codec/codec.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

std::string text_of(const subak::fact::Body& body) { return subak::fact_to_text({1, 1, body}); }

subak::JobId job_of(const auto& fact) {
  if constexpr (requires { subak::JobId(fact.job); }) {
    return fact.job;
  } else if constexpr (requires { subak::JobId(fact.id); }) {
    return subak::JobId(fact.id);
  } else {
    return {};
  }
}

// Each event of a fact has a sentence.
void check_history(const subak::fact::Body& body) {
  subak::derive::JobHistory history(std::visit([](const auto& f) { return job_of(f); },
                                               static_cast<const subak::fact::Kinds&>(body)));
  history.add({1, 1, body});
  for (const subak::derive::JobEvent& event : history.events()) assert(!event_text(event).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  if (size == 0) return 0;
  const std::uint32_t kind = data[0];
  const auto body = codec::decode(kind, fuzz::text_of(data + 1, size - 1));
  if (!body.ok()) {
    fuzz::check_error(body.error());
    return 0;
  }
  assert(codec::kind_of(*body) == kind);
  std::string bytes;
  const bool written = codec::encode(*body, bytes).has_value();
  assert(written);
  assert(bytes.size() <= std::visit([](const auto& f) { return stored_bytes(f); }, *body));
  const auto again = codec::decode(kind, bytes);
  assert(again.ok());
  std::string bytes_again;
  const bool written_again = codec::encode(*again, bytes_again).has_value();
  assert(written_again && bytes_again == bytes);
  const std::string text = text_of(*body);
  assert(text_of(*again) == text);
  const auto read = fact_from_text(text);
  assert(read.ok() && text_of(read->body) == text);
  check_history(*body);
  return 0;
}
