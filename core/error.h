// Errors as values: no function of the core throws an exception to report an error. An Error names
// the refused field, its value, and the accepted form. So webhook, API and CLI can each report the
// error in their own form.
// Threads: any; plain values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/limits.h"

namespace subak {

// The kinds of refusals. Each row has the gRPC status code of the API and the HTTP status of the
// webhook. The CLI maps the codes to exit codes.
enum class ErrorCode : unsigned char {
  kInvalid,       // the value can never be right             INVALID_ARGUMENT     422
  kNotFound,      // no such account, job, node                NOT_FOUND            404
  kExists,        // the name is taken by another              ALREADY_EXISTS       409
  kConflict,      // revision is not the current one           ABORTED              409
  kPrecondition,  // right, but not in this state              FAILED_PRECONDITION  403
  kDenied,        // not allowed for this caller               PERMISSION_DENIED    403
  kExhausted,     // a named limit is reached                  RESOURCE_EXHAUSTED   429
};

// The code in lower case: "not_found".
std::string_view to_string(ErrorCode code);

// A refusal. A text that does not apply (`field`, `got` or `want`) is empty.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  // The path of the offending field: "quota.gpu". Empty: the error is not about one field.
  std::string field;
  // The value that the caller gave for the field, perhaps shortened. Empty: the caller gave no
  // value.
  std::string got;
  // A phrase for people: which values are accepted ("want ..."), or why the call was refused.
  std::string want;

  // Returns one line: "quota.gpu: was "-3", want a number of GPUs >= 0". cut_error() shortens
  // long texts.
  std::string message() const;
  friend bool operator==(const Error&, const Error&) = default;
};

// A T or an Error. Call ok() first. To call value() on an error, or error() on a value, is a bug
// and throws std::bad_variant_access. The references that value() and error() return are valid as
// long as the Result.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : v_(std::move(error)) {}  // NOLINT: implicit on purpose
  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const T& value() const& { return std::get<0>(v_); }
  T& value() & { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  const Error& error() const { return std::get<1>(v_); }
  const T& operator*() const { return value(); }
  T& operator*() { return value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> v_;
};

// The largest size of the note that cut_text() adds. A caller that limits the size of the result
// subtracts this size from its limit.
inline constexpr std::size_t kCutNoteBytes = 40;
// Shortens a text of a caller before a message repeats the text. Returns `text` if it has at most
// `most` bytes. Else returns the beginning of the text and a note: "abc... (17 more bytes)". The
// cut is between UTF-8 characters, so the beginning may be up to three bytes shorter than `most`.
std::string cut_text(std::string_view text, std::size_t most = limits::kMaxEchoBytes);

// Returns a copy of the error with texts shortened by cut_text(): `field` and `got` to
// kMaxEchoBytes, `want` to half of kMaxMessageBytes, each plus the note.
Error cut_error(const Error& error);

}  // namespace subak
