// Why a reservation was made, moved or given up. Values are durable: append only.
// Threads: none; a value.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace subak {

enum class ReserveCause : std::uint8_t {
  kMade,     // it did not fit in its turn
  kEarlier,  // a better place was found: an earlier start, or one that is not a guess any more
  kOverrun,  // what runs there stays longer than it was taken to
  kNode,     // a node of it is gone or closed
  kTaken,    // something else is there now: a job within its quota, or pods that we did not place
  kAccount,  // given up: a rule of its accounts stops it
  kPolicy,   // given up: fewer reservations are to be kept, or none
  kNoPlace,  // given up: there is no place that it could wait for
};
template <>
struct EnumText<ReserveCause> {
  static constexpr std::array<std::string_view, 8> names{"made",  "earlier", "overrun", "node",
                                                         "taken", "account", "policy",  "no_place"};
};

}  // namespace subak
