// How a command ends when it does not succeed: two lines for a person and an exit code for a
// script. Thrown by the commands, caught in run_cli().
#pragma once

#include <string>
#include <utility>

#include "core/error.h"

namespace subak::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;
inline constexpr int kExitNotFound = 4;

struct Failure {
  int exit_code = kExitRefused;
  std::string what;  // one line
  std::string todo;  // one line; may be empty
  // Of a refusal by the service: the field that it is about and the value that was there.
  std::string field = "";
  std::string got = "";
};

inline Failure usage_failure(std::string what, std::string todo) {
  return {kExitUsage, std::move(what), std::move(todo), "", ""};
}

// The value, or a usage failure that says what the field should be.
template <class T>
T value_or_usage(Result<T> result, std::string todo) {
  if (!result.ok()) throw usage_failure(result.error().message(), std::move(todo));
  return std::move(result).value();
}

}  // namespace subak::cli
