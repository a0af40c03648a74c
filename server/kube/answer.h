// What an API server's answer to one call means. Sources: kubernetes/apimachinery pkg/apis/meta/v1
// (Status), kubernetes/apiserver pkg/server/filters (429 with a text that is no JSON).
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/text.h"

namespace subak {

enum class Outcome : std::uint8_t {
  kDone,          // 2xx
  kNotFound,      // 404: there is no such object
  kConflict,      // 409: it has changed, or is there already
  kExpired,       // 410: too long ago, list again
  kInvalid,       // 422: against the rules, or a test of the patch did not hold
  kUnauthorized,  // 401: the token is no good any more
  kRefused,       // 403 and other 4xx: by a rule, a webhook, or because we asked wrongly
  kLater,         // 429: not done, ask again after delay_ms
  kUnknown,       // 5xx, or no answer: it may have been done; read, then decide
};
template <>
struct EnumText<Outcome> {
  static constexpr std::array<std::string_view, 9> names{"done",    "not_found", "conflict",
                                                         "expired", "invalid",   "unauthorized",
                                                         "refused", "later",     "unknown"};
};

struct CallAnswer {
  Outcome outcome = Outcome::kUnknown;
  std::string reason;       // of the Status: "Conflict"; empty where there is none
  std::string message;      // for people, cut
  DurationMs delay_ms = 0;  // the server asks us not to come back earlier
};

// `code`: of HTTP; 0: the connection was cut, or nothing came in time. `retry_after`: the header,
// empty if there is none. A body that is no Status is told as it is.
CallAnswer read_answer(int code, std::string_view retry_after, std::string_view body);

}  // namespace subak
