// What is kept of told starts, as it lies in its file behind the sum. What is taken has one encoding,
// which is taken again, and makes intervals that are in order.
#include "engine/forecast/start_calibration.h"
#include "server/codec/calibration.h"
#include "tests/fuzz/common/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const auto kept = codec::decode_calibration(fuzz::text_of(data, size));
  if (!kept.ok()) {
    fuzz::check_error(kept.error());
    return 0;
  }
  const auto read = StartCalibration::from(*kept);
  if (!read.ok()) {
    fuzz::check_error(read.error());
    return 0;
  }
  StartCalibration told = *read;
  const std::string bytes = codec::encode_calibration(told.record());
  const auto again = codec::decode_calibration(bytes);
  assert(again.ok());
  const auto same = StartCalibration::from(*again);
  assert(same.ok() && codec::encode_calibration(same->record()) == bytes);
  constexpr TimeMs kNow = 1'767'225'600'000;
  for (const DurationMs wait_ms : {DurationMs{0}, kMinuteMs, kHourMs, 30 * kDayMs}) {
    const ExpectedStart start = told.odds().of(kNow, kNow + wait_ms);
    assert(kNow <= start.earliest_ms && start.earliest_ms <= start.expected_ms);
    assert(start.expected_ms <= start.latest_ms);
  }
  for (const WaitRecord& one : kept->waiting) {
    told.look(one.latest_ms);
    const auto as = told.started(one.job, one.latest_ms);
    assert(as && as->expected_ms == one.expected_ms);
  }
  assert(StartCalibration::from(told.record()).ok());
  return 0;
}
