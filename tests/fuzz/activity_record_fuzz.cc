// The stored sums of activity: what is taken has one encoding, which is taken again.
#include "server/codec/activity.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

template <class Record, class Decode>
void check(std::string_view bytes, Decode decode) {
  const auto read = decode(bytes);
  if (!read.ok()) return subak::fuzz::check_error(read.error());
  const auto written = subak::codec::encode_activity(*read);
  assert(written);
  const auto again = decode(*written);
  assert(again.ok() && *subak::codec::encode_activity(*again) == *written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const std::string_view bytes = fuzz::text_of(data, size);
  check<ActivityDay>(bytes, [](std::string_view b) { return codec::decode_activity_day(b); });
  check<ActivityJobs>(bytes, [](std::string_view b) { return codec::decode_activity_jobs(b); });
  return 0;
}
