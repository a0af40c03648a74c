#include "core/error.h"

namespace subak {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kExists:
      return "exists";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kPrecondition:
      return "precondition";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kExhausted:
      return "exhausted";
  }
  return "invalid";
}

std::string Error::message() const {
  std::string out = field;
  if (!got.empty()) out += (out.empty() ? "was \"" : ": was \"") + got + "\"";
  if (!want.empty()) out += (out.empty() ? "" : (got.empty() ? ": " : ", ")) + want;
  return out;
}

}  // namespace subak
