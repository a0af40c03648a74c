// Describes in words for people the rules of entitlement.h that limit jobs, GPU time and users.
// Reasons and error messages use these texts.
// Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "accounting/quota/entitlement.h"

namespace subak {

// Returns an amount for people: "1 GPU", "8 GPUs of NVIDIA-H100-80GB-HBM3". An empty `product`
// stands for any product.
std::string gpus_text(MilliGpu amount, std::string_view product);
// True for a limit on jobs, for a budget, and for a limit for each user. The functions below
// describe only such rules.
bool is_extra_limit(const Binding& binding);
// Returns what the rule allows: "account ml allows each user at most 8 GPUs at once". The rule must
// be an extra limit (asserted). `account` names the account that has the rule: "account ml".
// `product` is the name of the rule's product, if it has one.
std::string rule_text(const Binding& binding, std::string_view account, std::string_view product);
// Returns how much counts towards the rule now, and how much the job needs, such as "8 hold GPUs
// now". Append the text to rule_text() after a semicolon.
std::string present_text(const Binding& binding);

}  // namespace subak
