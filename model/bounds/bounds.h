// Checks the sizes of inputs (model/input.h), so that every fact that follows from them can be
// stored. One table has a bound for every text, list and number of every input, by the name of its
// field. A few further rules compare several fields.
// Three places check these bounds: the webhook before it gates a pod, the API before a request
// waits in the mailbox, and finally the engine. Every accepted input can be stored and read again,
// because the sum of the bounds is far below limits::kMaxFactBytes.
//
// These functions check only sizes and ranges. engine/decide checks the rest, such as whether an
// account exists or a gang may grow.
//
// Errors: kInvalid for the first field beyond its bound. The error has the field's path in the
// record ("request.groups[0].shape.values"), its shortened value, and the limit.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "model/input.h"

namespace subak::bounds {

// One bound: the most bytes of a text, the most items of a list, or the range of a number. `within`
// names the field that contains the record of this field. It is set only if two fields of different
// records have the same name.
struct Row {
  std::string_view field;
  std::string_view within;
  std::int64_t least = 0;
  std::int64_t most = 0;
};
// Returns the bound of a field; nullptr if the field has none. A test checks that each field has a
// bound.
const Row* row_of(std::string_view field, std::string_view within);

// Checks the actor, the request id and all fields of the body.
std::optional<Error> check(const Input& input);
std::optional<Error> check(const in::Body& body);
// Checks a pod that an edge or the webhook has read. The pod's uid and name may still be empty.
std::optional<Error> check(const PodRecord& pod);
std::optional<Error> check(const NodeSpec& node);
// Checks a request. An error names the field by `path`, a dot and the name of the field.
std::optional<Error> check(const GangRequest& request, std::string_view path);

// Counts the node selectors, tolerations, and affinity terms with their requirements of a pod. The
// terms are those of `affinity`, not those of the pod. At most limits::kMaxSelectorTerms are
// allowed.
std::size_t selector_terms(const PodShape& shape, const std::vector<AffinityTerm>& affinity);

// Returns the text if it has at most `most` bytes. Else returns at most `most` bytes of it, cut
// between two characters, with "..." at the end.
std::string cut(std::string_view text, std::size_t most);

}  // namespace subak::bounds
