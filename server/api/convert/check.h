// Reads the fields of messages strictly. A Check stores the first mistake in a message, with the
// full path of the field, and ignores later mistakes. So a converter reads the whole message, and
// then calls ok() once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace subak::api {

constexpr std::int32_t kNanosPerMs = 1'000'000;

// Threads: one at a time; each message has its own Check. A method returns a value even if the
// value is a mistake. So use the values only if ok() is true at the end.
class Check {
 public:
  enum class Texts {
    kNew,     // new text from a caller: text() refuses what core/printable.h refuses
    kStored,  // text from a copy of stored data: text() refuses only what sentence() refuses
  };
  explicit Check(Texts texts = Texts::kNew) : texts_(texts) {}

  // While a Scope exists, the names of fields are relative to its field, such as "groups[2].".
  class Scope {
   public:
    ~Scope() { check_.path_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Check;
    explicit Scope(Check& check) : check_(check) {}
    Check& check_;
  };
  // Enters a field until the Scope is destroyed. `name` must outlive the Scope. `index`: the index
  // of an element, if the field is a list; else below 0.
  [[nodiscard]] Scope in(const char* name, int index = -1) {
    path_.push_back({name, index});
    return Scope(*this);
  }

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  // Records a mistake (kInvalid), unless one is recorded already. An empty `field` means the
  // message itself.
  void fail(std::string_view field, std::string got, std::string want);

  // Returns `value`. A number below `least` or above `most` is a mistake.
  std::int64_t number(std::string_view field, std::int64_t value, std::int64_t least,
                      std::int64_t most);
  // Returns `value`. It is a mistake if the text is longer than `most_bytes`, or is not
  // is_printable(). core/printable.h says which characters is_printable() refuses.
  std::string text(std::string_view field, const std::string& value, std::size_t most_bytes);
  // Works as text(), for a sentence that a person wrote, or for a search text. The only characters
  // that sentence() refuses are C0 controls and DEL.
  std::string sentence(std::string_view field, const std::string& value, std::size_t most_bytes);
  // Works as text(), for the name of an object: at most limits::kMaxNameBytes. An empty name is
  // refused if `required`.
  std::string name(std::string_view field, const std::string& value, bool required);
  // Works as name(), for the name of an existing object. It refuses only the characters that
  // sentence() refuses, since an older version of the program may have accepted the name.
  std::string known_name(std::string_view field, const std::string& value, bool required);
  // Works as text(), for a Kubernetes key. The key may have at most limits::kMaxTextBytes, and must
  // not be empty.
  std::string key(std::string_view field, const std::string& value);
  // Records the mistake that another function found in this message; nullopt: it found none. The
  // field of the error is relative to the present Scope.
  void take(const std::optional<Error>& error);
  // Returns the time in milliseconds since 1970, UTC, rounded down. A time outside the years 1970
  // to 9999 is a mistake, and the result is 0.
  TimeMs time(std::string_view field, const google::protobuf::Timestamp& value);
  // Returns the duration in ms, rounded down. A duration outside 0 to `most` is a mistake. If the
  // seconds or the nanoseconds of the message are out of range, that is a mistake too, and the
  // result is 0.
  DurationMs duration(std::string_view field, const google::protobuf::Duration& value,
                      DurationMs most);
  // Returns `value`, which belongs to a protobuf enum with the numbers 0 to `last`. Any other
  // number is a mistake. 0 (UNSPECIFIED) is not a mistake; the caller decides what 0 means.
  int enum_value(std::string_view field, int value, int last);

 private:
  struct Step {
    const char* name;
    int index;
  };
  const Texts texts_;
  std::vector<Step> path_;
  std::optional<Error> error_;
};

}  // namespace subak::api
