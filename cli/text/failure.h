// Failure, the unsuccessful end of a command: two lines for people and an exit code for scripts.
// Commands throw it, and run_cli() catches it. "Throws Failure (usage)" in other headers means exit
// code kExitUsage.
// Threads: any; plain values.
#pragma once

#include <string>
#include <utility>

#include "core/error.h"

namespace subak::cli {

// Exit codes. kExitDone: the command has done what the user asked for.
inline constexpr int kExitDone = 0;
// The service refused, or the failure has no exit code of its own.
inline constexpr int kExitRefused = 1;
// The command line is wrong, or a file cannot be used.
inline constexpr int kExitUsage = 2;
// No service answered.
inline constexpr int kExitUnreachable = 3;
// The service does not know a name, or a file does not exist.
inline constexpr int kExitNotFound = 4;

// The text and exit code of an unsuccessful end.
struct Failure {
  int exit_code = kExitRefused;
  // What is wrong, in one line.
  std::string what;
  // What to do, in one line; may be empty.
  std::string todo;
  // If the service refused: the field of the request and its value.
  std::string field = "";
  std::string got = "";
};

// Returns a failure with exit code kExitUsage.
inline Failure usage_failure(std::string what, std::string todo) {
  return {kExitUsage, std::move(what), std::move(todo), "", ""};
}

// Returns the failure of a command that works on a store by itself. The field `option` of the error
// is shown as the option of this name.
inline Failure store_failure(const Error& error, const std::string& option) {
  const int code = error.code == ErrorCode::kNotFound ? kExitNotFound : kExitRefused;
  const std::string field = error.field == option ? "--" + option : error.field;
  return {code, error.got.empty() ? field : field + ": " + error.got, error.want};
}

// Returns the value, or throws a usage failure that describes the valid values of the field.
template <class T>
T value_or_usage(Result<T> result, std::string todo) {
  if (!result.ok()) throw usage_failure(result.error().message(), std::move(todo));
  return std::move(result).value();
}

}  // namespace subak::cli
