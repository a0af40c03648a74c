// Shows what an edit of shares or of the policy does to the queue. Writes the positions of the
// first waiting jobs, before and after the edit, into the answer to that edit. Threads: any that
// may read the engine; pure functions.
#pragma once

#include "engine/engine.h"
#include "model/input.h"
#include "subak/v1/common.pb.h"

namespace subak::api {

// Adds the jobs that are among the first 20 of the present order, or of the order that the shares
// and the policy `as_if` would give. Costs two calls of Engine::queue_order().
void put_order(const Engine& engine, const OrderAsIf& as_if,
               google::protobuf::RepeatedPtrField<v1::OrderPlace>* out);

// Return the shares that an edit gives to accounts that exist. Shares out of range are left out,
// since the engine refuses the edit.
OrderAsIf shares_of(const AccountTree& tree, const in::SetAccount& edit);
OrderAsIf shares_of(const AccountTree& tree, const in::ApplyAccounts& edit);

}  // namespace subak::api
