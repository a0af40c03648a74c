#include "server/api/calls/order_places.h"

#include <map>

#include "core/account_limits.h"
#include "core/limits.h"
#include "core/text.h"

namespace subak::api {
namespace {

// The jobs at the head of the queue whose places an answer has.
constexpr std::size_t kPlaces = 20;

void add_shares(const AccountTree& tree, const AccountSpec& spec, OrderAsIf* out) {
  const AccountId id = tree.find(spec.path);
  if (!id || tree.node(id).spec.shares == spec.shares) return;
  if (spec.shares < 0 || spec.shares > limits::kMaxShares) return;
  out->shares.emplace_back(id, spec.shares);
}

}  // namespace

void put_order(const Engine& engine, const OrderAsIf& as_if,
               google::protobuf::RepeatedPtrField<v1::OrderPlace>* out) {
  std::map<JobId, v1::OrderPlace*> places;
  const auto place_of = [&](JobId id) {
    const auto [it, is_new] = places.try_emplace(id);
    if (is_new) {
      it->second = out->Add();
      it->second->set_job(text::job_id_text(id));
      if (const auto row = engine.job(id, false)) it->second->set_account(row->account);
    }
    return it->second;
  };
  std::int32_t at = 0;
  for (const JobId id : engine.queue_order(kPlaces)) place_of(id)->set_before(++at);
  at = 0;
  for (const JobId id : engine.queue_order(kPlaces, as_if)) place_of(id)->set_after(++at);
}

OrderAsIf shares_of(const AccountTree& tree, const in::SetAccount& edit) {
  OrderAsIf out;
  if (!edit.unchanged.shares) add_shares(tree, edit.spec, &out);
  return out;
}

OrderAsIf shares_of(const AccountTree& tree, const in::ApplyAccounts& edit) {
  OrderAsIf out;
  for (const in::AccountChange& change : edit.changes) {
    if (!change.remove && !change.unchanged.shares) add_shares(tree, change.spec, &out);
  }
  return out;
}

}  // namespace subak::api
