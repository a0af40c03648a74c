// Interprets an API server's answer to one call. The sources of the format are
// kubernetes/apimachinery pkg/apis/meta/v1 (Status) and kubernetes/apiserver pkg/server/filters
// (429 with a text that is not JSON). Threads: any; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// The outcome of a call. The outcome follows from the HTTP status.
enum class Outcome : std::uint8_t {
  // 2xx: the server has done what the call requests.
  kDone,
  // 404: there is no such object.
  kNotFound,
  // 409: the object has changed, or an object that must be new exists already. Read the object,
  // then decide.
  kConflict,
  // 410: the resource version is too old. List the objects again.
  kExpired,
  // 422: the write would make the object invalid, or a test operation of the patch failed.
  kInvalid,
  // 401: the token is not valid, or no longer valid.
  kUnauthorized,
  // 403 and other 4xx: a rule or a webhook refused the request, or the request is wrong.
  kRefused,
  // 429: the server did not do what the call requests. Retry after delay_ms.
  kLater,
  // 5xx, a redirect, or no answer: it is unknown whether the server did what the call requests.
  // Read the object, then decide.
  kUnknown,
};
template <>
struct EnumText<Outcome> {
  static constexpr std::array<std::string_view, 9> names{"done",    "not_found", "conflict",
                                                         "expired", "invalid",   "unauthorized",
                                                         "refused", "later",     "unknown"};
};

// The answer of an API server to one call, or the failure to get one.
struct CallAnswer {
  Outcome outcome = Outcome::kUnknown;
  // The reason in the Status, such as "Conflict". Empty if the answer has no Status.
  std::string reason;
  // The message for people, shortened.
  std::string message;
  // How long the server asks to wait before a retry.
  DurationMs delay_ms = 0;
};

// Interprets an answer. `code`: the HTTP status; 0: the connection broke, or no answer came in
// time. `retry_after`: the header Retry-After; empty: there is none. The function ignores the
// header if it is not a number of seconds, and limits delay_ms to limits::kMaxRetryAfterMs. If the
// call failed, the message is never empty: it is from the Status, or else it is the body. A
// redirect (3xx) is kUnknown, with a message that says so.
CallAnswer read_answer(int code, std::string_view retry_after, std::string_view body);

}  // namespace subak
