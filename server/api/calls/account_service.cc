#include "server/api/calls/account_service.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/account_path.h"
#include "core/limits.h"
#include "server/api/calls/account_edit.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

Error no_account(const char* field, const std::string& path) {
  return {ErrorCode::kNotFound, field, path, "there is no such account"};
}

// Positions of leaves by fairshare, best first; equal factors share one.
std::vector<double> sorted_factors(const std::vector<AccountRow>& rows) {
  std::vector<double> factors;
  for (const AccountRow& row : rows) {
    if (row.fairshare) factors.push_back(*row.fairshare);
  }
  std::sort(factors.begin(), factors.end(), std::greater<>());
  return factors;
}

std::int32_t rank_in(const std::vector<double>& factors, double factor) {
  const auto first = std::lower_bound(factors.begin(), factors.end(), factor, std::greater<>());
  return static_cast<std::int32_t>(first - factors.begin()) + 1;
}

std::optional<Error> list_shares(const Engine& engine, TimeMs now, const v1::ListSharesRequest& in,
                                 const Page& page, v1::ListSharesResponse* out) {
  if (!engine.accounts().find(in.account())) return no_account("account", in.account());
  const std::vector<AccountRow> rows = engine.account_rows(now);
  const std::vector<double> factors = sorted_factors(rows);
  const double root_usage = rows.empty() ? 0 : rows.front().usage_gpu_seconds;
  put(now, out->mutable_time());
  PageMeter meter(page);
  for (std::uint64_t i = page.after; i < rows.size(); ++i) {
    const AccountRow& row = rows[i];
    if (!is_path_within(row.spec.path, in.account())) continue;
    if (in.accounts_only() && row.spec.user) continue;
    v1::ShareRow* share = out->add_rows();
    put(row, root_usage, share);
    if (row.fairshare) share->set_rank(rank_in(factors, *row.fairshare));
    if (meter.add(share->ByteSizeLong())) continue;
    if (i + 1 < rows.size()) out->set_next_page_token(std::to_string(i + 1));
    break;
  }
  return std::nullopt;
}

std::optional<Error> list_budgets(const Engine& engine, TimeMs now,
                                  const v1::ListBudgetsRequest& in, const Page& page,
                                  v1::ListBudgetsResponse* out) {
  const AccountTree& tree = engine.accounts();
  if (!tree.find(in.account())) return no_account("account", in.account());
  put(now, out->mutable_time());
  out->set_zone(engine.policy().books.budget_zone);
  std::uint64_t at = 0;  // the number of the row among all rows
  PageMeter meter(page);
  bool full = false;
  for (const AccountId id : tree.preorder()) {
    const AccountNode& node = tree.node(id);
    if (!is_path_within(node.spec.path, in.account())) continue;
    for (const BudgetBook& book : node.jobs.budgets) {
      if (at++ < page.after) continue;
      if (full) {
        out->set_next_page_token(std::to_string(at - 1));
        return std::nullopt;
      }
      v1::BudgetRow* const row = out->add_rows();
      row->set_account(node.spec.path);
      put(book, now, row);
      full = !meter.add(row->ByteSizeLong());
    }
  }
  return std::nullopt;
}

std::optional<Error> list_accounts(const Engine& engine, TimeMs /*now*/,
                                   const v1::ListAccountsRequest& in, const Page& page,
                                   v1::ListAccountsResponse* out) {
  const AccountTree& tree = engine.accounts();
  out->set_revision(tree.revision());
  if (!tree.find(in.parent())) return no_account("parent", in.parent());
  const std::vector<AccountId> ids = tree.preorder();
  PageMeter meter(page);
  for (std::uint64_t i = page.after; i < ids.size(); ++i) {
    const AccountNode& node = tree.node(ids[i]);
    if (!is_path_within(node.spec.path, in.parent())) continue;
    if (node.spec.user && !in.include_users()) continue;
    v1::Account* account = out->add_accounts();
    put(node.spec, node.revision, account);
    if (meter.add(account->ByteSizeLong())) continue;
    if (i + 1 < ids.size()) out->set_next_page_token(std::to_string(i + 1));
    break;
  }
  return std::nullopt;
}

// Answers a call for one page of a list: list(engine, now, request, page, answer).
template <class In, class Out, class List>
grpc::ServerUnaryReactor* read_pages(Shared& shared, grpc::CallbackServerContext* context,
                                     const In& in, Out* out, List list) {
  Call call(shared, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  Check check;
  const Page page = read_page(check, in.page_size(), in.page_token());
  if (!check.ok()) return call.fail(check.error());
  return call.read_expensive([&in, out, page, list, call](const Engine& engine) {
    return list(engine, call.now(engine), in, page, out);
  });
}

}  // namespace

AccountService::Reactor* AccountService::GetAccount(Context* context,
                                                    const v1::GetAccountRequest* in,
                                                    v1::Account* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  return call.read([in, out](const Engine& engine) -> std::optional<Error> {
    const AccountId id = engine.accounts().find(in->path());
    if (!id) return no_account("path", in->path());
    const AccountNode& node = engine.accounts().node(id);
    put(node.spec, node.revision, out);
    return std::nullopt;
  });
}

AccountService::Reactor* AccountService::ListAccounts(Context* context,
                                                      const v1::ListAccountsRequest* in,
                                                      v1::ListAccountsResponse* out) {
  return read_pages(shared_, context, *in, out, list_accounts);
}

AccountService::Reactor* AccountService::ListShares(Context* context,
                                                    const v1::ListSharesRequest* in,
                                                    v1::ListSharesResponse* out) {
  return read_pages(shared_, context, *in, out, list_shares);
}

AccountService::Reactor* AccountService::ListBudgets(Context* context,
                                                     const v1::ListBudgetsRequest* in,
                                                     v1::ListBudgetsResponse* out) {
  return read_pages(shared_, context, *in, out, list_budgets);
}

namespace {

AccountSpec get_account(Check& check, const v1::Account& in, const in::UnchangedFields& unchanged) {
  const auto scope = check.in("account");
  return get(check, in, unchanged);
}

}  // namespace

AccountService::Reactor* AccountService::CreateAccount(Context* context,
                                                       const v1::CreateAccountRequest* in,
                                                       v1::EditAccountResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::SetAccount edit;
  edit.must_create = true;
  edit.reason = get_reason(check, in->reason(), true);
  check.name("request_id", in->request_id(), false);
  edit.validate_only = in->validate_only();
  edit.override_managed = in->override_managed();
  check.name("account.path", in->account().path(), true);
  if (check.ok()) edit.spec = get_account(check, in->account(), edit.unchanged);
  if (!check.ok()) return call.fail(check.error());
  return edit_account(call, std::move(edit), fingerprint_of(*in), out);
}

AccountService::Reactor* AccountService::UpdateAccount(Context* context,
                                                       const v1::UpdateAccountRequest* in,
                                                       v1::EditAccountResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::SetAccount edit;
  {
    const auto scope = check.in("update_mask");
    edit.unchanged = get_unchanged(check, in->account(), in->update_mask());
  }
  edit.revision = check.number("revision", in->revision(), 0, INT64_MAX);
  edit.reason = get_reason(check, in->reason(), true);
  check.name("request_id", in->request_id(), false);
  edit.validate_only = in->validate_only();
  edit.override_managed = in->override_managed();
  edit.retroactive = in->retroactive();
  edit.must_exist = !in->allow_missing();
  check.name("account.path", in->account().path(), false);
  if (check.ok()) edit.spec = get_account(check, in->account(), edit.unchanged);
  if (!check.ok()) return call.fail(check.error());
  return edit_account(call, std::move(edit), fingerprint_of(*in), out);
}

AccountService::Reactor* AccountService::DeleteAccount(Context* context,
                                                       const v1::DeleteAccountRequest* in,
                                                       v1::EditAccountResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::DeleteAccount body;
  body.path = check.name("path", in->path(), true);
  body.revision = check.number("revision", in->revision(), 0, INT64_MAX);
  body.reason = get_reason(check, in->reason(), true);
  body.validate_only = in->validate_only();
  body.override_managed = in->override_managed();
  check.name("request_id", in->request_id(), false);
  if (!check.ok()) return call.fail(check.error());
  if (!call.caller().may_edit_account(in->path())) {
    return call.deny(in->path(), "want an account below " + call.caller().subtree);
  }
  return call.post_then(std::move(body), fingerprint_of(*in),
                        [call, out](const Reply& reply) { finish_account_edit(call, reply, out); });
}

}  // namespace subak::api
