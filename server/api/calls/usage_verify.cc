// VerifyUsage: sums the whole ledger again, a part at a time. It compares the sums with the
// follower's balances at the start of the summation.
#include <map>
#include <memory>
#include <utility>

#include "server/api/calls/usage_service.h"
#include "server/api/convert/convert.h"
#include "threads/mutex.h"

namespace subak::api {
namespace {

constexpr std::size_t kRowsPerPart = 20'000;
constexpr int kMaxDifferences = 100;

struct Verify {
  Call call;
  v1::VerifyUsageResponse* out;
  std::uint64_t until_seq = 0;  // rows after it are not in the balances
  std::uint64_t after_seq = 0;
  std::map<Ledger::Key, GpuTime> balances;
  std::map<Ledger::Key, GpuTime> sums;
  std::uint64_t rows = 0;
  GpuTime total;
};

GpuTime absolute(GpuTime t) { return t < GpuTime() ? GpuTime() - t : t; }

void put_difference(const Ledger::Key& key, GpuTime balance, GpuTime rows, const Engine& engine,
                    v1::UsageDifference* out) {
  out->set_payer(path_of(engine.accounts(), key.payer));
  out->set_holder(path_of(engine.accounts(), key.holder));
  out->set_state(to_proto(key.state));
  out->set_product(key.product);
  put(balance, out->mutable_balance());
  put(rows, out->mutable_rows());
}

void compare(const std::shared_ptr<Verify>& v, const Engine& engine) {
  GpuTime drift;
  std::map<Ledger::Key, std::pair<GpuTime, GpuTime>> both;
  for (const auto& [key, amount] : v->balances) both[key].first = amount;
  for (const auto& [key, amount] : v->sums) both[key].second = amount;
  for (const auto& [key, pair] : both) {
    if (pair.first == pair.second) continue;
    drift += absolute(pair.first - pair.second);
    if (v->out->differences_size() < kMaxDifferences) {
      put_difference(key, pair.first, pair.second, engine, v->out->add_differences());
    }
  }
  Shared& shared = v->call.shared();
  v->out->set_rows(v->rows);
  put(v->total, v->out->mutable_total());
  put(drift, v->out->mutable_drift());
  put(engine.residual(shared.now(engine)), v->out->mutable_residual());
  const MutexLock lock(shared.verified_mutex);
  shared.verified_drift = drift;
}

void finish(const std::shared_ptr<Verify>& v) {
  v->call.read_expensive([v](const Engine& engine) -> std::optional<Error> {
    compare(v, engine);
    return std::nullopt;
  });
}

void add_part(const std::shared_ptr<Verify>& v, StoreReader& store) {
  LedgerQuery query;
  query.after_seq = v->after_seq;
  query.most = kRowsPerPart;
  const auto rows = store.ledger(query);
  if (!rows) {
    v->call.fail(rows.error());
    return;
  }
  for (const LedgerEntry& entry : *rows) {
    if (entry.seq > v->until_seq) return finish(v);
    const LedgerRow& row = entry.row;
    v->after_seq = entry.seq;
    v->sums[{row.payer, row.holder, row.state, row.product}] += row.amount();
    v->total += row.amount();
    ++v->rows;
  }
  if (rows->size() < kRowsPerPart) return finish(v);
  v->call.store_then([v](StoreReader& next) { add_part(v, next); });
}

}  // namespace

UsageService::Reactor* UsageService::VerifyUsage(Context* context, const v1::VerifyUsageRequest*,
                                                 v1::VerifyUsageResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  auto verify = std::make_shared<Verify>(Verify{call, out, 0, 0, {}, {}, 0, {}});
  return call.read_expensive_then([verify](const Engine& engine) {
    verify->until_seq = engine.seq();
    verify->balances = engine.ledger().sums();
    verify->call.store_then([verify](StoreReader& store) { add_part(verify, store); });
  });
}

}  // namespace subak::api
