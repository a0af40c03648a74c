// Explains the rules of accounts that stop a job.
#include "accounting/quota/entitlement.h"
#include "accounting/quota/rule_text.h"
#include "core/decimal.h"
#include "core/must.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/reasons.h"

namespace subak::derive {
namespace {

std::string gpus_of(const State& s, MilliGpu amount, ProductId product) {
  return gpus_text(amount, product ? s.fleet().products().name(product) : std::string_view());
}

// GPUs that are there, and that the job may not borrow.
Reason promised(const State& s, const Binding& b, const std::string& path) {
  const std::string needs = "; the job needs " + format_milligpu(b.need);
  const std::string owners = "accounts such as " + path;
  Reason r = make_reason(
      ReasonToken::kWaitingForQuota, path,
      b.kind == BindingKind::kPromise
          ? "it cannot be preempted and may borrow " + gpus_of(s, b.have, b.product) + needs +
                "; the rest is promised to " + owners + "; pods with a controller may borrow more"
          : gpus_of(s, b.used, b.product) + " are idle; " + owners + " do not lend " +
                format_milligpu(b.most) + " of their quota" + needs);
  r.need = b.need;
  r.have = b.have;
  return r;
}

// A limit on jobs or for each user.
Reason extra_limit(const State& s, const Binding& b, const std::string& path) {
  const std::string product =
      b.product ? std::string(s.fleet().products().name(b.product)) : std::string();
  const ReasonToken now =
      b.kind == BindingKind::kBudget ? ReasonToken::kBudgetSpent : ReasonToken::kWaitingForQuota;
  Reason r = make_reason(b.never ? ReasonToken::kExceedsMaxQuota : now, path,
                         rule_text(b, "account " + path, product) + "; " + present_text(b));
  if (b.kind != BindingKind::kLimit) return r;
  r.need = b.need;
  r.have = b.have;
  return r;
}

}  // namespace

std::string shown_path(const AccountNode& node) {
  return node.spec.path.empty() ? "(root)" : node.spec.path;
}

Reason explain_rule(const State& s, const Binding& b) {
  must(b.have >= 0 && b.need >= b.have, "a rule that stops a job leaves less than it needs");
  const std::string path = shown_path(s.tree().node(b.subject));
  if (is_extra_limit(b)) return extra_limit(s, b, path);
  if (b.kind == BindingKind::kHold) {
    return make_reason(ReasonToken::kOnHold, path, "account " + path + " is held");
  }
  if (b.kind == BindingKind::kLend || b.kind == BindingKind::kPromise) return promised(s, b, path);
  Reason r =
      make_reason(b.never ? ReasonToken::kExceedsMaxQuota : ReasonToken::kWaitingForQuota, path,
                  "account " + path + (b.kind == BindingKind::kBorrow ? " borrows " : " holds ") +
                      format_milligpu(b.used) + " of " +
                      (b.kind == BindingKind::kBorrow ? "at most " : "its limit of ") +
                      gpus_of(s, b.most, b.product) +
                      (b.kind == BindingKind::kBorrow ? " beyond its quota" : "") +
                      "; the job needs " + format_milligpu(b.need));
  r.need = b.need;
  r.have = b.have;
  return r;
}

Reason explain_not_accepted(const State& s, const state::Job& job) {
  if (!draining(s.tree(), job.leaf)) {
    const auto limit = queue_limit(s, job.leaf);
    if (limit) return explain_rule(s, *limit);
    return make_reason(ReasonToken::kPendingEvaluation, "",
                       "its account may accept it in the next pass");
  }
  const std::string path = shown_path(s.tree().node(draining(s.tree(), job.leaf)));
  return make_reason(
      ReasonToken::kOnHold, path,
      "account " + path +
          " is draining and takes nothing new, and the job came after that: it waits "
          "until an operator resumes the account");
}

}  // namespace subak::derive
