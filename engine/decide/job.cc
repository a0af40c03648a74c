// Decisions about jobs that were asked for: submit, cancel, hold, and what expires.
#include <algorithm>
#include <cassert>

#include "accounting/entitlement.h"
#include "core/decimal.h"
#include "core/limits.h"
#include "engine/decide/decide.h"
#include "engine/derive/deadlines.h"

namespace subak::decide {
namespace {

Error invalid(std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), std::move(got), std::move(want)};
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
  if (d.s.jobs().ready().size() >= limits::kMaxQueuedJobs) {
    return Error{ErrorCode::kExhausted, "queue", std::to_string(d.s.jobs().ready().size()),
                 "at most " + std::to_string(limits::kMaxQueuedJobs) + " queued jobs; try later"};
  }
  return std::nullopt;
}

// The user's node, if there is one already; else the account, whose rules a new user has.
AccountId payer_of(const Decision& d, const in::SubmitJob& i) {
  const AccountId user = i.user.empty() ? AccountId() : d.s.tree().find(i.account + "/" + i.user);
  return user ? user : d.s.tree().find(i.account);
}

// Nothing that could never start is accepted, nor anything new where the account drains.
std::optional<Error> not_entitled(const Decision& d, AccountId payer, ShapeId shape) {
  const Fleet& fleet = d.s.fleet();
  const ProductDemand demand{d.s.jobs().only_product(fleet.request(shape)),
                             fleet.least_milligpu(shape)};
  const auto binding = first_binding(d.s.tree(), {payer, {&demand, 1}}, Asking::kSubmit);
  if (!binding) return std::nullopt;
  const std::string subject = "account " + d.s.tree().node(binding->subject).spec.path;
  if (binding->kind == BindingKind::kDrain) {
    return Error{ErrorCode::kPrecondition, "account", d.s.tree().node(payer).spec.path,
                 subject + " is draining: nothing new is accepted"};
  }
  const std::string of =
      binding->product ? " of " + std::string(fleet.product_name(binding->product)) : std::string();
  const std::string most =
      format_milligpu(binding->most) + (binding->most == kMilliPerGpu ? " GPU" : " GPUs") + of;
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
  d.emit(
      fact::AccountSet{id, spec, d.s.tree().next_revision(id), {d.input.actor, "first use", ""}});
  return id;
}

void decide(Decision& d, const in::SubmitJob& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (auto error = check_submit(d, i, cluster)) return d.refuse(*error, i.account);
  const AccountId account = d.s.tree().find(i.account);
  const ShapeId shape = d.shape_of(cluster->id, i.request);
  if (auto error = not_entitled(d, payer_of(d, i), shape)) return d.refuse(*error, i.account);
  if (cluster->synced && !d.search.fits_empty_fleet(shape)) {
    d.out.reply.warnings.push_back(
        "ExceedsFleet: no placement exists in the fleet as it is now; the job waits until one "
        "does");
  }
  if (i.validate_only) return;
  fact::JobCreated job;
  job.leaf = leaf_of(d, account, i.user);
  job.id = JobId(cluster->id, cluster->next_job);
  job.origin = JobOrigin::kApi;
  job.state = i.held ? JobState::kPaused : JobState::kQueued;
  job.name = i.name;
  job.request = i.request;
  job.gang_size = i.request.pods();
  job.priority = i.priority;
  job.time_limit_ms = i.time_limit_ms;
  job.edit = d.stamp("");
  d.out.reply.job = job.id;
  d.emit(std::move(job));
}

void decide(Decision& d, const in::CancelJob& i) {
  const state::Job* job = d.s.jobs().find(i.job);
  if (job == nullptr) {
    return d.refuse({ErrorCode::kNotFound, "job", text::job_id_text(i.job), "there is no such job"},
                    text::job_id_text(i.job));
  }
  d.out.reply.job = i.job;
  const bool asked = job->state == JobState::kEnding && job->cause == Cause::kCancelled;
  if (asked || job->state == JobState::kDone) return;
  if (job->pods_holding() > 0 || job->from_pods() || job->active()) {
    const bool lost_all = job->pods_holding() == 0 && job->active();
    ask_stop(d, *job, Cause::kCancelled, d.stamp(i.reason));
    if (lost_all) finish_if_over(d, i.job, Cause::kCancelled);
    return;
  }
  fact::JobMoved moved;
  moved.id = i.job;
  moved.from = job->state;
  moved.to = JobState::kDone;
  moved.cause = Cause::kCancelled;
  moved.edit = d.stamp(i.reason);
  d.emit(std::move(moved));
}

void decide(Decision& d, const in::HoldJob& i) {
  const state::Job* job = d.s.jobs().find(i.job);
  const std::string id = text::job_id_text(i.job);
  if (job == nullptr) {
    return d.refuse({ErrorCode::kNotFound, "job", id, "there is no such job"}, id);
  }
  d.out.reply.job = i.job;
  const JobState wanted = i.held ? JobState::kPaused : JobState::kQueued;
  if (job->state == wanted) return;
  if (job->state != JobState::kQueued && job->state != JobState::kPaused) {
    return d.refuse({ErrorCode::kPrecondition, "job", id,
                     "it is " + std::string(enum_name(job->state)) +
                         ": only a waiting job can be " + (i.held ? "held" : "released")},
                    id);
  }
  if (!i.held && job->from_pods() && job->attempt > 0) {
    return d.refuse({ErrorCode::kPrecondition, "job", id,
                     "the node that its pods were let go to is gone: cancel it and make them anew"},
                    id);
  }
  fact::JobMoved moved;
  moved.id = i.job;
  moved.from = job->state;
  moved.to = wanted;
  moved.edit = d.stamp(i.reason);
  const bool a_pod_went = std::any_of(job->pods.begin(), job->pods.end(), [](const state::Pod& p) {
    return p.state == PodState::kGone;
  });
  if (!i.held && (a_pod_went || job->disputing() != nullptr)) {
    moved.to = JobState::kIncomplete;
  }
  d.emit(std::move(moved));
}

// Its pods are asked to end. A job that ends already may get a cause that weighs more.
void ask_stop(Decision& d, const state::Job& job, Cause cause, EditStamp by) {
  fact::StopAsked stop;
  stop.id = job.id;
  stop.attempt = job.attempt;
  stop.cause = cause;
  stop.by = std::move(by);
  stop.until_ms = job.active() ? job.until_ms : 0;
  stop.from = job.state;
  d.emit(std::move(stop));
  d.effect_of(job);
}

namespace {

// What is held unbound of a job is paid by us.
void charge_unbound(Decision& d, const state::Job& job) {
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].state == PodState::kHeld) {
      charge(d, job, rank, d.s.now(), UsageState::kHeldUnbound, kPlatform);
    }
  }
}

// A job of a launcher whose pods are not all bound in time. What has no pod yet gives its place
// back; where there are pods, they are asked to end.
void expire_launched(Decision& d, const state::Job& job) {
  const JobId id = job.id;
  charge_unbound(d, job);
  if (is_untouched(job)) {
    d.emit(fact::AttemptEnded{id, job.attempt, Cause::kExpired, JobState::kQueued});
    return;
  }
  d.emit(fact::DeadlinePassed{id, job.attempt});
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].state == PodState::kHeld) {
      d.emit(fact::PlaceLost{id, rank, Cause::kExpired});
    }
  }
  job.state == JobState::kStarting ? ask_stop(d, job, Cause::kExpired, {}) : d.effect_of(job);
  finish_if_over(d, id, Cause::kExpired);
}

// A hold that was not bound in time. A gang of pods is evicted, if something would make its pods
// anew; else it keeps its place and says so.
void expire(Decision& d, const state::Job& job) {
  if (!job.from_pods()) return expire_launched(d, job);
  d.emit(fact::DeadlinePassed{job.id, job.attempt});
  if (job.state == JobState::kEnding) return d.effect_of(job);
  if (may_evict(job)) ask_stop(d, job, Cause::kExpired, {});
}

}  // namespace

void decide(Decision& d, const in::Tick& /*i*/) {
  const auto ended = [&d](const auto& hold) { return hold && hold->first <= d.s.now(); };
  for (auto hold = derive::next_hold_end(d.s); ended(hold); hold = derive::next_hold_end(d.s)) {
    expire(d, d.s.jobs().at(hold->second));
  }
  end_bars(d);
  close_rows(d);
}

// A pod that is not bound yet is never deleted unless something would make it anew.
bool may_evict(const state::Job& job) {
  return std::none_of(job.pods.begin(), job.pods.end(), [](const state::Pod& p) {
    const bool unbound = p.state == PodState::kHeld || p.state == PodState::kWaiting;
    return unbound && !p.controlled;
  });
}

bool is_untouched(const state::Job& job) {
  return job.state == JobState::kStarting &&
         std::none_of(job.pods.begin(), job.pods.end(), [](const state::Pod& p) {
           return p.is_bound() || p.state == PodState::kGone;
         });
}

// The last pod gone ends the job; ranks of a gang that never came do not count.
void finish_if_over(Decision& d, JobId id, Cause cause) {
  const state::Job* job = d.s.jobs().find(id);
  if (job == nullptr || job->state == JobState::kDone) return;
  const bool over = std::all_of(job->pods.begin(), job->pods.end(), [&](const state::Pod& p) {
    const bool never_came = p.state == PodState::kWaiting && p.uid.empty();
    const bool may_lack = job->state == JobState::kEnding || job->from_pods();
    return p.state == PodState::kGone || (never_came && may_lack);
  });
  if (job->cause != Cause::kNone) cause = job->cause;
  if (over && job->waits()) {
    d.emit(fact::JobMoved{id, JobState::kDone, cause, {}, JobState::kIncomplete});
  } else if (over) {
    d.emit(fact::AttemptEnded{id, job->attempt, cause, JobState::kDone});
  } else if (job->state == JobState::kQueued) {  // a gated pod was deleted: another is waited for
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  }
}

}  // namespace subak::decide
