// VerifyUsage: sums the whole ledger again, a part at a time. It compares the sums with the
// follower's balances at the start of the summation, and with the stored sums of days.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "server/api/convert/convert.h"
#include "server/api/usage/usage_service.h"
#include "threads/mutex.h"

namespace subak::api {
namespace {

constexpr std::size_t kRowsPerPart = 20'000;
constexpr int kMaxDifferences = 100;

// Day, payer, holder, state, product, profile, cluster, namespace.
using DayKey = std::tuple<std::int64_t, AccountId, AccountId, UsageState, std::string, std::string,
                          std::string, std::string>;

// The stored sums of days, and what their rows add up to.
class DayCheck {
 public:
  // Reads the stored sums. A sum that cannot be read is counted.
  void read(StoreReader& store) {
    const auto stored = store.day_sums(INT64_MIN, INT64_MAX);
    if (!stored.ok()) {
      ++damaged_;
      return;
    }
    until_seq_ = stored->mark.seq;
    for (const codec::DaySumsPart& part : stored->parts) {
      for (const codec::DaySum& sum : part.sums) {
        sums_[{part.day, sum.payer, sum.holder, sum.state, part.names[sum.product],
               part.names[sum.profile], part.names[sum.cluster], part.names[sum.ns]}]
            .first += sum.amount();
        ++count_;
      }
    }
  }
  // Rows of later facts are not in the sums.
  std::uint64_t until_seq() const { return until_seq_; }
  void add(const LedgerRow& row) {
    TimeMs from = row.counts_from();
    while (from < row.counts_to()) {
      const std::int64_t day = utc_day_of(from);
      const TimeMs to = std::min(row.counts_to(), (day + 1) * kDayMs);
      const GpuTime amount =
          row.booked_ms == 0 ? GpuTime::of(row.milligpu, to - from) : row.amount();
      sums_[{day, row.payer, row.holder, row.state, row.product, row.profile, row.cluster, row.ns}]
          .second += amount;
      from = to;
    }
  }
  void put_into(const Engine& engine, v1::VerifyUsageResponse* out) const {
    std::uint64_t wrong = damaged_;
    for (const auto& [key, pair] : sums_) {
      if (pair.first == pair.second) continue;
      ++wrong;
      if (out->day_differences_size() < kMaxDifferences) {
        put_difference(key, pair, engine, out->add_day_differences());
      }
    }
    out->set_day_sums(count_);
    out->set_wrong_day_sums(wrong);
  }

 private:
  static void put_difference(const DayKey& key, const std::pair<GpuTime, GpuTime>& pair,
                             const Engine& engine, v1::DaySumDifference* out) {
    const auto& [day, payer, holder, state, product, profile, cluster, ns] = key;
    put(day * kDayMs, out->mutable_day());
    out->set_payer(path_of(engine.accounts(), payer));
    out->set_holder(path_of(engine.accounts(), holder));
    out->set_state(to_proto(state));
    out->set_product(product);
    out->set_profile(profile);
    out->set_cluster(cluster);
    out->set_namespace_(ns);
    put(pair.first, out->mutable_sum());
    put(pair.second, out->mutable_rows());
  }

  std::uint64_t until_seq_ = 0, count_ = 0, damaged_ = 0;
  // The stored sum, and the sum of the rows.
  std::map<DayKey, std::pair<GpuTime, GpuTime>> sums_;
};

struct Verify {
  Call call;
  v1::VerifyUsageResponse* out;
  std::uint64_t until_seq = 0;  // rows after it are not in the balances
  std::uint64_t after_seq = 0;
  DayCheck days;
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
  v->days.put_into(engine, v->out);
  Shared& shared = v->call.shared();
  v->out->set_rows(v->rows);
  put(v->total, v->out->mutable_total());
  put(drift, v->out->mutable_drift());
  put(residual_of(engine.bill(shared.now(engine))), v->out->mutable_residual());
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
    if (entry.seq > std::max(v->until_seq, v->days.until_seq())) return finish(v);
    const LedgerRow& row = entry.row;
    v->after_seq = entry.seq;
    if (entry.seq <= v->days.until_seq()) v->days.add(row);
    if (entry.seq > v->until_seq) continue;
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
  auto verify = std::make_shared<Verify>(Verify{call, out, 0, 0, {}, {}, {}, 0, {}});
  return call.read_expensive_then([verify](const Engine& engine) {
    verify->until_seq = engine.seq();
    verify->balances = engine.ledger().sums();
    verify->call.store_then([verify](StoreReader& store) {
      verify->days.read(store);
      add_part(verify, store);
    });
  });
}

}  // namespace subak::api
