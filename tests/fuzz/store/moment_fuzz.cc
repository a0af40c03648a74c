// The text of a moment (`subak-at`): accepted text reads back the same, and a refusal names the field and is short.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/duration.h"
#include "server/past/moment.h"

namespace {

void need(bool right) {
  if (!right) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto moment = subak::read_moment(text, "subak-at");
  if (!moment.ok()) {
    need(moment.error().field == "subak-at");
    need(moment.error().message().size() < 300);
    return 0;
  }
  const auto* const seq = std::get_if<std::uint64_t>(&*moment);
  const std::string again = seq != nullptr
                                ? std::to_string(*seq)
                                : subak::format_time(std::get<subak::MomentTime>(*moment).time_ms);
  const auto same = subak::read_moment(again, "subak-at");
  need(same.ok() && *same == *moment);
  return 0;
}
