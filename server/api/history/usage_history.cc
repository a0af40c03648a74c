// GetUsageHistory. The follower has the payers, and the usage without a row. The store has the rows
// of the ledger, and the edits of quotas in the audit log.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/limits.h"
#include "server/api/convert/convert.h"
#include "server/api/history/history_limits.h"
#include "server/api/history/usage_steps.h"
#include "server/api/usage/quota_time.h"
#include "server/api/usage/usage_service.h"
#include "server/api/usage/usage_sums.h"
#include "server/past/fact_times.h"

namespace subak::api {
namespace {

// The rows of the audit log that one read of the store returns.
constexpr std::size_t kEditsPerRead = 10'000;

struct UsagePast {
  Call call;
  const v1::GetUsageHistoryRequest* in;
  v1::GetUsageHistoryResponse* out;
  const Shared* shared;
  // The period; `to_ms` 0: now.
  TimeMs from_ms = 0, to_ms = 0;
  DurationMs step_ms = kHourMs;
  TimeMs now = 0;
  LedgerQuery query{};
  // The last fact of the figures.
  std::uint64_t last_seq = 0;
  std::optional<UsageSteps> steps{};
  std::optional<QuotaTime> quotas{};
  // The entries of the audit log from this number on are reverted.
  std::uint64_t audit_seq = 0;
  std::uint64_t rows = 0;
  // The facts whose rows the next turn reads.
  std::uint64_t facts_per_turn = limits::kLedgerFactsPerTurn;
};

using UsagePastPtr = std::shared_ptr<UsagePast>;

// Completes the period, and checks its bounds.
std::optional<Error> set_period(UsagePast& p) {
  Check check;
  if (p.to_ms == 0) p.to_ms = p.now;
  if (!p.in->has_from()) p.from_ms = std::max<TimeMs>(0, p.to_ms - kDayMs);
  if (p.to_ms <= p.from_ms) check.fail("to", "", "want an instant after `from`");
  if (p.to_ms - p.from_ms > limits::kMaxHistoryMs) {
    check.fail(
        "from", std::to_string((p.to_ms - p.from_ms) / kDayMs) + " days before `to`",
        "want a period of at most " + std::to_string(limits::kMaxHistoryMs / kDayMs) + " days");
  }
  const std::int64_t steps = (p.to_ms - p.from_ms + p.step_ms - 1) / p.step_ms;
  if (steps > limits::kMaxHistorySteps) {
    check.fail("step", std::to_string(steps) + " steps",
               "want at most " + std::to_string(limits::kMaxHistorySteps) +
                   " steps: a longer step or a shorter period");
  }
  return check.ok() ? std::nullopt : std::optional(check.error());
}

// Adds the usage that has no row yet. Usage in a closed month counts now, as its row will.
void add_open_usage(UsagePast& p, const Engine& engine) {
  const TimeMs since = open_since(p.now, engine.policy().books.months);
  for (const OpenUsage& open : engine.open_usage()) {
    p.steps->add(open.payer, open.state, open.milligpu, std::max(open.since_ms, since), p.now);
    if (open.since_ms >= since) continue;
    LedgerRow late;
    late.from_ms = open.since_ms;
    late.to_ms = since;
    late.payer = open.payer;
    late.state = open.state;
    late.milligpu = open.milligpu;
    late.booked_ms = p.now;
    p.steps->add(late);
  }
}

// All figures are as of this instant.
std::optional<Error> begin_steps(UsagePast& p, const Engine& engine) {
  p.now = p.shared->now(engine);
  if (auto error = set_period(p)) return error;
  if (auto error = find_payers(engine, p.in->account(), &p.query.payers)) return error;
  p.last_seq = engine.seq();
  p.query.from_ms = p.from_ms;
  p.query.to_ms = p.to_ms;
  p.query.with_platform = true;
  p.query.most = limits::kLedgerRowsPerTurn;
  const TimeMs end = std::max(p.from_ms + 1, std::min(p.to_ms, p.now));
  p.steps.emplace(p.from_ms, end, p.step_ms, p.query.payers);
  add_open_usage(p, engine);
  p.quotas.emplace(engine.accounts(), p.now, p.from_ms, p.to_ms, p.step_ms, p.in->account());
  p.audit_seq = p.last_seq + 1;
  return std::nullopt;
}

void finish_steps(UsagePast& p) {
  const std::map<QuotaTime::Key, GpuTime> quotas = p.quotas->finish();
  for (std::size_t i = 0; i < p.steps->size() && p.from_ms < p.now; ++i) {
    v1::UsageStep* const out = p.out->add_steps();
    put(p.steps->from_ms(i), out->mutable_from());
    put(std::min(p.steps->from_ms(i + 1), p.to_ms), out->mutable_to());
    put((*p.steps)[i].used, out->mutable_used());
    put((*p.steps)[i].held, out->mutable_held());
    put((*p.steps)[i].platform, out->mutable_platform());
    const auto quota = quotas.find({p.in->account(), static_cast<std::int64_t>(i)});
    put(quota == quotas.end() ? GpuTime() : quota->second, out->mutable_quota());
  }
  put(p.now, p.out->mutable_time());
  p.out->set_last_sequence(p.last_seq);
  p.out->set_rows_added(p.rows);
  p.call.done();
}

// Reverts the edits of accounts since the begin of the period, a part at a time.
void read_quota_edits(const UsagePastPtr& p, StoreReader& store) {
  AuditQuery query;
  query.from_ms = p->from_ms;
  query.before_seq = p->audit_seq;
  query.most = kEditsPerRead;
  const auto rows = store.audit(query);
  if (!rows.ok()) {
    p->call.fail(rows.error());
    return;
  }
  for (const AuditEntry& row : *rows) {
    if (auto error = p->quotas->revert(row)) {
      p->call.fail(*error);
      return;
    }
    p->audit_seq = row.seq;
  }
  if (rows->size() < kEditsPerRead) return finish_steps(*p);
  p->call.store_then([p](StoreReader& next) { read_quota_edits(p, next); });
}

// Adds the rows of the next facts.
void read_ledger_rows(const UsagePastPtr& p, StoreReader& store) {
  p->query.last_seq = std::min(p->query.after_seq + p->facts_per_turn, p->last_seq);
  const std::int64_t begin_us = p->shared->clock.monotonic_us();
  const auto rows = store.ledger(p->query);
  if (!rows.ok()) {
    p->call.fail(rows.error());
    return;
  }
  for (const LedgerEntry& entry : *rows) p->steps->add(entry.row);
  p->rows += rows->size();
  const bool full = rows->size() >= p->query.most;
  p->query.after_seq = full ? rows->back().seq : p->query.last_seq;
  // An index makes a turn quick, so the next one may have more facts.
  if (p->shared->clock.monotonic_us() - begin_us < limits::kQuickTurnUs) p->facts_per_turn *= 2;
  const bool last = p->query.after_seq >= p->last_seq;
  p->call.store_then([p, last](StoreReader& next) {
    last ? read_quota_edits(p, next) : read_ledger_rows(p, next);
  });
}

void begin_ledger_rows(const UsagePastPtr& p, StoreReader& store) {
  const auto before = last_fact_before(store, p->from_ms, p->last_seq);
  if (!before.ok()) {
    p->call.fail(before.error());
    return;
  }
  p->query.after_seq = *before;
  read_ledger_rows(p, store);
}

}  // namespace

UsageService::Reactor* UsageService::GetUsageHistory(Context* context,
                                                     const v1::GetUsageHistoryRequest* in,
                                                     v1::GetUsageHistoryResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  auto past = std::make_shared<UsagePast>(UsagePast{call, in, out, &shared_});
  check.name("account", in->account(), false);
  if (in->has_from()) past->from_ms = check.time("from", in->from());
  if (in->has_to()) past->to_ms = check.time("to", in->to());
  if (in->has_step()) {
    past->step_ms = check.duration("step", in->step(), limits::kMaxHistoryMs);
    if (check.ok() && past->step_ms < limits::kMinHistoryStepMs) {
      check.fail(
          "step", std::to_string(past->step_ms / kSecondMs) + " s",
          "want at least " + std::to_string(limits::kMinHistoryStepMs / kMinuteMs) + " minutes");
    }
  }
  if (in->has_to() && check.ok() && past->to_ms == 0)
    check.fail("to", "", "want a time after 1970");
  if (!check.ok()) return call.fail(check.error());
  return call.read_expensive_then([past](const Engine& engine) {
    if (const auto error = begin_steps(*past, engine)) {
      past->call.fail(*error);
    } else {
      past->call.store_then([past](StoreReader& store) { begin_ledger_rows(past, store); });
    }
  });
}

}  // namespace subak::api
