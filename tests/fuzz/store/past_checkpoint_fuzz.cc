// A past checkpoint: any bytes are read or refused. What is read has as many facts as its head says, and
// is read again in the same way.
//
// The checksums of the input are corrected first, since a changed byte would end at them.
#include "server/codec/kept_row.h"
#include "server/store/file/row_sum.h"
#include "server/store/past/past_checkpoint.h"
#include "tests/fuzz/common/fuzz.h"

namespace subak {
namespace {

constexpr std::uint32_t kSeed = 9;

struct Facts final : FactSink {
  PackedFacts packed;
  std::uint64_t count = 0, seq = 0;
  void checkpoint_fact(const Fact& fact) override {
    ++count;
    const bool added = packed.add(fact);
    assert(added);
  }
  void checkpoint_end(std::uint64_t at) override { seq = at; }
  void fact(const Fact&) override { assert(false); }
};

void put(std::string& bytes, std::size_t at, std::uint32_t sum) {
  std::string four;
  append_number(four, sum, 4);
  bytes.replace(at, 4, four);
}

// The same bytes with right checksums, as far as there are blocks.
std::string corrected(std::string bytes) {
  constexpr std::size_t kNumbers = kPastFirstLine.size();
  if (bytes.size() < kPastHeadBytes) return bytes;
  std::uint32_t sum = RowSum(kSeed)
                          .add(kPastFirstLine)
                          .add(number_at(bytes, kNumbers, 8))
                          .add(number_at(bytes, kNumbers + 8, 4))
                          .add(number_at(bytes, kNumbers + 12, 4))
                          .add(number_at(bytes, kNumbers + 16, 8))
                          .value();
  put(bytes, kNumbers + 24, sum);
  for (std::size_t at = kPastHeadBytes; bytes.size() - at >= 12;) {
    const std::uint64_t length = number_at(bytes, at, 4), packed = number_at(bytes, at + 4, 4);
    if (packed > bytes.size() - at - 12) break;
    sum = RowSum(sum).add(length).add(std::string_view(bytes).substr(at + 12, packed)).value();
    put(bytes, at + 8, sum);
    at += 12 + packed;
  }
  return bytes;
}

void check(std::string_view bytes) {
  Facts facts;
  const auto error = decode_past_checkpoint(bytes, kSeed, kFactVersion, facts);
  if (error) {
    fuzz::check_error(*error);
    return;
  }
  const auto head = read_past_head(bytes, kSeed);
  assert(head && head->seq == facts.seq && head->facts == facts.count);
  const auto again = encode_past_checkpoint(facts.packed, head->seq, head->anchor, kSeed);
  assert(again.ok());
  Facts same;
  assert(!decode_past_checkpoint(*again, kSeed, kFactVersion, same) && same.count == facts.count);
}

}  // namespace
}  // namespace subak

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  check(fuzz::text_of(data, size));
  check(corrected(std::string(fuzz::text_of(data, size))));
  return 0;
}
