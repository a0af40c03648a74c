// The decision on a move of an account with all accounts and users below it.
#include "accounting/edit/account_move.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/account_path.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/answers/view.h"
#include "engine/decide/account_edit.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

constexpr std::size_t kNamed = 8;  // the most that one warning names

std::optional<Error> check_expected(const Decision& d, const in::MoveAccount& i, AccountId id) {
  const AccountNode& node = d.s.tree().node(id);
  if (i.revision != 0 && i.revision != node.revision)
    return revision_conflict(i.revision, node.revision);
  const AccountId parent = parent_of(d.s.tree(), i.to);
  if (i.expected_id && i.expected_id != id) {
    return Error{ErrorCode::kConflict, "path", i.path,
                 "another account has this path now; want the account that had it"};
  }
  if (i.expected_parent && parent && i.expected_parent != parent) {
    return Error{ErrorCode::kConflict, "to", i.to,
                 "another account has the path of the parent now"};
  }
  return std::nullopt;
}

// A list of at most kNamed names, and how many more there are.
class Names {
 public:
  void add(const std::string& name) {
    if (++count_ <= kNamed) text_ += (text_.empty() ? "" : ", ") + name;
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ <= kNamed ? text_ : text_ + " and " + std::to_string(count_ - kNamed) + " more";
  }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

void warn(Decision& d, std::string text) {
  if (d.out.reply.warnings.size() < limits::kMaxWarnings)
    d.out.reply.warnings.push_back(std::move(text));
}

// Warns of what names the account by its path, and so does not move with it.
void warn_of_names(Decision& d, const in::MoveAccount& i) {
  Names namespaces, classes;
  for (const auto& [id, cluster] : d.s.clusters().all()) {
    for (const NamespaceLabel* label : cluster.labels->values()) {
      if (is_path_within(label->account, i.path)) namespaces.add(cluster.name + "/" + label->ns);
    }
  }
  if (!namespaces.empty()) {
    warn(d,
         "to: the labels of these namespaces name the old path, so their new pods would have no "
         "account: " +
             namespaces.text());
  }
  for (const PriorityClass& one : d.s.policy().priority_classes) {
    if (may_use(one, i.path) && !may_use(one, i.to)) classes.add(one.name);
  }
  if (!classes.empty()) {
    warn(d, "to: these priority classes are not for the new path: " + classes.text());
  }
}

// One fact for each account that moves, the account itself first.
std::vector<fact::AccountMoved> moves_of(const Decision& d, const in::MoveAccount& i, AccountId id,
                                         const EditStamp& stamp) {
  std::vector<fact::AccountMoved> out;
  const std::vector<AccountId> moving = accounts_below(d.s.tree(), id);
  for (const AccountId each : moving) {
    const AccountNode& node = d.s.tree().node(each);
    fact::AccountMoved& moved = out.emplace_back();
    moved.id = each;
    moved.spec = node.spec;
    moved.spec.path = i.to + node.spec.path.substr(i.path.size());
    moved.revision = next_revision(d.s.tree(), each);
    moved.edit = stamp;
    moved.edit.following = static_cast<std::uint32_t>(moving.size() - out.size());
    moved.was = node.spec.path;
  }
  out.front().from = d.s.tree().node(id).parent;
  return out;
}

// Tries the move in a copy of the tree. Returns why it is refused.
std::optional<Error> check_in_copy(Decision& d, const in::MoveAccount& i, AccountId id) {
  AccountTree after = d.s.tree();
  AccountMove::make(after, id, i.to, d.s.now());
  const AccountSpec& spec = after.node(id).spec;
  ProductIds ids(d.s.fleet());
  if (auto error = check_promises(after, spec, ids.of(spec.quota))) {
    error->field = "to";
    error->got = i.to;
    return error;
  }
  const AccountId parent = after.node(id).parent;
  if (auto error = check_budgets_of_move(d.s, id, parent, i.to)) return error;
  warn_of_move(d, id, after);
  return std::nullopt;
}

}  // namespace

void decide(Decision& d, const in::MoveAccount& i) {
  const AccountTree& tree = d.s.tree();
  const AccountId id = tree.find(i.path);
  if (!id)
    return d.refuse({ErrorCode::kNotFound, "path", i.path, "there is no such account"}, i.path);
  if (auto error = check_expected(d, i, id)) return d.refuse(*error, i.path);
  Reply::Edited edited{tree.node(id).spec, tree.node(id).spec, tree.node(id).revision};
  edited.after->path = i.to;
  d.out.reply.account = id;
  d.out.reply.revision = static_cast<std::int64_t>(tree.revision());
  if (i.to == i.path && id != kRootAccount) {  // nothing to change, nothing to record
    d.out.reply.edited = {std::move(edited)};
    return;
  }
  if (auto error = check_move(tree, id, i.to)) return d.refuse(*error, i.path);
  EditStamp stamp = d.stamp(i.reason);
  const ManagedEdit managed{d.input.actor, i.override_managed};
  std::string mark_above;
  auto error = check_manager(tree, i.path, managed, stamp.overrides);
  if (!error) error = check_manager(tree, i.to, managed, mark_above);
  if (!error) error = check_in_copy(d, i, id);
  if (error) return d.refuse(*error, i.path);
  if (stamp.overrides.empty()) stamp.overrides = mark_above;
  warn_of_names(d, i);
  const std::vector<fact::AccountMoved> moves = moves_of(d, i, id, stamp);
  edited.revision = next_revision(tree, id);
  d.out.reply.edited = {std::move(edited)};
  d.out.reply.moved_below = moves.size() - 1;
  warn_of_promises(d, {moves.begin(), moves.end()});
  if (i.validate_only) return;
  for (const fact::AccountMoved& moved : moves) d.emit(moved);
  must(d.s.tree().find(i.to) == id, "the account is at its new path");
  keep_within_budgets(d);
  for (const fact::AccountMoved& moved : moves) assign_jobs(d, moved.spec);
  resume_jobs(d);
  d.out.reply.revision = static_cast<std::int64_t>(d.s.tree().revision());
}

}  // namespace subak::decide
