// ApplyAccounts, MoveAccount and UndoAccountEdit: edits of several accounts.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "server/api/calls/account_edit.h"
#include "server/api/calls/account_service.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

constexpr std::size_t kFactsPerRead = 1000;

// One undo. It reads the edit's audit rows from the last one back to the first, and makes a change
// of each.
struct Undo {
  Call call;
  const v1::UndoAccountEditRequest* in;
  v1::ApplyAccountsResponse* out;
  in::ApplyAccounts edit;
  // How many rows of the edit are known.
  std::size_t rows = 0;
  // Set if the edit moved an account: the move back.
  std::optional<in::MoveAccount> move;
  // The number of the next row, and how many facts of the edit follow it.
  std::uint64_t seq;
  std::uint32_t following = 0;
};

Error no_edit(std::uint64_t revision, const std::string& want) {
  return {ErrorCode::kNotFound, "revision", std::to_string(revision), want};
}

// Returns the stamp of a fact that edits an account; nullptr: it is another fact.
const EditStamp* stamp_of(const fact::Body& body) {
  if (const auto* const set = std::get_if<fact::AccountSet>(&body)) return &set->edit;
  if (const auto* const moved = std::get_if<fact::AccountMoved>(&body)) return &moved->edit;
  if (const auto* const deleted = std::get_if<fact::AccountDeleted>(&body)) return &deleted->edit;
  return nullptr;
}

Result<in::AccountChange> reverse_of(const AuditEntry& row) {
  in::AccountChange change;
  const auto before = from_text<AccountSpec>(row.before);
  const auto after = from_text<AccountSpec>(row.after);
  if (!row.before.empty() && !before.ok()) return before.error();
  if (!row.after.empty() && !after.ok()) return after.error();
  if (row.before.empty()) {
    change.spec.path = row.subject;
    change.remove = true;
  } else {
    change.spec = *before;
    // The account may have been moved between the rows before and after.
    if (!row.after.empty()) change.spec.path = after->path;
  }
  change.must_create = row.after.empty();
  change.expects = !row.after.empty();
  if (change.expects) change.expected = *after;
  return change;
}

// Adds the fact of a move. The first fact of the move is the account that the edit named.
void take_move(Undo& undo, const fact::AccountMoved& moved) {
  if (!undo.move) undo.move.emplace();
  if (!moved.from) return;
  undo.move->path = moved.spec.path;
  undo.move->to = moved.was;
  undo.move->expected_id = moved.id;
  undo.move->expected_parent = moved.from;
}

// Returns why the rows are not those of the edit; nullopt: all were taken.
std::optional<Error> take_rows(Undo& undo, const std::vector<AuditEntry>& rows,
                               const std::vector<Fact>& facts) {
  for (const AuditEntry& row : rows) {
    // Facts have consecutive numbers.
    const std::uint64_t first = facts.empty() ? row.seq + 1 : facts.front().seq;
    const std::uint64_t place = row.seq - first;
    const bool is_there = row.seq >= first && place < facts.size();
    const EditStamp* const stamp = is_there ? stamp_of(facts[place].body) : nullptr;
    const bool belongs =
        row.seq == undo.seq && stamp != nullptr && stamp->following == undo.following;
    if (!belongs) {
      if (undo.rows > 0) break;
      if (stamp == nullptr || row.seq != undo.seq)
        return no_edit(undo.in->revision(), "want the number of an edit of accounts");
      return no_edit(undo.in->revision(), "this is a part of the edit " +
                                              std::to_string(row.seq + stamp->following) +
                                              "; undo that edit");
    }
    if (const auto* const moved = std::get_if<fact::AccountMoved>(&facts[place].body)) {
      take_move(undo, *moved);
    } else {
      auto change = reverse_of(row);
      if (!change) return change.error();
      // Without an adjustment, the undo restores the account's place.
      const auto* const set = std::get_if<fact::AccountSet>(&facts[place].body);
      if (set != nullptr && set->retroactive) undo.edit.retroactive = true;
      undo.edit.changes.push_back(*std::move(change));
    }
    ++undo.rows;
    --undo.seq;
    ++undo.following;
  }
  return std::nullopt;
}

void read_rows(const std::shared_ptr<Undo>& undo, StoreReader& store) {
  AuditQuery query;
  query.before_seq = undo->seq + 1;
  query.most = kFactsPerRead;
  const auto rows = store.audit(query);
  if (!rows) {
    undo->call.fail(rows.error());
    return;
  }
  const std::uint64_t after = undo->seq < kFactsPerRead ? 0 : undo->seq - kFactsPerRead;
  const auto facts = store.facts(after, kFactsPerRead);
  if (!facts) {
    undo->call.fail(facts.error());
    return;
  }
  const std::uint64_t was = undo->seq;
  auto error = take_rows(*undo, *rows, *facts);
  if (!error && undo->rows == 0) {
    error = no_edit(undo->in->revision(), "want the number of an edit of accounts");
  }
  if (error) {
    undo->call.fail(*error);
  } else if (was - undo->seq == kFactsPerRead) {
    undo->call.store_then([undo](StoreReader& next) { read_rows(undo, next); });
  } else if (undo->move) {
    undo->move->reason = undo->edit.reason;
    undo->move->validate_only = undo->edit.validate_only;
    undo->move->override_managed = undo->edit.override_managed;
    move_account(undo->call, *std::move(undo->move), fingerprint_of(*undo->in), undo->out);
  } else {
    apply_accounts(undo->call, std::move(undo->edit), fingerprint_of(*undo->in), undo->out);
  }
}

}  // namespace

AccountService::Reactor* AccountService::ApplyAccounts(Context* context,
                                                       const v1::ApplyAccountsRequest* in,
                                                       v1::ApplyAccountsResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::ApplyAccounts edit = get(check, *in);
  check.name("request_id", in->request_id(), false);
  if (!check.ok()) return call.fail(check.error());
  return apply_accounts(call, std::move(edit), fingerprint_of(*in), out);
}

AccountService::Reactor* AccountService::MoveAccount(Context* context,
                                                     const v1::MoveAccountRequest* in,
                                                     v1::ApplyAccountsResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::MoveAccount edit = get(check, *in);
  check.name("request_id", in->request_id(), false);
  if (!check.ok()) return call.fail(check.error());
  return move_account(call, std::move(edit), fingerprint_of(*in), out);
}

AccountService::Reactor* AccountService::UndoAccountEdit(Context* context,
                                                         const v1::UndoAccountEditRequest* in,
                                                         v1::ApplyAccountsResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::ApplyAccounts edit;
  edit.reason = get_reason(check, in->reason(), true);
  check.name("request_id", in->request_id(), false);
  edit.validate_only = in->validate_only();
  edit.override_managed = in->override_managed();
  check.number("revision",
               static_cast<std::int64_t>(std::min<std::uint64_t>(in->revision(), INT64_MAX)), 1,
               INT64_MAX - 1);
  if (!check.ok()) return call.fail(check.error());
  auto undo =
      std::make_shared<Undo>(Undo{call, in, out, std::move(edit), 0, std::nullopt, in->revision()});
  return call.store_then([undo](StoreReader& store) { read_rows(undo, store); });
}

}  // namespace subak::api
