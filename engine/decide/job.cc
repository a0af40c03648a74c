// Decisions about jobs that were asked for: submit, cancel, hold, and what expires.
#include <algorithm>
#include <cassert>

#include "accounting/entitlement.h"
#include "core/decimal.h"
#include "core/limits.h"
#include "engine/decide/decide.h"

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
  const AccountId id = d.s.tree().next_id();
  d.emit(fact::AccountSet{id, spec, 1, {d.input.actor, "first use", ""}});
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
  job.state = i.held ? JobState::kHeld : JobState::kQueued;
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
  if (job->state == JobState::kDone || job->cancelling) return;
  const bool outside = job->pods_holding() > 0 || job->from_pods();
  fact::JobMoved moved;
  moved.id = i.job;
  moved.from = job->state;
  moved.outcome = Outcome::kCancelled;
  moved.edit = d.stamp(i.reason);
  moved.cancelling = outside;
  moved.to = !outside ? JobState::kDone
             : job->state == JobState::kQueued || job->state == JobState::kIncomplete
                 ? JobState::kHeld
                 : job->state;
  d.emit(std::move(moved));
  d.effect_of(*job);
}

void decide(Decision& d, const in::HoldJob& i) {
  const state::Job* job = d.s.jobs().find(i.job);
  const std::string id = text::job_id_text(i.job);
  if (job == nullptr) {
    return d.refuse({ErrorCode::kNotFound, "job", id, "there is no such job"}, id);
  }
  d.out.reply.job = i.job;
  const JobState wanted = i.held ? JobState::kHeld : JobState::kQueued;
  if (job->state == wanted) return;
  const bool waiting = job->state == JobState::kQueued || job->state == JobState::kHeld;
  if (!waiting || job->cancelling) {
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

namespace {

// A hold that was not bound in time. What sits nowhere goes back to the queue; a gang of pods whose
// gates are open is evicted, if something would make its pods anew; else it keeps its place and
// says so.
void expire(Decision& d, const state::Job& job) {
  const JobId id = job.id;
  const bool touched = std::any_of(job.pods.begin(), job.pods.end(), [](const state::Pod& p) {
    return p.is_bound() || p.state == PodState::kGone;
  });
  const bool evict = (job.from_pods() ? may_evict(job) : touched) && !job.cancelling;
  if (job.from_pods()) d.emit(fact::JobReserved{id, job.attempt, 0, {}});  // its deadline is past
  if (evict) {
    fact::JobMoved moved;
    moved.id = id;
    moved.to = job.state;
    moved.outcome = Outcome::kEvicted;
    moved.cancelling = true;
    moved.from = job.state;
    moved.edit = {"", "expired", ""};
    d.emit(std::move(moved));
  }
  if (!job.from_pods()) {
    for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
      if (job.pods[rank].state == PodState::kHeld) {
        charge(d, job, rank, d.s.now(), UsageState::kHeldUnbound, kPlatform);
      }
    }
    d.emit(fact::HoldReleased{id, job.attempt, "expired"});
    if (job.cancelling && job.pods_holding() == 0) finish_if_over(d, id, job.outcome);
  }
  if (const state::Job* left = d.s.jobs().find(id); left != nullptr && left->cancelling) {
    d.effect_of(*left);
  }
}

}  // namespace

void decide(Decision& d, const in::Tick& /*i*/) {
  const auto& deadlines = d.s.jobs().deadlines();
  while (!deadlines.empty() && deadlines.begin()->first <= d.s.now()) {
    expire(d, d.s.jobs().at(deadlines.begin()->second));
  }
  end_bars(d);
}

// A pod that is not bound yet is never deleted unless something would make it anew.
bool may_evict(const state::Job& job) {
  return std::none_of(job.pods.begin(), job.pods.end(), [](const state::Pod& p) {
    const bool unbound = p.state == PodState::kHeld || p.state == PodState::kWaiting;
    return unbound && !p.controlled;
  });
}

// The last pod gone ends the job; ranks of a gang that never came do not count.
void finish_if_over(Decision& d, JobId id, Outcome outcome) {
  const state::Job* job = d.s.jobs().find(id);
  if (job == nullptr || job->state == JobState::kDone) return;
  const bool over = std::all_of(job->pods.begin(), job->pods.end(), [&](const state::Pod& p) {
    const bool never_came = p.state == PodState::kWaiting && p.uid.empty();
    return p.state == PodState::kGone || (never_came && (job->cancelling || job->from_pods()));
  });
  fact::JobMoved moved;
  moved.id = id;
  moved.edit = {};
  if (over) {
    moved.to = JobState::kDone;
    moved.outcome = job->outcome != Outcome::kNone ? job->outcome : outcome;
    d.emit(std::move(moved));
  } else if (job->state ==
             JobState::kQueued) {  // a gated pod was deleted: its gang waits for another
    moved.to = JobState::kIncomplete;
    d.emit(std::move(moved));
  }
}

}  // namespace subak::decide
