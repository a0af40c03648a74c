// GetAccountHistory: the audit log's rows about one account.
#include <memory>
#include <utility>

#include "server/api/calls/account_service.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

constexpr std::size_t kRowsPerRead = 1000;

struct History {
  Call call;
  const v1::GetAccountHistoryRequest* in;
  v1::GetAccountHistoryResponse* out;
  // The path of the account before `before_seq`.
  std::string path;
  std::uint64_t before_seq;
  PageMeter meter;
};

void put_edit(const AuditEntry& entry, v1::AccountEdit* out) {
  out->set_sequence(entry.seq);
  put(entry.time_ms, out->mutable_time());
  out->set_actor(entry.actor);
  out->set_reason(entry.reason);
  out->set_request_id(entry.request_id);
  out->mutable_account()->set_path(entry.subject);
  out->set_deleted(entry.after.empty());
  if (entry.what == fact::AccountMoved::kName) {
    const auto before = from_text<AccountSpec>(entry.before);
    if (before.ok()) out->set_moved_from(before->path);
  }
  if (const auto spec = from_text<AccountSpec>(entry.after); spec.ok() && !entry.after.empty()) {
    put(*spec, 0, out->mutable_account());
  }
}

// Finds the path that the account had before the last row of the previous page. A read that fails
// fails again in read_some().
void find_path(History& h, StoreReader& store) {
  AuditQuery query;
  query.before_seq = h.before_seq + 1;
  query.most = 1;
  const auto rows = store.audit(query);
  if (!rows || rows->empty() || rows->front().seq != h.before_seq) return;
  v1::AccountEdit last;
  put_edit(rows->front(), &last);
  h.path = last.moved_from().empty() ? rows->front().subject : last.moved_from();
}

// The store finds an account and all accounts below it. The rows of the account alone may be far
// apart.
void read_some(const std::shared_ptr<History>& h, StoreReader& store) {
  AuditQuery query;
  query.subject = h->path;
  query.before_seq = h->before_seq;
  query.most = kRowsPerRead;
  const auto rows = store.audit(query);
  if (!rows) {
    h->call.fail(rows.error());
    return;
  }
  for (const AuditEntry& entry : *rows) {
    h->before_seq = entry.seq;
    const bool moved = entry.what == fact::AccountMoved::kName;
    const bool edit =
        moved || entry.what == fact::AccountSet::kName || entry.what == fact::AccountDeleted::kName;
    if (!edit || entry.subject != h->path) continue;
    v1::AccountEdit* row = h->out->add_edits();
    put_edit(entry, row);
    if (!h->meter.add(row->ByteSizeLong())) {
      h->out->set_next_page_token(std::to_string(entry.seq));
      h->call.done();
      return;
    }
    if (!moved || row->moved_from().empty()) continue;
    // Before the move, the account had the other path.
    h->path = row->moved_from();
    h->call.store_then([h](StoreReader& next) { read_some(h, next); });
    return;
  }
  if (rows->size() < kRowsPerRead) {
    h->call.done();
  } else {
    h->call.store_then([h](StoreReader& next) { read_some(h, next); });
  }
}

}  // namespace

AccountService::Reactor* AccountService::GetAccountHistory(Context* context,
                                                           const v1::GetAccountHistoryRequest* in,
                                                           v1::GetAccountHistoryResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const Page page = read_page(check, in->page_size(), in->page_token());
  check.name("path", in->path(), false);
  if (!check.ok()) return call.fail(check.error());
  const std::uint64_t before = page.after == 0 ? INT64_MAX : page.after;
  auto history =
      std::make_shared<History>(History{call, in, out, in->path(), before, PageMeter(page)});
  return call.store_then([history, resumes = page.after != 0](StoreReader& store) {
    if (resumes) find_path(*history, store);
    read_some(history, store);
  });
}

}  // namespace subak::api
