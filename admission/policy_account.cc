// The pod's account, and the most that it may have.
#include <algorithm>
#include <optional>

#include "accounting/quota/rule_text.h"
#include "admission/policy_parts.h"
#include "core/account_path.h"
#include "core/decimal.h"
#include "core/duration.h"
#include "core/error.h"
#include "core/names.h"
#include "model/policy.h"
#include "placement/tables/least_costs.h"

namespace subak::policy {
namespace {

std::string in_quotes(std::string_view text) { return "\"" + cut_text(text) + "\""; }

bool is_user_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@';
  });
}

std::string gpu_resource(const PodShape& shape) {
  if (shape.kind == GpuKind::kMig) return std::string(names::kMigPrefix) + shape.profile;
  return std::string(names::kGpu);
}

// Returns the path of the payer, down to the user; the user may be new.
std::string leaf_path(const Context& c, const Pod& pod) {
  const std::string& path = payer_of(c, pod, "").row->spec.path;
  // Only the edge knows who made the owner of a pod that a controller creates.
  const bool confirmed = pod.keys.user.set && (is_trusted(c) || !person(c.review).empty());
  const std::string user(confirmed ? pod.keys.user.value : person(c.review));
  return user.empty() ? path : path + "/" + user;
}

std::string name_of(const AccountsView::Row& row) {
  return row.spec.path.empty() ? "the root account" : "account " + row.spec.path;
}

// True if the pod has a controller, which may make it for an earlier job: only the core knows the
// jobs.
bool may_be_replacement(const Pod& pod) { return !pod.owner.uid.empty(); }

}  // namespace

std::optional<MilliGpu> least_milligpu(const ClusterView& cluster, const PodShape& shape) {
  LeastCosts costs;
  if (shape.kind == GpuKind::kMig && shape.products.empty()) {
    for (const ProductTotals& t : cluster.products) costs.add_product(t.product);
  }
  return costs.of_pod(shape, std::nullopt);  // the nodes are unknown here
}

Payer payer_of(const Context& c, const Pod& pod, std::string_view path) {
  Payer payer;
  payer.row = c.ns_account;
  const PodKey& key = pod.keys.account;
  const std::string field = key_field(path, key, names::kAccount);
  if (c.ns_account == nullptr) {
    payer.refused = denied(Because::kUnknownAccount, 403,
                           "metadata.namespace: " + in_quotes(c.review.ns) +
                               " belongs to no account; an operator adds it, beside those that the "
                               "account has, with: subak account set PATH --namespaces A,B," +
                               cut_text(c.review.ns));
    return payer;
  }
  if (!key.set || key.value == c.ns_account->spec.path) return payer;
  const std::string& own = c.ns_account->spec.path;
  payer.row = c.view.accounts->of_path(key.value);
  if (payer.row == nullptr) {
    payer.refused = denied(Because::kUnknownAccount, 403,
                           field + ": there is no account " + in_quotes(key.value) + "; write " +
                               in_quotes(own) + " or an account below it, or leave the key out");
  } else if (!is_path_within(key.value, own)) {
    payer.refused = denied(Because::kOutsideSubtree, 403,
                           field + ": account " + in_quotes(key.value) + " is not within " +
                               in_quotes(own) + ", to which namespace " + in_quotes(c.review.ns) +
                               " belongs; write " + in_quotes(own) + " or an account below it");
  }
  return payer;
}

std::optional<Decision> user_refusal(const Context& c, const Pod& pod, std::string_view path) {
  const PodKey& key = pod.keys.user;
  if (!key.set) return std::nullopt;
  const std::string field = key_field(path, key, names::kUser);
  if (!is_user_name(key.value)) {
    return denied(Because::kInvalidValue, Error{ErrorCode::kInvalid, field, std::string(key.value),
                                                "want a user name of A-Z a-z 0-9 . _ - @"});
  }
  // A template may name anybody: the pods are charged to who made their owner (docs/design/0121).
  if (!path.empty()) return std::nullopt;
  const std::string creator = person(c.review);
  if (creator.empty() || key.value == creator || is_trusted(c)) return std::nullopt;
  return denied(Because::kUserMismatch, 403,
                field + ": was " + in_quotes(key.value) + ", but " + in_quotes(creator) +
                    " creates this; write " + in_quotes(creator) + " or leave the key out");
}

std::optional<Decision> priority_refusal(const Context& c, const Pod& pod, std::string_view path,
                                         const AccountsView::Row& payer) {
  const PodKey& key = pod.keys.priority;
  if (!key.set) return std::nullopt;
  const auto priority = read_priority(c.view.policy, payer.spec.path, key.value);
  if (priority) return std::nullopt;
  Error error = priority.error();
  error.field = key_field(path, key, names::kPriority);
  return denied(Because::kInvalidValue, error);
}

ProductDemand demand_of(const Context& c, const PodShape& shape, MilliGpu amount) {
  const bool one = shape.products.size() == 1;
  return {one ? c.view.accounts->product(shape.products.front()) : ProductId(), amount};
}

namespace {

// How long a pod of this leaf is planned to run if it has no time limit; 0: there is no default.
DurationMs default_limit(const Context& c, std::string_view leaf) {
  const DurationMs own = c.view.accounts->default_time_limit(leaf);
  return own != 0 ? own : c.view.policy.default_time_limit_ms;
}

// What limits on jobs count of the pod's job. Without a time limit, the default of its accounts or
// of the policy says how long the job is expected to run. Without a default, a job below a budget
// with a period is planned until the end of the present period, which the view does not know.
JobDemand job_demand(const Context& c, const Pod& pod, std::string_view leaf) {
  JobDemand job;
  job.jobs = 1;
  job.time_limit_ms = pod.time_limit_ms;
  job.civil = !c.view.policy.books.budget_zone.empty();
  job.planned_ms = pod.time_limit_ms != 0 ? pod.time_limit_ms : default_limit(c, leaf);
  const bool by_period = c.view.accounts->has_budget_period(leaf);
  if (job.planned_ms == 0 && by_period) job.planned_ms = 1;
  return job;
}

Decision over_extra_limit(const Context& c, const Pod& pod, const Binding& rule,
                          const std::string& name, const std::string& what) {
  const std::string_view product =
      rule.product ? c.view.accounts->product_name(rule.product) : std::string_view();
  const std::string allowed = rule_text(rule, name, product);
  if (rule.kind == BindingKind::kTime || rule.kind == BindingKind::kMinutes ||
      rule.kind == BindingKind::kBudget) {
    const bool has_limit = pod.time_limit_ms != 0;
    return denied(Because::kOverLimit, 403,
                  key_field("", pod.keys.time_limit, names::kTimeLimit) + ": " +
                      (has_limit ? "was " + format_duration(pod.time_limit_ms) : "is not set") +
                      what + ", but " + allowed + "; write a " + (has_limit ? "shorter " : "") +
                      "time limit, or have an operator raise the limit");
  }
  if (rule.kind == BindingKind::kJobs) {
    return denied(Because::kOverLimit, 403,
                  "metadata.namespace: " + allowed +
                      "; use another account, or have an operator raise the limit");
  }
  return denied(Because::kOverLimit, 403,
                "spec.containers[].resources.limits[" + gpu_resource(pod.shape) + "]: asks for " +
                    format_milligpu(rule.need) + " GPUs" + what + ", but " + allowed +
                    "; ask for no more than that, or have an operator raise the limit");
}

}  // namespace

std::optional<Decision> not_entitled(const Context& c, const Pod& pod, const std::string& what,
                                     std::span<const ProductDemand> amounts) {
  const Asking asking = may_be_replacement(pod) ? Asking::kReplace : Asking::kSubmit;
  const std::string leaf = leaf_path(c, pod);
  const auto refusal = c.view.accounts->refusal(leaf, amounts, job_demand(c, pod, leaf), asking);
  if (!refusal) return std::nullopt;
  const Binding& rule = refusal->binding;
  const std::string name = name_of(*refusal->row);
  if (rule.kind == BindingKind::kDrain) {
    return denied(Because::kDraining, 403,
                  "metadata.namespace: " + name +
                      " is draining and accepts no new jobs; use another account or wait until an "
                      "operator resumes it");
  }
  if (is_extra_limit(rule)) return over_extra_limit(c, pod, rule, name, what);
  const std::string asks = "spec.containers[].resources.limits[" + gpu_resource(pod.shape) +
                           "]: asks for " + format_milligpu(rule.need) + " GPUs" + what + ", but " +
                           name;
  if (rule.kind == BindingKind::kBorrow) {
    return denied(Because::kOverLimit, 403,
                  asks + " may borrow at most " + format_milligpu(rule.most) +
                      " GPUs beyond its quota; ask for less, or have an operator raise quota or "
                      "borrow");
  }
  const std::string_view product =
      rule.product ? c.view.accounts->product_name(rule.product) : kAnyProduct;
  return denied(Because::kOverLimit, 403,
                asks + " may have at most " + format_milligpu(rule.most) + " (limit " +
                    format_amounts({{std::string(product), rule.most}}) +
                    ") at once; ask for no more than that, or have an operator raise the limit");
}

void warn_of_drain(const Context& c, const Pod& pod, Decision& d) {
  const auto drain = c.view.accounts->refusal(leaf_path(c, pod), {}, {}, Asking::kSubmit);
  if (!drain) return;
  d.warn(cut_text(name_of(*drain->row)) +
         " is draining and accepts no new jobs: this pod waits until an operator resumes it, "
         "unless it belongs to a job that was there before");
}

void warn_of_no_limit(const Context& c, const Pod& pod, Decision& d) {
  const std::string path = leaf_path(c, pod);
  if (pod.time_limit_ms != 0 || !c.view.accounts->has_hard_budget(path)) return;
  const DurationMs ms = default_limit(c, path);
  d.warn("without " + std::string(names::kTimeLimit) +
         ", this pod holds GPU-hours of its budgets " +
         (ms != 0 ? "for " + format_duration(ms) : std::string("until a period ends")) +
         "; a minute before that, it holds as many again, or Subak asks it to end");
}

}  // namespace subak::policy
