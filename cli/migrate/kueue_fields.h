// The table of all fields that the spec of a Kueue object may have, and what Subak has for each.
// Threads: any; pure functions.
// Source: the API reference of Kueue, kueue.x-k8s.io/v1beta1 and v1beta2.
#pragma once

#include <string_view>

namespace subak::cli {

// What the migration does with a field.
enum class KueueUse {
  kRead,  // kueue_reader.cc reads the field
  kMap,   // the field is a map whose fields have rows of their own
  kNone,  // no equivalent: reported, unless the value is in `same`
};

// One row of the table.
struct KueueField {
  // The kind of the object: "ClusterQueue".
  std::string_view kind;
  // The path within the spec: "preemption.borrowWithinCohort.policy".
  std::string_view path;
  KueueUse use = KueueUse::kNone;
  // For kNone: the values that are not reported, since nothing is lost, with "|" between them:
  // "Borrow|MayStopSearch".
  std::string_view same;
  // For the report: what Subak does instead, or what to do.
  std::string_view todo;
};

// Returns the row of this field; nullptr: the table has none.
const KueueField* find_kueue_field(std::string_view kind, std::string_view path);
// True if `value` is one of `field.same`.
bool needs_no_equivalent(const KueueField& field, std::string_view value);

}  // namespace subak::cli
