// ReportUsage and ListLedger: account names to ids on the follower, rows from the store, ids to
// names on the follower again.
#include "server/api/usage_service.h"

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "server/api/convert.h"
#include "server/api/paging.h"

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

// The ids of an account and all below it, removed ones too: their rows stay.
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

// Account, user, product, day, state: what is not asked for is left at its default.
using GroupKey = std::tuple<std::string, std::string, std::string, std::int64_t, int>;

GroupKey key_of(const v1::ReportUsageRequest& in, const DailyUsage& row, const Engine& engine) {
  const PathParts payer = split_path(path_of(engine.accounts(), row.payer));
  return {payer.account, in.by_user() ? payer.user : "", in.by_product() ? row.product : "",
          in.by_day() ? row.day : -1, in.by_state() ? to_proto(row.state) : 0};
}

void put_report(const v1::ReportUsageRequest& in, const std::vector<DailyUsage>& rows,
                const Engine& engine, v1::ReportUsageResponse* out) {
  std::map<GroupKey, GpuTime> sums;
  GpuTime total;
  for (const DailyUsage& row : rows) {
    sums[key_of(in, row, engine)] += row.amount;
    total += row.amount;
  }
  for (const auto& [key, amount] : sums) {
    v1::UsageRow* row = out->add_rows();
    row->set_account(std::get<0>(key));
    row->set_user(std::get<1>(key));
    row->set_product(std::get<2>(key));
    if (std::get<3>(key) >= 0) put(std::get<3>(key) * kDayMs, row->mutable_day());
    row->set_state(static_cast<v1::UsageState>(std::get<4>(key)));
    put(amount, row->mutable_amount());
    row->set_gpu_hours(amount.gpu_hours());
  }
  put(total, out->mutable_total());
}

struct Report {
  Call call;
  const v1::ReportUsageRequest* in;
  v1::ReportUsageResponse* out;
  LedgerQuery query;
  std::vector<DailyUsage> rows;
};

void read_report(const std::shared_ptr<Report>& r, StoreReader& store) {
  auto rows = store.daily_usage(r->query);
  if (!rows) {
    r->call.fail(rows.error());
    return;
  }
  r->rows = std::move(*rows);
  r->call.read([r](const Engine& engine) -> std::optional<Error> {
    put_report(*r->in, r->rows, engine, r->out);
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
  l->call.read([l](const Engine& engine) -> std::optional<Error> {
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
  auto report = std::make_shared<Report>(Report{call, in, out, std::move(range.query), {}});
  return call.read_then([report](const Engine& engine) {
    if (auto error = find_payers(engine, report->in->account(), &report->query.payers)) {
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
  return call.read_then([listing, account = range.account](const Engine& engine) {
    if (auto error = find_payers(engine, account, &listing->query.payers)) {
      listing->call.fail(*error);
    } else {
      listing->call.store_then([listing](StoreReader& store) { read_listing(listing, store); });
    }
  });
}

}  // namespace subak::api
