#include "server/edge/client/answer.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/limits.h"
#include "kube/json.h"

namespace subak {
namespace {

Outcome outcome_of(int code) {
  if (code >= 200 && code < 300) return Outcome::kDone;
  switch (code) {
    case 401:
      return Outcome::kUnauthorized;
    case 404:
      return Outcome::kNotFound;
    case 409:
      return Outcome::kConflict;
    case 410:
      return Outcome::kExpired;
    case 422:
      return Outcome::kInvalid;
    case 429:
      return Outcome::kLater;
    default:
      return code >= 400 && code < 500 ? Outcome::kRefused : Outcome::kUnknown;
  }
}

// Reads whole seconds; a date counts as none.
DurationMs delay_of(std::string_view retry_after) {
  std::int64_t seconds = 0;
  const auto [end, ec] =
      std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), seconds);
  if (ec != std::errc() || end != retry_after.data() + retry_after.size()) return 0;
  return std::clamp<std::int64_t>(seconds, 0, limits::kMaxRetryAfterMs / kSecondMs) * kSecondMs;
}

}  // namespace

CallAnswer read_answer(int code, std::string_view retry_after, std::string_view body) {
  CallAnswer answer;
  answer.outcome = outcome_of(code);
  answer.delay_ms = delay_of(retry_after);
  if (answer.outcome == Outcome::kDone) return answer;
  simdjson::dom::parser parser;
  json::Value root;
  const bool is_json = parser.parse(body.data(), body.size()).get(root) == simdjson::SUCCESS;
  if (is_json && json::text(root, "kind") == "Status") {
    answer.reason = cut_text(json::text(root, "reason"));
    answer.message = cut_text(json::text(root, "message"), limits::kMaxMessageBytes);
  } else {
    answer.message = cut_text(body, limits::kMaxMessageBytes);
  }
  if (code >= 300 && code < 400) {
    answer.message = "a redirect (" + std::to_string(code) + "), want the API server itself";
  }
  if (answer.message.empty()) answer.message = code == 0 ? "no answer" : std::to_string(code);
  return answer;
}

}  // namespace subak
