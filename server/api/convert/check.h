// Strict reading of messages. A Check stores the first mistake, with the full path of its field,
// and ignores later ones. So a converter reads to the end and then asks ok() once.
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

// Threads: none; one per message.
// All methods return the value as it is in the message, also after a mistake. So use a result only
// if ok() is true at the end.
class Check {
 public:
  enum class Texts {
    kNew,     // new text from a caller
    kStored,  // text of a copy of stored data: text() is a sentence()
  };
  explicit Check(Texts texts = Texts::kNew) : texts_(texts) {}

  // While a Scope lives, field names are relative to it: "groups[2].".
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
  // Enters a field. `name` outlives the scope. index < 0: not an element of a list.
  [[nodiscard]] Scope in(const char* name, int index = -1) {
    path_.push_back({name, index});
    return Scope(*this);
  }

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  // Records a mistake (kInvalid), unless one is recorded already. An empty `field` means the
  // message itself.
  void fail(std::string_view field, std::string got, std::string want);

  // Returns the number. A number below `least` or above `most` is a mistake.
  std::int64_t number(std::string_view field, std::int64_t value, std::int64_t least,
                      std::int64_t most);
  // Returns the text. A text of more than `most_bytes`, or one that is not
  // is_printable(), is a mistake.
  // core/printable.h names the refused characters.
  std::string text(std::string_view field, const std::string& value, std::size_t most_bytes);
  // As text(), for a person's sentence or a search text:
  // of the characters, only C0 and DEL are refused.
  std::string sentence(std::string_view field, const std::string& value, std::size_t most_bytes);
  // As text(), for the name of an object: at most limits::kMaxNameBytes. An empty name is refused
  // if `required`.
  std::string name(std::string_view field, const std::string& value, bool required);
  // As name(), for the name of an existing object. It refuses only the characters that sentence()
  // refuses, since an older version may have accepted the name.
  std::string known_name(std::string_view field, const std::string& value, bool required);
  // As text(), for a Kubernetes key: at most limits::kMaxTextBytes, and not empty.
  std::string key(std::string_view field, const std::string& value);
  // Records the mistake that another checker found in this message; nullopt: it found none.
  // The error's field is relative to the present scope.
  void take(const std::optional<Error>& error);
  // Returns milliseconds since 1970 in UTC, rounded down. Refuses times outside 1970 to 9999, and
  // returns 0 for them.
  TimeMs time(std::string_view field, const google::protobuf::Timestamp& value);
  // Returns the duration in ms, rounded down. A duration outside 0 to `most` is a mistake.
  // It returns 0 if the seconds or the nanoseconds of the message are out of range.
  DurationMs duration(std::string_view field, const google::protobuf::Duration& value,
                      DurationMs most);
  // Returns the value of a protobuf enum whose numbers go from 0 to `last`.
  // It accepts 0 (UNSPECIFIED); the caller decides what 0 means.
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
