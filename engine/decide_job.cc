// Decisions about jobs that were asked for: submit, cancel, hold, and what expires.
#include <algorithm>
#include <cassert>

#include "core/decimal.h"
#include "core/limits.h"
#include "engine/impl.h"

namespace subak {
namespace {

Error invalid(std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), std::move(got), std::move(want)};
}

}  // namespace

std::optional<Error> Turn::check_submit(const in::SubmitJob& i, const Cluster* cluster) const {
  if (cluster == nullptr) {
    return Error{i.cluster.empty() ? ErrorCode::kInvalid : ErrorCode::kNotFound, "cluster",
                 i.cluster, "want the name of a cluster"};
  }
  const AccountId account = s_.tree.find(i.account);
  if (!account || account == kRootAccount || s_.tree.node(account).spec.user) {
    return Error{ErrorCode::kNotFound, "account", i.account, "want the path of an account"};
  }
  for (AccountId a = account; a; a = s_.tree.node(a).parent) {
    if (s_.tree.node(a).spec.draining) {
      return Error{
          ErrorCode::kPrecondition, "account", i.account,
          "account " + s_.tree.node(a).spec.path + " is draining: nothing new is accepted"};
    }
  }
  if (!i.user.empty()) {
    AccountSpec user;
    user.path = i.account + "/" + i.user;
    user.user = true;
    if (auto error = s_.tree.check(user)) return invalid("user", i.user, error->want);
  }
  if (i.time_limit_ms < 0)
    return invalid("time_limit", std::to_string(i.time_limit_ms), "want >= 0");
  if (s_.ready.size() >= limits::kMaxQueuedJobs) {
    return Error{ErrorCode::kExhausted, "queue", std::to_string(s_.ready.size()),
                 "at most " + std::to_string(limits::kMaxQueuedJobs) + " queued jobs; try later"};
  }
  return std::nullopt;
}

AccountId Turn::leaf_of(AccountId account, const std::string& user) {
  if (user.empty() || account == kUnassigned) return account;
  AccountSpec spec;
  spec.path = s_.tree.node(account).spec.path + "/" + user;
  spec.user = true;
  if (const AccountId known = s_.tree.find(spec.path)) return known;
  if (s_.tree.check(spec)) return account;  // a name that cannot be a user counts for its account
  const AccountId id = s_.tree.next_id();
  emit(fact::AccountSet{id, spec, 1, {input_.actor, "first use", ""}});
  return id;
}

void Turn::on(const in::SubmitJob& i) {
  Cluster* cluster = s_.find_cluster(i.cluster);
  if (auto error = check_submit(i, cluster)) return refuse(*error, i.account);
  const AccountId account = s_.tree.find(i.account);
  const ShapeId shape = s_.fleet.intern(cluster->id, i.request);
  const MilliGpu least = s_.fleet.least_milligpu(shape);
  for (AccountId a = account; a; a = s_.tree.node(a).parent) {
    for (const auto& [product, limit] : s_.tree.node(a).limit) {
      if (product != ProductId() || least <= limit) continue;
      return refuse({ErrorCode::kPrecondition, "request.gpus", format_milligpu(least),
                     "account " + s_.tree.node(a).spec.path + " may hold at most " +
                         format_milligpu(limit) + " GPUs at once"},
                    i.account);
    }
  }
  if (cluster->synced && !s_.search.fits_empty_fleet(shape)) {
    out_.reply.warnings.push_back(
        "ExceedsFleet: no placement exists in the fleet as it is now; the job waits until one "
        "does");
  }
  if (i.validate_only) return;
  fact::JobCreated job;
  job.leaf = leaf_of(account, i.user);
  job.id = JobId(cluster->id, cluster->next_job);
  job.origin = JobOrigin::kApi;
  job.state = i.held ? JobState::kHeld : JobState::kQueued;
  job.name = i.name;
  job.request = i.request;
  job.gang_size = i.request.pods();
  job.priority = i.priority;
  job.time_limit_ms = i.time_limit_ms;
  job.edit = stamp("");
  out_.reply.job = job.id;
  emit(std::move(job));
}

void Turn::on(const in::CancelJob& i) {
  const Job* job = s_.find_job(i.job);
  if (job == nullptr) {
    return refuse({ErrorCode::kNotFound, "job", text::job_id_text(i.job), "there is no such job"},
                  text::job_id_text(i.job));
  }
  out_.reply.job = i.job;
  if (job->state == JobState::kDone || job->cancelling) return;
  const bool outside = job->pods_holding() > 0 || job->from_pods();
  fact::JobMoved moved;
  moved.id = i.job;
  moved.from = job->state;
  moved.outcome = Outcome::kCancelled;
  moved.edit = stamp(i.reason);
  moved.cancelling = outside;
  moved.to = !outside ? JobState::kDone
             : job->state == JobState::kQueued || job->state == JobState::kIncomplete
                 ? JobState::kHeld
                 : job->state;
  emit(std::move(moved));
  if (const auto effect = s_.effect_of(*job)) out_.effects.push_back(*effect);
}

void Turn::on(const in::HoldJob& i) {
  const Job* job = s_.find_job(i.job);
  const std::string id = text::job_id_text(i.job);
  if (job == nullptr) {
    return refuse({ErrorCode::kNotFound, "job", id, "there is no such job"}, id);
  }
  out_.reply.job = i.job;
  const JobState wanted = i.held ? JobState::kHeld : JobState::kQueued;
  if (job->state == wanted) return;
  const bool waiting = job->state == JobState::kQueued || job->state == JobState::kHeld;
  if (!waiting || job->cancelling) {
    return refuse({ErrorCode::kPrecondition, "job", id,
                   "it is " + std::string(enum_name(job->state)) + ": only a waiting job can be " +
                       (i.held ? "held" : "released")},
                  id);
  }
  if (!i.held && job->from_pods() && job->attempt > 0) {
    return refuse({ErrorCode::kPrecondition, "job", id,
                   "the node that its pods were let go to is gone: cancel it and make them anew"},
                  id);
  }
  fact::JobMoved moved;
  moved.id = i.job;
  moved.from = job->state;
  moved.to = wanted;
  moved.edit = stamp(i.reason);
  if (!i.held && std::any_of(job->pods.begin(), job->pods.end(),
                             [](const Pod& p) { return p.state == PodState::kGone; })) {
    moved.to = JobState::kIncomplete;
  }
  emit(std::move(moved));
}

void Turn::on(const in::Tick&) {
  while (!s_.deadlines.empty() && s_.deadlines.begin()->first <= s_.now) {
    expire(*s_.find_job(s_.deadlines.begin()->second));
  }
}

// A pod that is not bound yet is never deleted unless something would make it anew.
bool Turn::may_evict(const Job& job) {
  return std::none_of(job.pods.begin(), job.pods.end(), [](const Pod& p) {
    const bool unbound = p.state == PodState::kHeld || p.state == PodState::kWaiting;
    return unbound && !p.controlled;
  });
}

// A hold that was not bound in time. What sits nowhere goes back to the queue; a gang of pods whose
// gates are open is evicted, if something would make its pods anew; else it keeps its place and
// says so.
void Turn::expire(Job& job) {
  const JobId id = job.id;
  const bool touched = std::any_of(job.pods.begin(), job.pods.end(), [](const Pod& p) {
    return p.is_bound() || p.state == PodState::kGone;
  });
  const bool evict = (job.from_pods() ? may_evict(job) : touched) && !job.cancelling;
  if (job.from_pods()) emit(fact::JobReserved{id, job.attempt, 0, {}});  // its deadline is past
  if (evict) {
    fact::JobMoved moved;
    moved.id = id;
    moved.to = job.state;
    moved.outcome = Outcome::kEvicted;
    moved.cancelling = true;
    moved.from = job.state;
    moved.edit = {"", "expired", ""};
    emit(std::move(moved));
  }
  if (!job.from_pods()) {
    for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
      if (job.pods[rank].state == PodState::kHeld) {
        charge(job, rank, s_.now, UsageState::kHeldUnbound, kPlatform);
      }
    }
    emit(fact::HoldReleased{id, job.attempt, "expired"});
    if (job.cancelling && job.pods_holding() == 0) finish_if_over(id, job.outcome);
  }
  if (const Job* left = s_.find_job(id); left != nullptr && left->cancelling) {
    if (const auto effect = s_.effect_of(*left)) out_.effects.push_back(*effect);
  }
}

// The last pod gone ends the job; ranks of a gang that never came do not count.
void Turn::finish_if_over(JobId id, Outcome outcome) {
  const Job* job = s_.find_job(id);
  if (job == nullptr || job->state == JobState::kDone) return;
  const bool over = std::all_of(job->pods.begin(), job->pods.end(), [&](const Pod& p) {
    const bool never_came = p.state == PodState::kWaiting && p.uid.empty();
    return p.state == PodState::kGone || (never_came && (job->cancelling || job->from_pods()));
  });
  fact::JobMoved moved;
  moved.id = id;
  moved.edit = {};
  if (over) {
    moved.to = JobState::kDone;
    moved.outcome = job->outcome != Outcome::kNone ? job->outcome : outcome;
    emit(std::move(moved));
  } else if (job->state ==
             JobState::kQueued) {  // a gated pod was deleted: its gang waits for another
    moved.to = JobState::kIncomplete;
    emit(std::move(moved));
  }
}

}  // namespace subak
