// What a leader sends to a replica: parts in text form, a line each, or by a first byte below 32 the
// wire form of one. By 2 a whole copy, as it lies in its file behind the sum. What is taken makes the same copy again, and
// judges a review.
#include "server/api/convert/admission_snapshot.h"
#include "tests/admission/fixture.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/text_message.h"

namespace {

using namespace subak;

std::string all_of(const AdmissionBasis& basis) {
  std::string out;
  for (const v1::StaticResponse& part : api::admission_snapshot_parts(*basis.view, *basis.config)) {
    out += part.SerializeAsString();
  }
  return out;
}

void check_copy(const AdmissionBasis& basis) {
  api::AdmissionSnapshotAssembler assembler;
  std::optional<AdmissionBasis> again;
  for (const v1::StaticResponse& part : api::admission_snapshot_parts(*basis.view, *basis.config)) {
    auto taken = assembler.take(part);
    assert(taken.ok());
    again = std::move(taken).value();
  }
  assert(again && all_of(*again) == all_of(basis));
  const test::Parsed review(test::review_text(test::pod(test::container("nvidia.com/gpu", "1"))));
  (void)decide(*basis.view, *basis.config, "c1", Endpoint::kMutate, review.review());
}

void check_kept(const AdmissionBasis& basis) {
  check_copy(basis);
  const std::string bytes = api::admission_snapshot_bytes(*basis.view, *basis.config);
  const auto again = api::read_admission_snapshot(bytes);
  assert(again.ok() && api::admission_snapshot_bytes(*again->view, *again->config) == bytes);
}

void take(api::AdmissionSnapshotAssembler& assembler, const v1::StaticResponse& part) {
  const auto copy = assembler.take(part);
  if (!copy) return fuzz::check_error(copy.error());
  if (copy->has_value()) check_copy(**copy);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  api::AdmissionSnapshotAssembler assembler;
  v1::StaticResponse part;
  if (size > 0 && data[0] == 2) {
    const auto kept = api::read_admission_snapshot(text.substr(1));
    kept ? check_kept(*kept) : fuzz::check_error(kept.error());
    return 0;
  }
  if (size > 0 && data[0] < 32 && data[0] != '\n') {
    if (part.ParseFromArray(data + 1, static_cast<int>(size - 1))) take(assembler, part);
    return 0;
  }
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (fuzz::read_text_message(std::string(line), &part)) take(assembler, part);
  }
  return 0;
}
