// Interprets an API server's answer to one call. Sources: kubernetes/apimachinery pkg/apis/meta/v1
// (Status), kubernetes/apiserver pkg/server/filters (429 with a text that is not JSON). Threads:
// pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// The outcome of a call, by the HTTP status.
enum class Outcome : std::uint8_t {
  // 2xx.
  kDone,
  // 404: there is no such object.
  kNotFound,
  // 409: the object has changed, or exists already. Read it, then decide.
  kConflict,
  // 410: the version is too old. List again.
  kExpired,
  // 422: the object would be invalid, or a test of the patch failed.
  kInvalid,
  // 401: the token is not valid, or no longer valid.
  kUnauthorized,
  // 403 and other 4xx: a rule or a webhook refused, or the request is wrong.
  kRefused,
  // 429: the server did not do it. Retry after delay_ms.
  kLater,
  // 5xx, or no answer: the server may have done it or not. Read the object, then decide.
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
  // The reason in the Status, such as "Conflict". Empty if there is no Status.
  std::string reason;
  // The message for people, shortened.
  std::string message;
  // How long the server asks to wait before a retry.
  DurationMs delay_ms = 0;
};

// Interprets an answer. `code`: the HTTP status; 0: the connection broke, or no answer came in
// time. `retry_after`: the header, empty if there is none. A body that is not a Status becomes the
// message.
// A redirect (3xx) is kUnknown, with a message that says so. It reads `retry_after` only as whole
// seconds, and limits it to limits::kMaxRetryAfterMs. The message of a failed call is never empty.
CallAnswer read_answer(int code, std::string_view retry_after, std::string_view body);

}  // namespace subak
