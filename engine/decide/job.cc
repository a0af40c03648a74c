// Decisions about requested jobs: submit, cancel, hold; and about ends and deadlines of jobs.
#include <algorithm>

#include "accounting/quota/account_budgets.h"
#include "accounting/quota/entitlement.h"
#include "accounting/quota/rule_text.h"
#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/account_edit.h"
#include "engine/decide/claims.h"
#include "engine/decide/decide.h"
#include "engine/derive/deadlines.h"
#include "engine/derive/entitled_place.h"
#include "engine/state/planned_end.h"
#include "model/mig.h"
#include "model/policy.h"

namespace subak::decide {
namespace {

Error invalid(std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), std::move(got), std::move(want)};
}

// The user's node if it exists. Else the account, whose rules a new user has.
AccountId payer_of(const Decision& d, const in::SubmitJob& i) {
  const AccountId user = i.user.empty() ? AccountId() : d.s.tree().find(i.account + "/" + i.user);
  const AccountId payer = user ? user : d.s.tree().find(i.account);
  must(payer && payer != kRootAccount, "a job has a payer below the root");
  return payer;
}

bool is_new_user(const Decision& d, const in::SubmitJob& i) {
  return !i.user.empty() && !d.s.tree().node(payer_of(d, i)).spec.user;
}

std::string account_name(const Decision& d, AccountId id) {
  const std::string& path = d.s.tree().node(id).spec.path;
  return path.empty() ? "the root account" : "account " + path;
}

std::optional<Error> over_queue_limit(const Decision& d, const in::SubmitJob& i) {
  const auto binding = derive::queue_limit(d.s, payer_of(d, i), is_new_user(d, i));
  if (!binding) return std::nullopt;
  return Error{ErrorCode::kExhausted, "queue", std::to_string(binding->used),
               rule_text(*binding, account_name(d, binding->subject), "") + "; try later"};
}

std::optional<Error> check_submit(const Decision& d, const in::SubmitJob& i,
                                  const state::Cluster* cluster) {
  if (cluster == nullptr) {
    return Error{i.cluster.empty() ? ErrorCode::kInvalid : ErrorCode::kNotFound, "cluster",
                 i.cluster, "want the name of a cluster"};
  }
  const AccountId account = d.s.tree().find(i.account);
  if (!account || account == kRootAccount || d.s.tree().node(account).spec.user) {
    return Error{ErrorCode::kNotFound, "account", i.account, "want the path of an account"};
  }
  if (!i.user.empty()) {
    AccountSpec user;
    user.path = i.account + "/" + i.user;
    user.user = true;
    if (auto error = d.s.tree().check(user)) return invalid("user", i.user, error->want);
  }
  if (i.time_limit_ms < 0)
    return invalid("time_limit", std::to_string(i.time_limit_ms), "want >= 0");
  if (auto error = queue_is_full(d, account)) return error;
  return over_queue_limit(d, i);
}

// Refuses slices that no GPU has and no node offers: the job would wait for ever.
std::optional<Error> unknown_profile(const Decision& d, ClusterId cluster,
                                     const GangRequest& request) {
  for (const PodGroup& group : request.groups) {
    const std::string& profile = group.shape.profile;
    if (group.shape.kind != GpuKind::kMig || is_mig_profile(profile)) continue;
    std::vector<std::string> products;
    bool offered = false;
    for (const NodeId id : d.s.fleet().nodes(cluster)) {
      const NodeSpec& node = *d.s.fleet().node(id);
      offered = offered || std::any_of(node.mig.begin(), node.mig.end(),
                                       [&](const MigSlices& m) { return m.profile == profile; });
      if (std::find(products.begin(), products.end(), node.product) == products.end()) {
        products.push_back(node.product);
      }
    }
    if (!offered) return invalid("request.mig_profile", profile, mig_profiles_text(products));
  }
  return std::nullopt;
}

Result<Priority> priority_of(const Decision& d, const in::SubmitJob& i) {
  const bool numbers = d.s.policy().priority_classes.empty();
  if (i.priority_class.empty() && (numbers || i.priority == 0)) return Priority{i.priority, false};
  const std::string text = i.priority_class.empty() ? std::to_string(i.priority) : i.priority_class;
  auto priority = read_priority(d.s.policy(), i.account, text);
  if (priority) return priority;
  Error error = priority.error();
  error.field = "priority";
  return error;
}

// The refusal by a limit on jobs or for each user, which could never allow the job.
Error over_extra_limit(const Decision& d, const Binding& rule, DurationMs time_limit_ms) {
  const std::string product =
      rule.product ? std::string(d.s.fleet().products().name(rule.product)) : std::string();
  const std::string want = rule_text(rule, account_name(d, rule.subject), product);
  const std::string limit = time_limit_ms == 0 ? "none" : format_duration(time_limit_ms);
  switch (rule.kind) {
    case BindingKind::kTime:
      return {ErrorCode::kPrecondition, "time_limit", limit, want};
    case BindingKind::kMinutes:
    case BindingKind::kBudget:
      if (rule.need == 0) return {ErrorCode::kPrecondition, "time_limit", limit, want};
      return {ErrorCode::kPrecondition, "request.gpus",
              std::to_string(rule.need) + " GPU-minutes until the planned end", want};
    case BindingKind::kJobs:
      return {ErrorCode::kPrecondition, "account", d.s.tree().node(rule.subject).spec.path, want};
    default:
      return {ErrorCode::kPrecondition, "request.gpus", format_milligpu(rule.need), want};
  }
}

// What limits on jobs count of the job.
JobDemand demand_of(const Decision& d, const in::SubmitJob& i, AccountId payer) {
  state::Job job;
  job.leaf = payer;
  job.time_limit_ms = i.time_limit_ms;
  JobDemand demand = state::job_demand(d.s, job);
  demand.new_user = is_new_user(d, i);
  return demand;
}

// Says by when the job may have to end.
void warn_of_no_limit(Decision& d, AccountId payer) {
  if (!has_hard_budget(d.s.tree(), payer)) return;
  const DurationMs ms = state::default_limit(d.s, payer);
  d.out.reply.warnings.push_back(
      "NoTimeLimit: the job holds GPU-hours of its budgets " +
      (ms != 0 ? "for " + format_duration(ms) : std::string("until a period ends")) +
      "; a minute before that, it holds as many again, or Subak asks it to end");
}

// Refuses requests that could never start, and everything new while the account drains.
std::optional<Error> not_entitled(const Decision& d, const in::SubmitJob& i, ShapeId shape) {
  const Fleet& fleet = d.s.fleet();
  const AccountId payer = payer_of(d, i);
  const ProductDemand demand{state::only_product(d.s.fleet(), fleet.request(shape)),
                             fleet.least_milligpu(shape)};
  const auto binding =
      first_binding(d.s.tree(), {payer, {&demand, 1}, demand_of(d, i, payer)}, Asking::kSubmit);
  if (!binding) return std::nullopt;
  must(static_cast<bool>(binding->subject), "an account's rule refuses the job");
  if (is_extra_limit(*binding)) return over_extra_limit(d, *binding, i.time_limit_ms);
  const std::string subject = "account " + d.s.tree().node(binding->subject).spec.path;
  if (binding->kind == BindingKind::kDrain) {
    return Error{ErrorCode::kPrecondition, "account", d.s.tree().node(payer).spec.path,
                 subject + " is draining: nothing new is accepted"};
  }
  const std::string most =
      gpus_text(binding->most,
                binding->product ? fleet.products().name(binding->product) : std::string_view());
  return Error{ErrorCode::kPrecondition, "request.gpus", format_milligpu(binding->need),
               binding->kind == BindingKind::kBorrow
                   ? subject + " may borrow at most " + most + " beyond its quota"
                   : subject + " may hold at most " + most + " at once"};
}

}  // namespace

AccountId leaf_of(Decision& d, AccountId account, const std::string& user) {
  if (user.empty() || account == kUnassigned) return account;
  AccountSpec spec;
  spec.path = d.s.tree().node(account).spec.path + "/" + user;
  spec.user = true;
  if (const AccountId known = d.s.tree().find(spec.path)) return known;
  if (d.s.tree().check(spec))
    return account;  // a name that cannot be a user counts for its account
  const AccountId id = d.s.tree().id_for(spec.path);
  d.emit(fact::AccountSet{id, spec, next_revision(d.s.tree(), id), {d.input.actor, kFirstUse, ""}});
  must(d.s.tree().find(spec.path) == id, "a new user has the number that it was given");
  must(d.s.tree().node(id).parent == account, "a user is below its account");
  return id;
}

void decide(Decision& d, const in::SubmitJob& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (auto error = check_submit(d, i, cluster)) return d.refuse(*error, i.account);
  if (auto error = unknown_profile(d, cluster->id, i.request)) return d.refuse(*error, i.account);
  const auto priority = priority_of(d, i);
  if (!priority) return d.refuse(priority.error(), i.account);
  const AccountId account = d.s.tree().find(i.account);
  const ShapeId shape = d.shape_of(cluster->id, i.request);
  if (auto error = not_entitled(d, i, shape)) return d.refuse(*error, i.account);
  if (cluster->synced && !d.search.fits_empty_fleet(shape) &&
      d.search.pools_for(shape, d.s.clusters().pools()).empty()) {
    d.out.reply.warnings.push_back(
        "ExceedsFleet: no placement exists in the fleet as it is now; the job waits until one "
        "does");
  }
  warn_of_budgets(d, payer_of(d, i));
  if (i.time_limit_ms == 0) warn_of_no_limit(d, payer_of(d, i));
  if (i.validate_only) return;
  fact::JobCreated job;
  job.leaf = leaf_of(d, account, i.user);
  job.id = JobId(cluster->id, cluster->next_job);
  job.origin = JobOrigin::kApi;
  job.state = i.held ? JobState::kPaused : JobState::kQueued;
  job.name = i.name;
  job.request = i.request;
  job.gang_size = i.request.pods();
  job.priority = priority->value;
  job.has_class = priority->has_class;
  job.time_limit_ms = i.time_limit_ms;
  job.grace_ms = i.grace_ms;
  job.edit = d.stamp("");
  const JobId id = job.id;
  must(job.gang_size > 0 && job.leaf, "a submitted job has pods and a payer");
  must(d.s.jobs().find(id) == nullptr, "a new job has a new number");
  d.out.reply.job = id;
  d.emit(std::move(job));
  must(d.s.jobs().at(id).waits(), "a submitted job waits");
}

namespace {

void cancel(Decision& d, const state::Job& job, const EditStamp& by) {
  if (job.ends_for_good() || job.state == JobState::kDone) return;
  const JobId id = job.id;
  if (job.pods_live() > 0 || job.active() || job.is_parked()) {
    return ask_stop(d, job, Cause::kCancelled, by);
  }
  fact::JobMoved moved;
  moved.id = id;
  moved.from = job.state;
  moved.to = JobState::kDone;
  moved.cause = Cause::kCancelled;
  moved.edit = by;
  must(job.pods_holding() == 0, "a job that is cancelled at once holds nothing");
  d.emit(std::move(moved));
  must(d.s.jobs().at(id).state == JobState::kDone, "a cancelled job without pods is done");
}

}  // namespace

// If a gang is cancelled, the jobs of single pods that are apart from the gang are cancelled with
// it.
void decide(Decision& d, const in::CancelJob& i) {
  const state::Job* job = d.s.jobs().find(i.job);
  if (job == nullptr) {
    return d.refuse({ErrorCode::kNotFound, "job", text::job_id_text(i.job), "there is no such job"},
                    text::job_id_text(i.job));
  }
  d.out.reply.job = i.job;
  std::vector<JobId> apart;
  if (job->replaced_alone()) {
    apart = d.s.jobs().gangs().apart(i.job.cluster(), job->name, job->pod_origin->owner);
  }
  cancel(d, *job, d.stamp(i.reason));
  EditStamp with_gang = d.stamp(i.reason);
  with_gang.request_id.clear();
  with_gang.method = Method::kNone;
  with_gang.content = 0;
  for (const JobId id : apart) cancel(d, d.s.jobs().at(id), with_gang);
}

void decide(Decision& d, const in::HoldJob& i) {
  const state::Job* job = d.s.jobs().find(i.job);
  const std::string id = text::job_id_text(i.job);
  if (job == nullptr) {
    return d.refuse({ErrorCode::kNotFound, "job", id, "there is no such job"}, id);
  }
  d.out.reply.job = i.job;
  if (i.held && job->state == JobState::kPaused && job->until_ms != 0) {
    return d.refuse(
        {ErrorCode::kPrecondition, "job", id,
         "it is paused until " + format_time(job->until_ms) + " since " +
             (job->extras().backoff != nullptr ? "the cluster's scheduler found no way for it"
                                               : "its gates could not be opened") +
             ": release it first"},
        id);
  }
  const JobState wanted = i.held ? JobState::kPaused : JobState::kQueued;
  if (job->state == wanted) return;
  if (job->state != JobState::kQueued && job->state != JobState::kPaused) {
    return d.refuse({ErrorCode::kPrecondition, "job", id,
                     "it is " + std::string(enum_name(job->state)) +
                         ": only a waiting job can be " + (i.held ? "held" : "released")},
                    id);
  }
  fact::JobMoved moved;
  moved.id = i.job;
  moved.from = job->state;
  moved.to = wanted;
  moved.edit = d.stamp(i.reason);
  if (!i.held && !may_queue(*job)) moved.to = JobState::kIncomplete;
  if (!i.held) forget_refusals(d, i.job);
  d.emit(std::move(moved));
  must(job->waits(), "a job that was held or released waits");
}

namespace {

// Asks the job to end after its time limit. If the job is beyond its planned end, moves the planned
// end to a later time. If no tick came for long, this takes several doublings.
void end_or_overrun(Decision& d, const state::Job& job) {
  if (job.run().end_ms > d.s.now()) {
    if (!state::ends_by_budget(d.s, job)) return ask_stop(d, job, Cause::kTimeLimit, {});
    const std::uint32_t times = job.overruns + 1;
    if (!budgets_allow_longer(d.s, job, times)) {
      return ask_stop(d, job, Cause::kBudget, {}, job.run().end_ms);
    }
    return d.emit(fact::JobOverran{job.id, job.attempt, times});
  }
  std::uint32_t times = job.overruns;
  while (state::planned_end(d.s, job, job.run().started_ms, times) <= d.s.now()) ++times;
  must(times > job.overruns, "a job beyond its planned end has overrun once more");
  const bool allowed = !state::ends_by_budget(d.s, job) || budgets_allow_longer(d.s, job, times);
  d.emit(fact::JobOverran{job.id, job.attempt, times});
  must(job.run().end_ms > d.s.now(), "the planned end of a job that overran lies ahead");
  if (job.state == JobState::kEnding) return;
  if (state::enforces_limit(d.s, job)) return ask_stop(d, job, Cause::kTimeLimit, {});
  if (!allowed) ask_stop(d, job, Cause::kBudget, {}, d.s.now() + limits::kEndingMs);
}

}  // namespace

void decide(Decision& d, const in::Tick& /*i*/) {
  turn_budgets(d);
  const auto due = [&d](const auto& end) { return end && end->first <= d.s.now(); };
  for (auto end = derive::next_hold_end(d.s); due(end); end = derive::next_hold_end(d.s)) {
    const state::Job& job = d.s.jobs().at(end->second);
    job.active() ? expire(d, job) : end_wait(d, job);
  }
  for (auto end = derive::next_end(d.s); due(end); end = derive::next_end(d.s)) {
    end_or_overrun(d, d.s.jobs().at(end->second));
  }
  must(!due(derive::next_hold_end(d.s)), "no hold is past its end");
  if (d.s.pass_due().at_ms <= d.s.now()) {
    d.set_pass_due_at(state::kNever);
    d.set_pass_due(true);
  }
  ask_victims(d);
  end_backoffs(d);
  begin_and_end_drains(d);
  end_cliques(d);
  end_unknown_gpus(d);
  close_rows(d);
}

}  // namespace subak::decide
