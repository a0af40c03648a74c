// The stream of a watch, in pieces whose length the first byte gives, beside the same stream whole: the
// same events and the same end. Then the bytes as a page of a list, and as an answer to a call.
#include "core/limits.h"
#include "server/edge/client/answer.h"
#include "server/edge/client/watch_stream.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

struct Seen {
  std::vector<std::string> events;
  std::optional<Error> error;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen feed(std::string_view stream, std::size_t piece) {
  WatchStream watch;
  Seen seen;
  for (std::size_t at = 0; at < stream.size() && !seen.error; at += piece) {
    seen.error = watch.feed(stream.substr(at, piece), [&](const WatchEvent& e) {
      assert(json::is_object(e.object));
      assert(e.resource_version.empty() == (e.kind == WatchKind::kError));
      seen.events.push_back(std::string(enum_name(e.kind)) + std::string(e.resource_version) +
                            std::to_string(e.code) + (e.list_complete ? "!" : ""));
    });
  }
  if (seen.error) fuzz::check_error(*seen.error);
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view stream = fuzz::text_of(data + 1, size - 1);
  assert(feed(stream, std::size_t{1} + data[0]) == feed(stream, stream.size() + 1));
  simdjson::dom::parser parser;
  json::Value root;
  if (parser.parse(stream.data(), stream.size()).get(root) == simdjson::SUCCESS) {
    const auto page = read_list_page(root);
    if (page.ok()) {
      assert(!page->resource_version.empty());
    } else {
      fuzz::check_error(page.error());
    }
  }
  const CallAnswer answer = read_answer(100 + data[0] * 2, stream.substr(0, 8), stream);
  assert(answer.delay_ms >= 0 && answer.delay_ms <= limits::kMaxRetryAfterMs);
  assert(answer.outcome == Outcome::kDone || !answer.message.empty());
  assert(answer.message.size() <= limits::kMaxMessageBytes + kCutNoteBytes);
  return 0;
}
