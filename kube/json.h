// Reads JSON that users and other programs wrote, with simdjson's DOM. Also writes strings into
// JSON that Subak makes. All readers of Kubernetes objects use it.
//
// A value points into the parser's document, and is valid until the parser's next parse. A member
// of the wrong type counts as absent, because the API server has validated its objects against
// their schema.
//
// member() searches an object from its start, so use it only for a fixed number of names. Use
// Members to look up names that come from users or other programs. Then the work stays linear in
// the length of the text, up to a logarithm.
// Threads: any, but each document belongs to one thread.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace subak {

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 pass unchanged.
void append_json_string(std::string& out, std::string_view text);
// Appends bytes as Kubernetes writes them in JSON: in base64 (RFC 4648, with padding), with quotes.
void append_json_bytes(std::string& out, std::string_view bytes);
// Appends `"key":"text"`. It writes a comma first, unless the object has just been opened.
void append_json_member(std::string& out, std::string_view key, std::string_view text);

namespace json {

// A view into the document of a Parser. Copy it freely; it owns nothing.
using Value = simdjson::dom::element;

// Parses one text after the other. It reuses its memory: about 10 bytes for each byte of the
// longest text. After a text of more than kKeptBytes, the next small text frees the memory.
class Parser {
 public:
  // Returns the root of `text`, which is valid until the next call of parse(). `padded` says that
  // simdjson::SIMDJSON_PADDING readable bytes follow the text. Then the text is parsed without a
  // copy.
  simdjson::simdjson_result<Value> parse(std::string_view text, bool padded = false);

 private:
  static constexpr std::size_t kKeptBytes = 256u << 10;

  std::unique_ptr<simdjson::dom::parser> parser_;
};

// Calls f(key, value) for each member, in the order of the text. If `v` is not an object, it makes
// no call.
template <class F>
void each_member(Value v, F&& f) {
  simdjson::dom::object object;
  if (v.get(object) != simdjson::SUCCESS) return;
  for (const auto& [key, value] : object) f(key, value);
}

// Calls f(index, value) for each item. If `v` is not an array, it makes no call.
template <class F>
void each_item(Value v, F&& f) {
  simdjson::dom::array array;
  if (v.get(array) != simdjson::SUCCESS) return;
  std::size_t index = 0;
  for (const Value item : array) f(index++, item);
}

// Returns the member of this name; nullopt if it is absent or null, or if `v` is no object.
// O(members of v).
inline std::optional<Value> member(Value v, std::string_view key) {
  simdjson::dom::object object;
  Value found;
  if (v.get(object) != simdjson::SUCCESS) return std::nullopt;
  if (object.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

// Returns the text of a string; empty for a value of any other type.
inline std::string_view text(Value v) {
  std::string_view s;
  return v.get(s) == simdjson::SUCCESS ? s : std::string_view();
}
inline std::string_view text(Value v, std::string_view key) {
  const auto found = member(v, key);
  return found ? text(*found) : std::string_view();
}

// Returns the text of a member of a member; empty if either is absent.
inline std::string_view text_in(Value v, std::string_view outer, std::string_view key) {
  const auto found = member(v, outer);
  return found ? text(*found, key) : std::string_view();
}

// Returns true for `true`, and false for every other value.
inline bool boolean(Value v) {
  bool b = false;
  return v.get(b) == simdjson::SUCCESS && b;
}

// Returns boolean() of the member of this name; false if there is no such member.
inline bool boolean(Value v, std::string_view key) {
  const auto found = member(v, key);
  return found && boolean(*found);
}

// Returns the number; `otherwise` if `v` is not an integer that fits into 64 bits with sign.
inline std::int64_t integer(Value v, std::int64_t otherwise = 0) {
  std::int64_t i = 0;
  return v.get(i) == simdjson::SUCCESS ? i : otherwise;
}

// The members of an object, sorted by name. A member with the value null counts as absent. If two
// members have the same name, the first counts.
class Members {
 public:
  // Reads the members of `object`. There are none if `object` is nullopt or has another type. O(n
  // log n).
  explicit Members(std::optional<Value> object) {
    if (!object) return;
    each_member(*object, [&](std::string_view key, Value value) {
      if (!value.is_null()) sorted_.emplace_back(key, value);
    });
    const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    std::stable_sort(sorted_.begin(), sorted_.end(), by_name);
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same), sorted_.end());
  }
  // Returns the value; nullopt if there is no member of this name. O(log n).
  std::optional<Value> find(std::string_view name) const {
    const auto it = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                     [](const auto& m, auto n) { return m.first < n; });
    if (it == sorted_.end() || it->first != name) return std::nullopt;
    return it->second;
  }
  // Iterates over pairs of name and value, by name. The names point into the document too.
  auto begin() const { return sorted_.begin(); }
  auto end() const { return sorted_.end(); }

 private:
  std::vector<std::pair<std::string_view, Value>> sorted_;
};

// True for an object. False for null and every other type.
inline bool is_object(Value v) { return v.is_object(); }

}  // namespace json
}  // namespace subak
