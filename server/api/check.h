// Strict reading of messages: the first mistake is kept with the full path of its field, every
// later one is ignored, so converters read straight on and ask once at the end.
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
class Check {
 public:
  enum class Texts {
    kNew,     // what callers say
    kStored,  // a copy of what is stored: text() is a sentence()
  };
  explicit Check(Texts texts = Texts::kNew) : texts_(texts) {}

  // While it lives, fields are inside this one: "groups[2].".
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
  // `name` outlives the scope. index < 0: not an element of a list.
  [[nodiscard]] Scope in(const char* name, int index = -1) {
    path_.push_back({name, index});
    return Scope(*this);
  }

  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }
  void fail(std::string_view field, std::string got, std::string want);

  std::int64_t number(std::string_view field, std::int64_t value, std::int64_t least,
                      std::int64_t most);
  // At most `most_bytes`, is_printable().
  std::string text(std::string_view field, const std::string& value, std::size_t most_bytes);
  // A sentence of a person, or a text that is looked for: as text(), but only without C0 and DEL.
  std::string sentence(std::string_view field, const std::string& value, std::size_t most_bytes);
  // An object's name: as text(), at most limits::kMaxNameBytes; refused when empty if `required`.
  std::string name(std::string_view field, const std::string& value, bool required);
  // The name of an object that is there, which an older version may have taken: as name(), but a sentence().
  std::string known_name(std::string_view field, const std::string& value, bool required);
  // A key of Kubernetes: as text(), at most limits::kMaxTextBytes, not empty.
  std::string key(std::string_view field, const std::string& value);
  // What another checker found of the message at hand.
  void take(const std::optional<Error>& error);
  TimeMs time(std::string_view field, const google::protobuf::Timestamp& value);
  // Not negative, at most `most`.
  DurationMs duration(std::string_view field, const google::protobuf::Duration& value,
                      DurationMs most);
  // The value of a protobuf enum whose numbers go from 0 to `last`.
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
