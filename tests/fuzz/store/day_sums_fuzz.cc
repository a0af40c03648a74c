// The stored sums of a day: what is taken has one encoding, which is taken again, and each sum has
// the names, the rows and the payer that readers rely on.
#include "server/codec/day_sums.h"
#include "tests/fuzz/common/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const auto read = codec::decode_day_sums(fuzz::text_of(data, size));
  if (!read.ok()) {
    fuzz::check_error(read.error());
    return 0;
  }
  for (const codec::DaySum& sum : read->sums) {
    assert(sum.product < read->names.size() && sum.profile < read->names.size());
    assert(sum.cluster < read->names.size() && sum.ns < read->names.size());
    assert(static_cast<bool>(sum.payer) && sum.rows > 0);
    assert(sum.amount().gpu_seconds() == sum.gpu_seconds && sum.amount().rest() == sum.rest);
  }
  const auto written = codec::encode_day_sums(*read);
  assert(written);
  const auto again = codec::decode_day_sums(*written);
  assert(again.ok() && *codec::encode_day_sums(*again) == *written);
  return 0;
}
