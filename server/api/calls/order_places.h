// The places of the first waiting jobs before and after a change, as answers have them.
// Threads: any that may read the engine; pure functions.
#pragma once

#include "engine/engine.h"
#include "model/input.h"
#include "subak/v1/common.pb.h"

namespace subak::api {

// Adds the jobs that are among the first 20 by the present order or by `as_if`.
void put_order(const Engine& engine, const OrderAsIf& as_if,
               google::protobuf::RepeatedPtrField<v1::OrderPlace>* out);

// Return the shares that an edit gives to accounts that exist. Shares out of range are left out,
// since the engine refuses the edit.
OrderAsIf shares_of(const AccountTree& tree, const in::SetAccount& edit);
OrderAsIf shares_of(const AccountTree& tree, const in::ApplyAccounts& edit);

}  // namespace subak::api
