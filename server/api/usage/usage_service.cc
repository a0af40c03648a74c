// ReportUsage and ListLedger. The follower turns account names into ids, the store returns the
// rows, and the follower turns ids into names.
#include "server/api/usage/usage_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/account_path.h"
#include "core/edge_limits.h"
#include "server/activity/book.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"
#include "server/api/usage/quota_time.h"
#include "server/api/usage/usage_sums.h"
#include "server/log/log.h"

namespace subak::api {
namespace {

// The most sums in one answer.
constexpr std::size_t kMaxReportSums = 100'000;
// The rows of the audit log that one read of the store returns.
constexpr std::size_t kAuditRows = 10'000;

struct Range {
  std::string account;
  LedgerQuery query;
};

template <class Request>
Range get_range(Check& check, const Request& in) {
  Range range;
  range.account = check.name("account", in.account(), false);
  if (in.has_from()) range.query.from_ms = check.time("from", in.from());
  if (in.has_to()) range.query.to_ms = check.time("to", in.to());
  if (range.query.to_ms <= range.query.from_ms)
    check.fail("to", "", "want an instant after `from`");
  return range;
}

struct Report {
  Call call;
  const v1::ReportUsageRequest* in;
  v1::ReportUsageResponse* out;
  LedgerQuery query;
  const Shared* shared;
  TimeMs now = 0;
  std::vector<RunningUsage> running;  // usage without a row at query.last_seq
  std::vector<DailyUsage> rows;
  std::vector<ActivityDay> activity;
  // Set if the request wants allowances.
  std::optional<QuotaTime> quotas;
  // Budgets by account, at `now`.
  std::map<std::string, std::vector<v1::BudgetRow>> budgets;
  // The entries of the audit log from this number on are reverted.
  std::uint64_t audit_seq = 0;
};

// True if the service observes activity, and can divide it into the groups of the request.
bool is_observed(const Report& r) {
  const bool finer = r.in->by_profile() || r.in->by_cluster() || r.in->by_namespace();
  return r.shared->options.activity != nullptr && !finer && !r.in->by_job();
}

// Reads the activity of the days with usage: from the book, or else from the store.
std::optional<Error> read_activity(Report& r) {
  const ActivityBook* const book = r.shared->options.activity;
  if (!is_observed(r)) return std::nullopt;
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  };
  const bool by_day = r.query.columns.period == UsagePeriod::kDay;
  for (const DailyUsage& row : r.rows) add(row.day, by_day ? row.day : r.now / kDayMs);
  for (const RunningUsage& one : r.running) add(one.open.since_ms / kDayMs, r.now / kDayMs);
  last = std::min(last, r.query.to_ms / kDayMs);
  first = std::max({first, r.query.from_ms / kDayMs, last - limits::kMaxActivityDays});
  for (std::int64_t day = first; day <= last; ++day) {
    if (auto known = book->day(day)) {
      r.activity.push_back(std::move(*known));
      continue;
    }
    const Result<std::string> bytes = r.shared->store.read_activity(day);
    if (!bytes) return bytes.error();
    if (bytes->empty()) continue;
    Result<ActivityDay> stored = codec::decode_activity_day(*bytes);
    if (!stored) return stored.error();
    r.activity.push_back(std::move(*stored));
  }
  return std::nullopt;
}

// True if the present instant is in the period of the report.
bool has_present(const Report& r) { return r.query.from_ms <= r.now && r.now <= r.query.to_ms; }

// Notes the present quotas, and the budgets with their figures.
void begin_allowances(Report& r, const Engine& engine) {
  const AccountTree& tree = engine.accounts();
  r.quotas.emplace(tree, r.now, r.query.from_ms, r.query.to_ms, r.query.columns.period);
  r.audit_seq = r.query.last_seq + 1;
  if (!has_present(r)) return;
  for (const AccountId id : tree.preorder()) {
    const AccountNode& node = tree.node(id);
    if (node.spec.user || node.jobs.budgets.empty()) continue;
    std::vector<v1::BudgetRow>& rows = r.budgets[node.spec.path];
    for (const BudgetBook& book : node.jobs.budgets) {
      put(book, r.now, &rows.emplace_back());
      rows.back().set_account(node.spec.path);
    }
  }
}

Error too_many(std::size_t sums) {
  return {ErrorCode::kExhausted, "period", std::to_string(sums) + " sums",
          "want a report of at most " + std::to_string(kMaxReportSums) +
              " sums: a shorter period, an account, or fewer groups"};
}

// Writes the allowances of the accounts at or below the account of the request.
std::optional<Error> put_allowances(Report& r) {
  const UsagePeriod period = r.query.columns.period;
  const bool by_period = period != UsagePeriod::kAll;
  std::map<QuotaTime::Key, GpuTime> quotas = r.quotas->finish();
  const std::int64_t today = by_period ? first_day_of(period, utc_day_of(r.now)) : -1;
  for (const auto& [path, budgets] : r.budgets) quotas.try_emplace({path, today});
  if (quotas.size() > kMaxReportSums) return too_many(quotas.size());
  for (const auto& [key, quota] : quotas) {
    const auto& [path, day] = key;
    if (path.find('/') != std::string::npos) continue;
    if (!is_path_within(path, r.in->account())) continue;
    v1::AccountAllowance* const out = r.out->add_allowances();
    out->set_account(path);
    if (by_period) put(day * kDayMs, out->mutable_day());
    put(quota, out->mutable_quota());
    const auto budgets = r.budgets.find(path);
    if (day != today || budgets == r.budgets.end()) continue;
    for (const v1::BudgetRow& row : budgets->second) *out->add_budgets() = row;
  }
  return std::nullopt;
}

// All figures are as of this instant.
std::optional<Error> begin_report(Report& r, const Engine& engine) {
  r.now = r.shared->now(engine);
  r.query.last_seq = engine.seq();
  r.query.columns = columns_of(*r.in);
  r.query.with_platform = true;
  r.running = running_usage(engine, r.query.columns);
  if (r.in->with_allowances()) begin_allowances(r, engine);
  put(open_since(r.now, engine.policy().books.months), r.out->mutable_open_since());
  return find_payers(engine, r.in->account(), &r.query.payers);
}

void finish_report(const std::shared_ptr<Report>& r) {
  r->call.read_expensive([r](const Engine& engine) -> std::optional<Error> {
    UsageSums sums(*r->in, r->query, engine);
    for (const DailyUsage& row : r->rows) sums.add_booked(row);
    for (const RunningUsage& usage : r->running) sums.add_running(usage, r->now);
    if (sums.size() > kMaxReportSums) return too_many(sums.size());
    for (const ActivityDay& day : r->activity) sums.add_activity(day);
    sums.put_into(r->out, is_observed(*r));
    put(r->now, r->out->mutable_time());
    r->out->set_last_sequence(r->query.last_seq);
    return r->quotas ? put_allowances(*r) : std::nullopt;
  });
}

// Reverts the edits of accounts since the begin of the period, a part at a time.
void read_edits(const std::shared_ptr<Report>& r, StoreReader& store) {
  AuditQuery query;
  query.from_ms = r->query.from_ms;
  query.before_seq = r->audit_seq;
  query.most = kAuditRows;
  const auto rows = store.audit(query);
  if (!rows) {
    r->call.fail(rows.error());
    return;
  }
  for (const AuditEntry& row : *rows) {
    if (auto error = r->quotas->revert(row)) {
      r->call.fail(*error);
      return;
    }
    r->audit_seq = row.seq;
  }
  if (rows->size() < kAuditRows) return finish_report(r);
  r->call.store_then([r](StoreReader& next) { read_edits(r, next); });
}

void read_report(const std::shared_ptr<Report>& r, StoreReader& store) {
  auto rows = store.daily_usage(r->query);
  if (!rows) {
    r->call.fail(rows.error());
    return;
  }
  r->rows = std::move(*rows);
  if (const auto error = read_activity(*r)) {
    log::warn("activity", {{"error", error->message()}});  // it counts as not observed
  }
  if (r->quotas) return read_edits(r, store);
  finish_report(r);
}

struct Listing {
  Call call;
  v1::ListLedgerResponse* out;
  LedgerQuery query;
  Page page;
  std::vector<LedgerEntry> rows;
};

void put_rows(const Listing& l, const Engine& engine) {
  PageMeter meter(l.page);
  for (const LedgerEntry& entry : l.rows) {
    v1::LedgerRow* row = l.out->add_rows();
    put(entry, engine, row);
    if (meter.add(row->ByteSizeLong())) continue;
    l.out->set_next_page_token(std::to_string(entry.seq));
    return;
  }
}

void read_listing(const std::shared_ptr<Listing>& l, StoreReader& store) {
  auto rows = store.ledger(l->query);
  if (!rows) {
    l->call.fail(rows.error());
    return;
  }
  l->rows = std::move(*rows);
  l->call.read_expensive([l](const Engine& engine) -> std::optional<Error> {
    put_rows(*l, engine);
    return std::nullopt;
  });
}

}  // namespace

UsageService::Reactor* UsageService::ReportUsage(Context* context, const v1::ReportUsageRequest* in,
                                                 v1::ReportUsageResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  Range range = get_range(check, *in);
  if (!v1::Period_IsValid(in->period()))
    check.fail("period", std::to_string(in->period()), "want a period that this version knows");
  const bool by_more = in->by_user() || in->by_product() || in->by_profile() || in->by_cluster() ||
                       in->by_namespace() || in->by_job() || in->by_state();
  if (in->with_allowances() && by_more)
    check.fail("with_allowances", "true", "want no other groups than a period");
  if (!check.ok()) return call.fail(check.error());
  auto report = std::make_shared<Report>(
      Report{call, in, out, std::move(range.query), &shared_, 0, {}, {}, {}, {}, {}});
  return call.read_expensive_then([report](const Engine& engine) {
    if (auto error = begin_report(*report, engine)) {
      report->call.fail(*error);
    } else {
      report->call.store_then([report](StoreReader& store) { read_report(report, store); });
    }
  });
}

UsageService::Reactor* UsageService::ListLedger(Context* context, const v1::ListLedgerRequest* in,
                                                v1::ListLedgerResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  Range range = get_range(check, *in);
  const Page page = read_page(check, in->page_size(), in->page_token());
  if (!check.ok()) return call.fail(check.error());
  range.query.after_seq = page.after;
  range.query.most = page.size;
  auto listing = std::make_shared<Listing>(Listing{call, out, std::move(range.query), page, {}});
  return call.read_expensive_then([listing, account = range.account](const Engine& engine) {
    if (auto error = find_payers(engine, account, &listing->query.payers)) {
      listing->call.fail(*error);
    } else {
      listing->call.store_then([listing](StoreReader& store) { read_listing(listing, store); });
    }
  });
}

}  // namespace subak::api
