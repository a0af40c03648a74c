// The decision on an edit of several accounts: all of it or nothing. The edit is first made in a
// copy of the account tree, so that each account is judged in the tree that all changes make.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/must.h"
#include "engine/decide/account_edit.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// One change with its results.
struct Step {
  const in::AccountChange* change = nullptr;
  // The place of the change in the input.
  std::size_t index = 0;
  AccountId id;
  Reply::Edited edited;
  // EditStamp::overrides of the change.
  std::string overrides;

  const std::string& path() const { return change->spec.path; }
  bool changes_something() const { return edited.before != edited.after; }
};

// An edit that is tried in a copy of the tree.
class Batch {
 public:
  Batch(const Decision& d, const in::ApplyAccounts& input)
      : d_(d),
        managed_{d.input.actor, input.override_managed},
        tree_(d.s.tree()),
        ids_(d.s.fleet()) {
    for (std::size_t i = 0; i < input.changes.size(); ++i) {
      steps_.push_back({&input.changes[i], i, AccountId(), {}, {}});
    }
    // Removals first, and children before parents. Then the others, parents before children.
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      if (a.change->remove != b.change->remove) return a.change->remove;
      return a.change->remove ? b.path() < a.path() : a.path() < b.path();
    });
  }

  // Makes all changes in the copy. Returns the first error; its field begins with the account.
  std::optional<Error> run() {
    if (auto error = check_once()) return error;
    note_jobs();
    free_namespaces();
    for (Step& step : steps_) {
      auto error = step.change->remove ? remove(step) : set(step);
      if (error) return of(step, *std::move(error));
    }
    if (auto error = check_all_products()) return error;
    for (Step& step : steps_) {
      if (auto error = check_promises_of(step)) return of(step, *std::move(error));
      if (!step.changes_something()) continue;
      auto error = check_manager(d_.s.tree(), step.path(), managed_, step.overrides);
      if (error) return of(step, *std::move(error));
    }
    return std::nullopt;
  }

  const std::vector<Step>& steps() const { return steps_; }
  // True if an account that exists gets other budgets.
  bool changes_budgets() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
      return step.edited.before && step.edited.after &&
             step.edited.before->budgets != step.edited.after->budgets;
    });
  }
  // True if an account that exists gets another default time limit.
  bool moves_ends() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
      return step.edited.before && step.edited.after &&
             step.edited.before->default_time_limit_ms != step.edited.after->default_time_limit_ms;
    });
  }
  // The tree after all changes of run().
  const AccountTree& tree() const { return tree_; }

 private:
  static Error of(const Step& step, Error error) {
    error.field = (step.path().empty() ? "the root" : step.path()) + ": " + error.field;
    return error;
  }

  std::optional<Error> check_once() const {
    std::set<std::string_view> paths;
    for (const Step& step : steps_) {
      if (!paths.insert(step.path()).second) {
        return of(step, {ErrorCode::kInvalid, "path", step.path(), "want each account once"});
      }
    }
    return std::nullopt;
  }

  // Finds the accounts with jobs, if some account is removed.
  void note_jobs() {
    if (steps_.empty() || !steps_.front().change->remove) return;
    for (const JobId id : d_.s.jobs().table().ids()) {
      const state::Job& job = d_.s.jobs().at(id);
      if (job.state != JobState::kDone) job_of_.try_emplace(job.leaf, id);
    }
  }

  // Takes from each account the namespaces that it will not have, so that another may get them.
  void free_namespaces() {
    for (const Step& step : steps_) {
      const AccountId id = tree_.find(step.path());
      if (!id || step.change->remove || step.change->unchanged.namespaces) continue;
      AccountSpec spec = tree_.node(id).spec;
      if (spec.namespaces.empty()) continue;
      spec.namespaces.clear();
      put(id, spec);
    }
  }

  void put(AccountId id, const AccountSpec& spec) {
    tree_.set(id, spec, next_revision(tree_, id), d_.s.now(), ids_.of(spec.quota),
              ids_.of(spec.limit));
  }

  // Checks what the caller expects of the account.
  std::optional<Error> check_expected(const Step& step, const AccountNode* node) const {
    const in::AccountChange& change = *step.change;
    if (node == nullptr) {
      if (!change.remove && !change.expects) return std::nullopt;
      return Error{ErrorCode::kNotFound, "path", step.path(), "there is no such account"};
    }
    if (change.must_create) {
      return Error{ErrorCode::kExists, "path", step.path(), "this account exists"};
    }
    if (change.revision != 0 && change.revision != node->revision) {
      return revision_conflict(change.revision, node->revision);
    }
    if (change.expects && !(node->spec == change.expected)) {
      return Error{
          ErrorCode::kConflict, "path", step.path(),
          "the account was changed since; its revision is now " + std::to_string(node->revision)};
    }
    return std::nullopt;
  }

  std::optional<Error> remove(Step& step) {
    step.id = tree_.find(step.path());
    // The account as it is now, before free_namespaces().
    const AccountNode* const now = step.id ? &d_.s.tree().node(step.id) : nullptr;
    if (auto error = check_expected(step, now)) return error;
    const auto job = job_of_.find(step.id);
    const std::string why =
        why_not_removed(tree_.node(step.id), job == job_of_.end() ? JobId() : job->second);
    if (!why.empty()) return Error{ErrorCode::kPrecondition, "path", step.path(), why};
    step.edited = {now->spec, std::nullopt, now->revision};
    tree_.remove(step.id, d_.s.now());
    return std::nullopt;
  }

  std::optional<Error> set(Step& step) {
    const in::AccountChange& change = *step.change;
    const AccountId old = d_.s.tree().find(step.path());
    const AccountNode* const now = old ? &d_.s.tree().node(old) : nullptr;
    if (auto error = check_expected(step, now)) return error;
    const AccountSpec before = now != nullptr ? now->spec : AccountSpec();
    AccountSpec spec = edited_spec(before, change.spec, change.unchanged);
    if (auto error = tree_.check(spec)) return error;
    if (auto error = check_budgets(d_.s, spec)) return error;
    step.id = old ? old : tree_.id_for(spec.path);
    put(step.id, spec);
    if (now != nullptr) step.edited.before = before;
    step.edited.after = std::move(spec);
    step.edited.revision = now != nullptr ? now->revision : 0;
    if (step.changes_something()) step.edited.revision = next_revision(d_.s.tree(), step.id);
    return std::nullopt;
  }

  std::optional<Error> check_all_products() const {
    std::set<std::string> names;
    for (const Step& step : steps_) {
      if (step.edited.after) names.merge(products_named(*step.edited.after));
    }
    return check_products(d_.s.fleet(), {names.begin(), names.end()});
  }

  // For accounts without children, the answer depends on the parent alone. So it is found once for
  // each parent.
  std::optional<Error> check_promises_of(const Step& step) {
    if (!step.edited.after || !step.changes_something()) return std::nullopt;
    const AccountNode& node = tree_.node(step.id);
    if (node.children.empty() && !judged_.insert(node.parent).second) return std::nullopt;
    return check_promises(tree_, node.spec, ids_.of(node.spec.quota));
  }

  const Decision& d_;
  const ManagedEdit managed_;
  AccountTree tree_;
  ProductIds ids_;
  std::vector<Step> steps_;
  // A job of each account that has jobs.
  std::map<AccountId, JobId> job_of_;
  std::set<AccountId> judged_;
};

// Adds the warnings about one change, each with the account's path.
void warn_of_step(Decision& d, const Batch& batch, const Step& step) {
  if (!step.edited.after || !step.changes_something()) return;
  std::vector<std::string>& warnings = d.out.reply.warnings;
  const std::size_t before = warnings.size();
  warn_of(d, batch.tree(), *step.edited.after);
  if (step.edited.before) warn_of_borrowers(d, step.id, batch.tree().node(step.id).quota);
  for (std::size_t i = before; i < warnings.size(); ++i) {
    warnings[i] = step.path() + ": " + warnings[i];
  }
}

// Returns the facts of the edit, in their order.
std::vector<fact::Body> facts_of(const Decision& d, const in::ApplyAccounts& i,
                                 const Batch& batch) {
  const auto changed = std::count_if(batch.steps().begin(), batch.steps().end(),
                                     [](const Step& s) { return s.changes_something(); });
  EditStamp stamp = d.stamp(i.reason);
  stamp.following = static_cast<std::uint32_t>(changed);
  std::vector<fact::Body> facts;
  for (const Step& step : batch.steps()) {
    if (!step.changes_something()) continue;
    --stamp.following;
    stamp.overrides = step.overrides;
    if (step.edited.after) {
      fact::AccountSet set{step.id, *step.edited.after, step.edited.revision, stamp};
      set.retroactive = i.retroactive && step.edited.before &&
                        step.edited.before->shares != step.edited.after->shares;
      facts.emplace_back(std::move(set));
      continue;
    }
    fact::AccountDeleted deleted;
    deleted.id = step.id;
    deleted.spec = *step.edited.before;
    deleted.edit = stamp;
    facts.emplace_back(std::move(deleted));
  }
  return facts;
}

void emit_all(Decision& d, const Batch& batch, std::vector<fact::Body> facts) {
  const bool accepts_more =
      std::any_of(batch.steps().begin(), batch.steps().end(), [](const Step& step) {
        return step.edited.before && step.edited.after && step.changes_something() &&
               may_accept_more(*step.edited.before, *step.edited.after);
      });
  for (fact::Body& fact : facts) d.emit(std::move(fact));
  for (const Step& step : batch.steps()) {
    if (!step.edited.after || !step.changes_something()) continue;
    must(d.s.tree().node(step.id).spec == *step.edited.after, "the account is as the edit says");
    for (const std::string& ns : step.edited.after->namespaces) {
      must(d.s.tree().names().owner_of(ns) == step.id, "a namespace has one account");
    }
    assign_jobs(d, *step.edited.after);
  }
  if (accepts_more) resume_jobs(d);
}

}  // namespace

void decide(Decision& d, const in::ApplyAccounts& i) {
  const std::uint64_t revision = d.s.tree().revision();
  const std::string subject = i.changes.empty() ? "accounts" : i.changes.front().spec.path;
  if (i.revision != 0 && i.revision != revision) {
    return d.refuse(revision_conflict(static_cast<std::int64_t>(i.revision),
                                      static_cast<std::int64_t>(revision)),
                    subject);
  }
  Batch batch(d, i);
  if (auto error = batch.run()) {
    const std::string path = error->field.substr(0, error->field.find(':'));
    return d.refuse(*std::move(error), path);
  }
  d.out.reply.edited.resize(batch.steps().size());
  for (const Step& step : batch.steps()) {
    d.out.reply.edited[step.index] = step.edited;
    warn_of_step(d, batch, step);
  }
  std::vector<fact::Body> facts = facts_of(d, i, batch);
  warn_of_promises(d, facts);
  if (!i.validate_only) emit_all(d, batch, std::move(facts));
  if (!i.validate_only && batch.changes_budgets()) budgets_changed(d);
  if (!i.validate_only && batch.moves_ends()) keep_within_budgets(d);
  d.out.reply.revision = static_cast<std::int64_t>(d.s.tree().revision());
}

}  // namespace subak::decide
