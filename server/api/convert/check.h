// Strict reading of messages. It keeps the first mistake with the full path of its field and
// ignores later ones. So converters read to the end and ask once.
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
// All methods return the value as it came, also after a mistake. So a result counts only if ok() is
// true at the end.
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
  // Records a mistake (kInvalid), unless there is one. An empty `field`: the message itself.
  void fail(std::string_view field, std::string got, std::string want);

  // Refuses a number below `least` or above `most`; both are allowed values.
  std::int64_t number(std::string_view field, std::int64_t value, std::int64_t least,
                      std::int64_t most);
  // Returns a text of at most `most_bytes` that is_printable().
  // See core/printable.h for the characters that are refused.
  std::string text(std::string_view field, const std::string& value, std::size_t most_bytes);
  // Returns a person's sentence or a search text: as text(), but only C0 and DEL are refused.
  std::string sentence(std::string_view field, const std::string& value, std::size_t most_bytes);
  // Returns an object's name: as text(), at most limits::kMaxNameBytes. An empty one is refused if
  // `required`.
  std::string name(std::string_view field, const std::string& value, bool required);
  // Returns the name of an existing object, which an older version may have accepted: as name(),
  // but checked as a sentence().
  std::string known_name(std::string_view field, const std::string& value, bool required);
  // Returns a Kubernetes key: as text(), at most limits::kMaxTextBytes, not empty.
  std::string key(std::string_view field, const std::string& value);
  // Takes over the mistake that another checker found in this message.
  // Its field counts from the present scope. nullopt: no mistake.
  void take(const std::optional<Error>& error);
  // Returns milliseconds since 1970 in UTC, rounded down. Refuses times outside 1970 to 9999, and
  // returns 0 for them.
  TimeMs time(std::string_view field, const google::protobuf::Timestamp& value);
  // Returns a duration from 0 to `most`.
  // Both are in ms; parts of a millisecond are cut off. It returns 0 if seconds or nanoseconds are
  // out of range.
  DurationMs duration(std::string_view field, const google::protobuf::Duration& value,
                      DurationMs most);
  // Returns the value of a protobuf enum whose numbers go from 0 to `last`.
  // 0 is accepted. The caller decides what UNSPECIFIED means.
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
