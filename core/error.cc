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
  const Error cut = cut_error(*this);
  std::string out = cut.field;
  if (!cut.got.empty()) out += (out.empty() ? "was \"" : ": was \"") + cut.got + "\"";
  if (!cut.want.empty()) out += (out.empty() ? "" : (cut.got.empty() ? ": " : ", ")) + cut.want;
  return out;
}

std::string cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t end = most;
  for (int back = 0; back < 3 && end > 0 && inside(end); ++back) --end;
  return std::string(text.substr(0, end)) + "... (" + std::to_string(text.size() - end) +
         " more bytes)";
}

Error cut_error(const Error& error) {
  return {error.code, cut_text(error.field), cut_text(error.got),
          cut_text(error.want, limits::kMaxMessageBytes / 2)};
}

}  // namespace subak
