#include "server/api/convert/check.h"

#include <algorithm>

#include "core/limits.h"
#include "core/printable.h"

namespace subak::api {
namespace {

constexpr std::int64_t kLastSecond = 253'402'300'799;  // the end of the year 9999
constexpr std::int32_t kNanosPerSecond = 1'000'000'000;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

void Check::fail(std::string_view field, std::string got, std::string want) {
  if (error_) return;
  std::string path;
  for (const Step& step : path_) {
    path += step.name;
    if (step.index >= 0) path += "[" + std::to_string(step.index) + "]";
    path += '.';
  }
  if (field.empty() && !path.empty()) {
    path.pop_back();  // the message itself
  } else {
    path += field;
  }
  error_ = Error{ErrorCode::kInvalid, std::move(path), std::move(got), std::move(want)};
}

std::int64_t Check::number(std::string_view field, std::int64_t value, std::int64_t least,
                           std::int64_t most) {
  if (value < least || value > most) {
    fail(field, std::to_string(value),
         "want " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

std::string Check::text(std::string_view field, const std::string& value, std::size_t most_bytes) {
  sentence(field, value, most_bytes);
  if (ok() && texts_ == Texts::kNew && !is_printable(value)) {
    fail(field, printable(value), std::string(kWantPrintable));
  }
  return value;
}

std::string Check::sentence(std::string_view field, const std::string& value,
                            std::size_t most_bytes) {
  if (value.size() > most_bytes) {
    fail(field, std::to_string(value.size()) + " bytes",
         "want at most " + std::to_string(most_bytes) + " bytes");
  } else if (std::any_of(value.begin(), value.end(), is_control)) {
    fail(field, printable(value), "want text without control characters");
  }
  return value;
}

std::string Check::name(std::string_view field, const std::string& value, bool required) {
  if (required && value.empty()) fail(field, "", "is required");
  return text(field, value, limits::kMaxNameBytes);
}

std::string Check::known_name(std::string_view field, const std::string& value, bool required) {
  if (required && value.empty()) fail(field, "", "is required");
  return sentence(field, value, limits::kMaxNameBytes);
}

std::string Check::key(std::string_view field, const std::string& value) {
  if (value.empty()) fail(field, "", "is required");
  return text(field, value, limits::kMaxTextBytes);
}

void Check::take(const std::optional<Error>& error) {
  if (error) fail(error->field, error->got, error->want);
}

TimeMs Check::time(std::string_view field, const google::protobuf::Timestamp& value) {
  if (value.seconds() < 0 || value.seconds() > kLastSecond || value.nanos() < 0 ||
      value.nanos() >= kNanosPerSecond) {
    fail(field, std::to_string(value.seconds()) + "s", "want a time from 1970 to 9999");
    return 0;
  }
  return value.seconds() * kSecondMs + value.nanos() / kNanosPerMs;
}

DurationMs Check::duration(std::string_view field, const google::protobuf::Duration& value,
                           DurationMs most) {
  const bool fits = value.seconds() >= 0 && value.seconds() <= most / kSecondMs &&
                    value.nanos() >= 0 && value.nanos() < kNanosPerSecond;
  const DurationMs ms = fits ? value.seconds() * kSecondMs + value.nanos() / kNanosPerMs : 0;
  if (!fits || ms > most) {
    fail(field, std::to_string(value.seconds()) + "s",
         "want 0s to " + std::to_string(most / kSecondMs) + "s");
  }
  return ms;
}

int Check::enum_value(std::string_view field, int value, int last) {
  if (value < 0 || value > last) fail(field, std::to_string(value), "is not one of its values");
  return value;
}

}  // namespace subak::api
