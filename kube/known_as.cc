#include "kube/known_as.h"

#include "core/limits.h"
#include "kube/json.h"

namespace subak {

Result<std::string> read_known_as(std::string_view answer) {
  constexpr const char* kField = "status.userInfo.username";
  simdjson::dom::parser parser;
  json::Value review;
  const auto wrong = parser.parse(answer.data(), answer.size()).get(review);
  if (wrong != simdjson::SUCCESS || !json::is_object(review)) {
    return Error{ErrorCode::kInvalid, "SelfSubjectReview", "", "want an object in JSON"};
  }
  const auto status = json::member(review, "status");
  std::string user(status ? json::text_in(*status, "userInfo", "username") : std::string_view());
  if (user.empty()) return Error{ErrorCode::kInvalid, kField, "", "want the name of a user"};
  if (user.size() > limits::kMaxTextBytes) {
    return Error{ErrorCode::kInvalid, kField, std::move(user),
                 "want at most " + std::to_string(limits::kMaxTextBytes) + " bytes"};
  }
  return user;
}

}  // namespace subak
