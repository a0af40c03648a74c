// What may enter a fact: one table with a bound for every text, list and number of every input, by
// the name of its field, and the few rules that look at several fields. Everybody who lets
// something in asks here, the engine last: the webhook before it gates a pod, the API before a
// request waits in the mailbox. What passes can be stored and read again (the sum of it is far
// below limits::kMaxFactBytes).
//
// Only sizes and ranges. Whether an account exists or a gang may grow is decided in engine/decide.
//
// Errors: kInvalid with the path of the first field that is beyond its bound, relative to the
// record ("request.groups[0].shape.values"), its value, cut, and the limit. Threads: pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/input.h"

namespace subak::bounds {

// Texts: the most bytes. Lists: the most items. Numbers: the range. `within` is the field that
// holds the record, where one name means two things; else empty.
struct Row {
  std::string_view field;
  std::string_view within;
  std::int64_t least = 0;
  std::int64_t most = 0;
};
// The bound of a field. nullptr: it has none; a test sees to it that each field has one.
const Row* row_of(std::string_view field, std::string_view within);

// Actor, request id and all of the body.
std::optional<Error> check(const Input& input);
std::optional<Error> check(const in::Body& body);
// As an edge or the webhook reads it; uid and name may be empty still.
std::optional<Error> check(const PodRecord& pod);
std::optional<Error> check(const NodeSpec& node);
// `path` is put before the field.
std::optional<Error> check(const GangRequest& request, std::string_view path);

// At most `most` bytes of a text, cut between characters, "..." where something is left out.
std::string cut(std::string_view text, std::size_t most);

}  // namespace subak::bounds
