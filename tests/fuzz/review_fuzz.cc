// Every byte that can reach the webhook: review, pod, policy, answer. The answer must be JSON
// again, the same bytes must get the same answer, it must be short whatever was sent, and a review
// with one of its parts repeated may cost what its bytes are more, not their square.
#include <memory>

#include "core/limits.h"
#include "kube/pod.h"
#include "tests/admission/hostile.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/grown.h"

namespace {

using namespace subak;

// A message, warnings and a patch for one pod, each byte escaped; an owner's patch has two
// operations for each template.
constexpr std::size_t kMaxAnswerBytes = 48u << 10;
constexpr std::size_t kMaxOwnerPatchBytes = limits::kMaxTemplates * 8 * limits::kMaxTextBytes;

void check_answer(const View& view, std::string_view uid, const Review& review, Endpoint endpoint) {
  static const AdmissionConfig config = [] {
    AdmissionConfig c;
    c.alignment_namespaces = {{"team-a", Alignment::kDeny}, {"team-*", Alignment::kWarn}};
    c.routes = {{"team-b", "", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}, {"", "low", "X-SHARED"}};
    return c;
  }();
  Decision first = decide(view, config, "c1", endpoint, review);
  assert(first.verdict != Verdict::kDenied || (first.code >= 400 && !first.message.empty()));
  assert(first.verdict == Verdict::kPatched || first.patch.empty());
  assert(first.warnings.size() <= limits::kMaxWarnings);
  for (const std::string& w : first.warnings) assert(w.size() <= 256);
  const std::size_t most =
      kMaxAnswerBytes + (first.because == Because::kSuspended ? kMaxOwnerPatchBytes : 0);
  const std::string answer = write_answer(uid, std::move(first).answer());
  assert(answer.size() <= most);
  Decision again = decide(view, config, "c1", endpoint, review);
  assert(write_answer(uid, std::move(again).answer()) == answer);
  simdjson::dom::parser check;
  simdjson::dom::element ignored;
  assert(check.parse(answer).get(ignored) == simdjson::SUCCESS);
  Decision stamp = decide_stamp(review);
  assert(stamp.verdict != Verdict::kDenied &&
         (stamp.verdict == Verdict::kPatched) == !stamp.patch.empty());
  const std::string stamped = write_answer(uid, std::move(stamp).answer());
  assert(check.parse(stamped).get(ignored) == simdjson::SUCCESS);
}

// Eight times the bytes, eight times the work. Processor time is not exact, so only three times
// that counts, and only if it is so five times over.
void check_cost(const View& view, const std::string& text, std::size_t which, Endpoint endpoint) {
  simdjson::dom::parser parser;
  json::Value root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS) return;
  constexpr std::size_t kSmall = 32u << 10, kGrowth = 8, kMost = 3;
  std::string small = fuzz::Grower(which, kSmall).grow(root);
  std::string large = fuzz::Grower(which, kSmall * kGrowth).grow(root);
  if (large.size() < 2 * small.size()) return;  // there is no such part
  const auto each_byte = [&](std::string& review) {
    return test::least_ns(view, review, endpoint, 2) / static_cast<double>(review.size());
  };
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (each_byte(large) <= kMost * each_byte(small)) return;
  }
  assert(false && "the work grows faster than the text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const View> view = test::fixed_view();
  static ReviewParser parser;
  std::string text(reinterpret_cast<const char*>(data), size);
  (void)pod_record_from_json(text);
  text.reserve(size + kBodyPadding);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum = sum * 31 + data[i];
  for (const Endpoint endpoint : {Endpoint::kMutate, Endpoint::kValidate}) {
    const auto review = parser.parse({text.data(), text.size()});
    if (!review.ok()) return 0;
    check_answer(*view, review->uid, *review, endpoint);
    // Which part is a matter of the input, so that a finding is found again.
    if (sum % 16 == 0) check_cost(*view, text, sum / 16 % 64, endpoint);
  }
  return 0;
}
