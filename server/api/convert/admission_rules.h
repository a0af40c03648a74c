// Converts the rules of the webhook to messages and back. The rules are the part of an operator's
// configuration and policy that a replica of the webhook needs. The rules are one part of a copy of
// the leader's data (admission_snapshot.h). Private to server/api/convert. Threads: any; pure
// functions.
#pragma once

#include <string>

#include "admission/policy_config.h"
#include "core/text.h"
#include "engine/answers/view.h"
#include "server/api/convert/convert.h"

namespace subak::api {

// Writes the rules of `config` and of the view's policy.
void put_rules(const View& view, const AdmissionConfig& config, v1::AdmissionRules* out);
// Reads the rules into the view's policy and `config`. The first mistake is in `check`.
void get_rules(Check& check, const v1::AdmissionRules& rules, View& view, AdmissionConfig& config);

// Returns the enum value of a number in a message, where 0 means that the number is missing. If no
// value has the number, returns the first value, and the mistake is in `check`.
template <class E>
E get_enum(Check& check, const char* field, int value) {
  constexpr int kValues = static_cast<int>(EnumText<E>::names.size());
  if (value < 1 || value > kValues) {
    check.fail(field, std::to_string(value), "want 1 to " + std::to_string(kValues));
    return E{};
  }
  return static_cast<E>(value - 1);
}

}  // namespace subak::api
