// ReportUsage and ListLedger. The follower turns account names into ids, the store returns the
// rows, and the follower turns ids into names.
#include "server/api/calls/usage_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/edge_limits.h"
#include "server/activity/book.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"
#include "server/log/log.h"

namespace subak::api {
namespace {

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

// Finds the ids of an account and all below it, also of removed accounts, since their rows stay.
std::optional<Error> find_payers(const Engine& engine, const std::string& account,
                                 std::vector<AccountId>* payers) {
  if (account.empty()) return std::nullopt;
  const AccountTree& tree = engine.accounts();
  for (std::uint32_t i = 1; i < tree.next_id().value; ++i) {
    const AccountId id(i);
    if (tree.exists(id) && AccountsView::is_within(tree.node(id).spec.path, account)) {
      payers->push_back(id);
    }
  }
  if (!payers->empty()) return std::nullopt;
  return Error{ErrorCode::kNotFound, "account", account, "there is no such account"};
}

// Account, user, product, day, state; a key that is not requested has its default.
using GroupKey = std::tuple<std::string, std::string, std::string, std::int64_t, int>;

struct Sums {
  GpuTime booked, running;
  ActivitySums activity;
};

// Returns the part of the sums that lies in `ms` of an hour.
ActivitySums part_of_hour(const ActivitySums& sums, DurationMs ms) {
  if (ms == kHourMs) return sums;
  const double part = static_cast<double>(ms) / kHourMs;
  const auto of = [&](std::int64_t sum) {
    return static_cast<std::int64_t>(static_cast<double>(sum) * part);
  };
  return {of(sums.idle), of(sums.low), of(sums.active), of(sums.energy_mj)};
}

class ReportSums {
 public:
  ReportSums(const v1::ReportUsageRequest& in, const LedgerQuery& query, const Engine& engine)
      : in_(in), query_(query), engine_(engine) {}

  void add_booked(const DailyUsage& row) {
    sums_[key_of(row.payer, row.product, row.day, row.state)].booked += row.amount;
    total_.booked += row.amount;
    first_day_ = std::min(first_day_, row.day);
  }
  // Adds running usage, cut at the period and at UTC midnights, as rows are.
  void add_running(const OpenUsage& open, TimeMs now) {
    if (!query_.payers.empty() && !is_payer(open.payer)) return;
    TimeMs from = std::max(open.since_ms, query_.from_ms);
    const TimeMs to = std::min(now, query_.to_ms);
    while (from < to) {
      const std::int64_t day = from / kDayMs;
      const TimeMs end = in_.by_day() ? std::min(to, (day + 1) * kDayMs) : to;
      const GpuTime amount = GpuTime::of(open.milligpu, end - from);
      sums_[key_of(open.payer, open.product, day, open.state)].running += amount;
      total_.running += amount;
      first_day_ = std::min(first_day_, day);
      from = end;
    }
  }

  // Adds observed activity. Call it after all bookings: activity without usage is left out, since
  // it is that of a pod whose time another account paid.
  void add_activity(const ActivityDay& day) {
    for (const HourActivity& row : day.hours) {
      if (!query_.payers.empty() && !is_payer(row.payer)) continue;
      const TimeMs begin = day.day * kDayMs + row.hour * kHourMs;
      const DurationMs ms =
          std::min(begin + kHourMs, query_.to_ms) - std::max(begin, query_.from_ms);
      const auto at = sums_.find(key_of(row.payer, row.product, day.day, row.state));
      if (ms <= 0 || at == sums_.end()) continue;
      const ActivitySums sums = part_of_hour(row.sums, ms);
      at->second.activity += sums;
      total_.activity += sums;
    }
  }

  void put_into(v1::ReportUsageResponse* out, bool observed) const {
    for (const auto& [key, sum] : sums_) {
      v1::UsageRow* row = out->add_rows();
      row->set_account(std::get<0>(key));
      row->set_user(std::get<1>(key));
      row->set_product(std::get<2>(key));
      if (std::get<3>(key) >= 0) put(std::get<3>(key) * kDayMs, row->mutable_day());
      row->set_state(static_cast<v1::UsageState>(std::get<4>(key)));
      put(sum.booked, row->mutable_amount());
      row->set_gpu_hours(sum.booked.gpu_hours());
      put(sum.running, row->mutable_running());
      if (observed) put(sum.activity, unknown(sum), row->mutable_activity());
    }
    if (observed) put(total_.activity, unknown(total_), out->mutable_activity());
    put(total_.booked, out->mutable_total());
    put(total_.running, out->mutable_running());
    if (first_day_ != INT64_MAX) put(first_day_ * kDayMs, out->mutable_first_day());
  }

 private:
  // The time of an hour is not exact at its ends, so the difference may be just below zero.
  static GpuTime unknown(const Sums& sum) {
    return std::max(GpuTime(),
                    sum.booked + sum.running - GpuTime::from_parts(0, sum.activity.observed()));
  }
  GroupKey key_of(AccountId payer, const std::string& product, std::int64_t day,
                  UsageState state) const {
    const PathParts path = split_path(path_of(engine_.accounts(), payer));
    return {path.account, in_.by_user() ? path.user : "", in_.by_product() ? product : "",
            in_.by_day() ? day : -1, in_.by_state() ? to_proto(state) : 0};
  }
  bool is_payer(AccountId id) const {  // find_payers() returned them in order
    return std::binary_search(query_.payers.begin(), query_.payers.end(), id);
  }

  const v1::ReportUsageRequest& in_;
  const LedgerQuery& query_;
  const Engine& engine_;
  std::map<GroupKey, Sums> sums_;
  Sums total_;
  std::int64_t first_day_ = INT64_MAX;
};

struct Report {
  Call call;
  const v1::ReportUsageRequest* in;
  v1::ReportUsageResponse* out;
  LedgerQuery query;
  const Shared* shared;
  TimeMs now = 0;
  std::vector<OpenUsage> open;  // usage without a row at query.last_seq
  std::vector<DailyUsage> rows;
  std::vector<ActivityDay> activity;
};

// Reads the activity of the days with usage: from the book, or else from the store.
std::optional<Error> read_activity(Report& r) {
  const ActivityBook* const book = r.shared->options.activity;
  if (book == nullptr) return std::nullopt;
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  };
  for (const DailyUsage& row : r.rows) add(row.day, row.day);
  for (const OpenUsage& open : r.open) add(open.since_ms / kDayMs, r.now / kDayMs);
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

// All figures are as of this instant.
std::optional<Error> begin_report(Report& r, const Engine& engine) {
  r.now = r.shared->now(engine);
  r.query.last_seq = engine.seq();
  r.open = engine.open_usage();
  return find_payers(engine, r.in->account(), &r.query.payers);
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
  r->call.read_expensive([r](const Engine& engine) -> std::optional<Error> {
    ReportSums sums(*r->in, r->query, engine);
    for (const DailyUsage& row : r->rows) sums.add_booked(row);
    for (const OpenUsage& open : r->open) sums.add_running(open, r->now);
    for (const ActivityDay& day : r->activity) sums.add_activity(day);
    sums.put_into(r->out, r->shared->options.activity != nullptr);
    put(r->now, r->out->mutable_time());
    r->out->set_last_sequence(r->query.last_seq);
    return std::nullopt;
  });
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
  if (!check.ok()) return call.fail(check.error());
  auto report = std::make_shared<Report>(
      Report{call, in, out, std::move(range.query), &shared_, 0, {}, {}, {}});
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
