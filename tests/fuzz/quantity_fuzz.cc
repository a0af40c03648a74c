// Amounts as people and Kubernetes write them: what is read and written again is the same.
#include <limits>

#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "kube/quantity.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_kube(std::string_view text) {
  const auto quantity = parse_kube_quantity(text);
  if (!quantity) return;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto nano = quantity->nano;
  const auto units = KubeQuantity::Nano{quantity->units()} * KubeQuantity::kNanoPerUnit;
  assert(units >= nano && units - nano < KubeQuantity::kNanoPerUnit);
  const auto milli = KubeQuantity::Nano{quantity->milli()} * 1'000'000;
  assert(quantity->milli() == kMost || (milli >= nano && milli - nano < 1'000'000) ||
         quantity->milli() == -kMost);
  assert(!quantity->is_integer() || units == nano);
  if (text[0] == '+' || text[0] == '-') {  // the sign changes nothing but the sign
    const auto positive = parse_kube_quantity(text.substr(1));
    assert(positive && positive->nano == (text[0] == '-' ? -nano : nano));
  }
  if (nano % KubeQuantity::kNanoPerUnit == 0) {
    const auto plain = parse_kube_quantity(std::to_string(quantity->units()));
    assert(plain && *plain == *quantity);
  }
}

void check_core(std::string_view text) {
  if (const auto amount = parse_milligpu(text, "f"); amount.ok()) {
    assert(*amount >= 0 && *amount <= limits::kMaxMilliGpu + kMilliPerGpu - 1);
    assert(*parse_milligpu(format_milligpu(*amount), "f") == *amount);
  } else {
    fuzz::check_error(amount.error());
  }
  if (const auto amounts = parse_amounts(text, "f"); amounts.ok()) {
    assert(*parse_amounts(format_amounts(*amounts), "f") == *amounts);
  } else {
    fuzz::check_error(amounts.error());
  }
  if (const auto duration = parse_duration(text, "f"); duration.ok()) {
    assert(*duration >= 0 && *parse_duration(format_duration(*duration), "f") == *duration);
  } else {
    fuzz::check_error(duration.error());
  }
  if (const auto time = parse_time(text, "f"); time.ok()) {
    const auto again = parse_time(format_time(*time), "f");
    assert(again.ok() && *again == *time);
  } else {
    fuzz::check_error(time.error());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_kube(fuzz::text_of(data, size));
  check_core(fuzz::text_of(data, size));
  return 0;
}
