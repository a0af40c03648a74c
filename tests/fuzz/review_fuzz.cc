// Every byte that can reach the webhook: review, pod, policy, answer. The answer must be JSON
// again, and the same bytes must get the same answer.
#include <memory>

#include "admission/pod.h"
#include "fixture.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  static const std::shared_ptr<const View> view = test::fixed_view();
  static const AdmissionConfig config;
  static ReviewParser parser;
  std::string text(reinterpret_cast<const char*>(data), size);
  (void)pod_record_from_json(text);
  text.reserve(size + kBodyPadding);
  for (const Endpoint endpoint : {Endpoint::kMutate, Endpoint::kValidate}) {
    const auto review = parser.parse({text.data(), text.size()});
    if (!review.ok()) return 0;
    Decision first = decide(*view, config, "c1", endpoint, *review);
    assert(first.verdict != Verdict::kDenied || (first.code >= 400 && !first.message.empty()));
    assert(first.verdict == Verdict::kPatched || first.patch.empty());
    for (const std::string& w : first.warnings) assert(w.size() <= 256);
    const std::string answer = write_answer(review->uid, std::move(first).answer());
    Decision again = decide(*view, config, "c1", endpoint, *review);
    assert(write_answer(review->uid, std::move(again).answer()) == answer);
    simdjson::dom::parser check;
    simdjson::dom::element ignored;
    assert(check.parse(answer).get(ignored) == simdjson::SUCCESS);
  }
  return 0;
}
