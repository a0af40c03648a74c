#include "owner_world.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "engine/forecast/forecast.h"
#include "engine/forecast/start_calibration.h"
#include "server/edge/events/waiting.h"

namespace subak::fault {
namespace {

constexpr std::size_t kNodes = 4;

bool is_indexed(Made made) {
  return made == Made::kSweep || made == Made::kInferred || made == Made::kSuccess ||
         made == Made::kDeclared;
}
bool of_job_set(Made made) {
  return made == Made::kJobSet || made == Made::kSingleJobs || made == Made::kExclusive;
}

}  // namespace

OwnerWorld::OwnerWorld(std::uint64_t seed, std::size_t owners, bool obeys)
    : rng_(seed), obeys_(obeys), cache_("k8s", {}, default_other_schedulers()) {
  say(in::SetCluster{"k8s", Mode::kEnforce, {}, "", false, false});
  AccountSpec spec;
  spec.path = "ml";
  spec.namespaces = {"a"};
  in::SetAccount account;
  account.spec = spec;
  say(account);
  say(in::ListBegin{"k8s"});
  for (std::size_t i = 0; i < kNodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.product = "H100";
    node.gpus = 8;
    say(in::NodeSeen{"k8s", node});
  }
  for (const std::string& path : owner_collections()) {
    cache_.owners().begin(path);
    cache_.complete_owners(path);
  }
  say(in::ListComplete{"k8s"});
  for (std::size_t i = 0; i < owners; ++i) add_owner();
}

void OwnerWorld::say(in::Body body) {
  Input input;
  input.time_ms = now_;
  input.actor = "test";
  input.body = std::move(body);
  const ApplyOutcome out = engine_.apply(input);
  if (out.reply.error) wrong("the core does not take it: " + out.reply.error->message());
}

std::vector<std::string> OwnerWorld::run(std::size_t steps) {
  for (std::size_t i = 0; i < steps && wrong_.empty(); ++i) {
    act();
    turn();
  }
  return wrong_;
}

// --- what there is -------------------------------------------------------------------------------

void OwnerWorld::add_owner() {
  Owner o;
  o.made = static_cast<Made>(rng_.below(kMadeKinds));
  const std::string n = std::to_string(owners_.size());
  o.name = "o" + n;
  o.uid = "O" + n;
  o.job_uid = of_job_set(o.made) ? "J" + n : o.uid;
  o.size = static_cast<std::uint32_t>(rng_.between(1, 5));
  const bool states = o.made == Made::kDeclared || o.made == Made::kRay ||
                      o.made == Made::kTraining || o.made == Made::kFast;
  if (states) o.stated = o.size;
  const bool enough =
      o.made == Made::kEnough || o.made == Made::kAutoscaled || o.made == Made::kGroup;
  if (enough) o.least = static_cast<std::uint32_t>(rng_.between(1, o.size));
  owners_.push_back(std::move(o));
  show(owners_.size() - 1);
}

bool OwnerWorld::is_declared(const Owner& o) const {
  switch (o.made) {
    case Made::kDeclared:
    case Made::kTraining:
      return o.stated > 1;
    case Made::kJobSet:
    case Made::kExclusive:
    case Made::kWorkers:
    case Made::kLeaderFirst:
    case Made::kOperator:
      return true;
    case Made::kEnough:
      return o.least >= o.size;  // all are needed
    default:
      return false;
  }
}

const OwnerWorld::Pod* OwnerWorld::live(std::size_t owner, std::uint32_t index) const {
  for (const auto& [uid, pod] : pods_) {
    const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
    if (pod.owner == owner && pod.index == index && !ended) return &pod;
  }
  return nullptr;
}

// --- what happens by itself ----------------------------------------------------------------------

void OwnerWorld::act() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 55) {
    control(rng_.below(owners_.size()));
  } else if (dice < 85 && !pods_.empty()) {
    kubelet(std::next(pods_.begin(), static_cast<std::ptrdiff_t>(rng_.below(pods_.size())))->first);
  } else if (dice < 95) {
    people();
  } else {
    const DurationMs ms = rng_.percent(20) ? 11 * kMinuteMs : kSecondMs;
    now_ += ms;
    monotonic_ += ms;
  }
}

// Members that come only when the first runs.
bool OwnerWorld::may_come(const Owner& o, std::uint32_t index) const {
  const bool later =
      o.made == Made::kExclusive || o.made == Made::kLeaderFirst || o.made == Made::kFast;
  if (!later || index == 0) return true;
  const Pod* const first = live(static_cast<std::size_t>(&o - owners_.data()), 0);
  return first != nullptr &&
         (o.made == Made::kExclusive ? !first->node.empty() : first->phase == "Running");
}

// A Job controller and its like: makes what is missing, takes away what is too much.
void OwnerWorld::control(std::size_t owner) {
  Owner& o = owners_[owner];
  std::vector<std::string> mine;
  for (const auto& [uid, pod] : pods_) {
    if (pod.owner == owner) mine.push_back(uid);
  }
  if (o.suspended || o.over) {
    for (const std::string& uid : mine) remove(uid);
    return;
  }
  for (const std::string& uid : mine) {
    const Pod& pod = pods_.at(uid);
    const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
    const bool beyond = pod.index >= o.size + (o.made == Made::kTraining && o.stated > 1 ? 1 : 0);
    if (beyond || (ended && !is_indexed(o.made))) return remove(uid);
    if (ended && pod.phase == "Failed") return remove(uid);
  }
  if (o.lost && (o.made == Made::kJobSet || o.made == Made::kExclusive ||
                 o.made == Made::kWorkers || o.made == Made::kLeaderFirst)) {
    return restart_group(owner);
  }
  const std::uint32_t more = o.made == Made::kTraining && o.stated > 1 ? 1 : 0;  // beyond the size
  for (std::uint32_t index = 0; index < o.size + more; ++index) {
    if (o.succeeded.contains(index) || o.failed.contains(index)) continue;
    if (live(owner, index) != nullptr || !may_come(o, index)) continue;
    Pod pod;
    pod.uid = "p" + std::to_string(++serial_);
    pod.name = o.name + "-" + std::to_string(index) + "-" + pod.uid;
    pod.owner = owner;
    pod.index = index;
    pod.failures = o.failures[index];
    pod.stuck = rng_.percent(5);
    const auto [at, added] = pods_.emplace(pod.uid, pod);
    show(at->second);
    if (rng_.percent(30)) return;  // the rest comes later
  }
}

void OwnerWorld::restart_group(std::size_t owner) {
  Owner& o = owners_[owner];
  std::vector<std::string> mine;
  for (const auto& [uid, pod] : pods_) {
    if (pod.owner == owner) mine.push_back(uid);
  }
  for (const std::string& uid : mine) remove(uid);
  o.lost = false;
  if (!of_job_set(o.made)) return;
  o.job_uid += "'";
  show(owner);
}

void OwnerWorld::kubelet(const std::string& uid) {
  Pod& pod = pods_.at(uid);
  if (pod.gated || pod.phase == "Succeeded" || pod.phase == "Failed") return;
  if (pod.node.empty()) {
    if (!pod.stuck) {
      pod.node = pod.pin;
      return show(pod);
    }
    if (rng_.percent(30)) say(in::PodRefused{"k8s", {uid, {}, 0, 0}, Cause::kUnschedulable});
    return;
  }
  if (pod.phase == "Pending") {
    pod.phase = "Running";
    ++ran_;
    return show(pod);
  }
  const std::uint64_t dice = rng_.below(100);
  if (dice < 25) return finish(uid, "Succeeded");
  if (dice < 45) return finish(uid, "Failed");
  if (dice < 50) return remove(uid);  // somebody deletes it
}

void OwnerWorld::finish(const std::string& uid, const char* phase) {
  Pod& pod = pods_.at(uid);
  Owner& o = owners_[pod.owner];
  pod.phase = phase;
  if (pod.phase == "Succeeded" && is_indexed(o.made)) o.succeeded.insert(pod.index);
  if (pod.phase == "Failed") {
    o.lost = true;
    if (o.made == Made::kSweep && ++o.failures[pod.index] > 1) o.failed.insert(pod.index);
  }
  show(pod);
  if (!is_indexed(o.made)) return;
  const bool enough = o.made == Made::kSuccess && o.succeeded.contains(0);
  o.over = o.over || enough || o.succeeded.size() + o.failed.size() >= o.size;
  ++o.version;
  show(pod.owner);
}

void OwnerWorld::remove(const std::string& uid) {
  const auto at = pods_.find(uid);
  const Pod pod = at->second;
  pods_.erase(at);
  if (pod.phase == "Running") owners_[pod.owner].lost = true;
  show(pod, true);
}

void OwnerWorld::resize(Owner& o) {
  const bool may = is_indexed(o.made) || o.made == Made::kElastic || o.made == Made::kRay ||
                   o.made == Made::kDeployment || o.made == Made::kOperator ||
                   o.made == Made::kAutoscaled || o.made == Made::kGroup;
  if (!may || o.over) return;
  o.size = static_cast<std::uint32_t>(rng_.between(1, 6));
  ++o.version;
  show(static_cast<std::size_t>(&o - owners_.data()));
}

void OwnerWorld::people() {
  Owner& o = owners_[rng_.below(owners_.size())];
  if (rng_.percent(80)) return resize(o);
  const std::vector<JobRow> jobs = engine_.jobs(JobId(), 100, std::nullopt, {});
  if (!jobs.empty() && rng_.percent(30)) {
    say(in::CancelJob{jobs[rng_.below(jobs.size())].id, "enough"});
  }
}

// --- the edge and the core -----------------------------------------------------------------------

void OwnerWorld::turn() {
  cache_.adopt_orphans(monotonic_);
  for (int reads = 0; reads < 8; ++reads) {
    for (const std::string& uid : cache_.marks().take_outdated()) {
      const auto pod = pods_.find(uid);
      if (pod != pods_.end()) show(pod->second);
    }
    while (auto news = cache_.outbox().next(Outbox::kAllPodsKnown)) {
      if (!obeys_) {
        if (auto* const seen = std::get_if<in::PodSeen>(&news->body))
          seen->pod.replaced_alone = false;
      }
      say(news->body);
      cache_.outbox().answered(news->uid);
    }
  }
  if (const auto due = engine_.next_deadline(); due && *due <= now_) say(in::Tick{});
  say(in::Pass{});
  engine_.check_invariants();
  const WantedJobs before = std::exchange(wanted_, {});
  std::uint64_t order = 0;
  std::vector<JobId> begun;
  for (Effect& effect : engine_.outstanding(engine_.find_cluster("k8s"))) {
    fence_.take(effect, false);
    const JobId job = effect.job;
    if (begins_attempt(before, effect)) begun.push_back(job);
    wanted_[job] = {std::move(effect), ++order};
  }
  for (const JobId job : begun) {
    for (const std::string& uid : pods_beyond(cache_, wanted_, job)) cache_.tell_again(uid, true);
  }
  fence_.prune(cache_);
  for (const KubeWrite& w :
       plan_writes(wanted_, fence_, cache_, attempts_, now_, monotonic_, 100).writes) {
    write(w);
  }
  judge_gates();
}

void OwnerWorld::write(const KubeWrite& w) {
  if (w.kind == WriteKind::kSuspend || w.kind == WriteKind::kResume) {
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      Owner& o = owners_[i];
      if (o.uid != w.uid) continue;
      o.suspended = w.kind == WriteKind::kSuspend;
      o.suspend_mark = !o.suspended                   ? ""
                       : w.cause == Cause::kCancelled ? kMarkCancelled
                                                      : kMarkTakenBack;
      ++o.version;
      for (const auto& [uid, pod] : pods_) {
        if (o.suspended && pod.owner == i) judge_end(pod, w.cause, "suspending " + o.name);
      }
      return show(i);
    }
    return wrong("an owner that is not there is suspended or resumed: " + w.uid);
  }
  const auto at = pods_.find(w.uid);
  if (at == pods_.end()) return;
  Pod& pod = at->second;
  switch (w.kind) {
    case WriteKind::kRelease:
      pod.gated = false;
      pod.pin = w.node;
      return show(pod);
    case WriteKind::kKeep:
      pod.mark = kept_closed_mark(w.job, w.attempt);
      return show(pod);
    default:
      judge_end(pod, w.cause, "evicting it");
      owners_[pod.owner].failures[pod.index] += 1;
      return remove(w.uid);
  }
}

// --- the judge -----------------------------------------------------------------------------------

void OwnerWorld::judge_end(const Pod& pod, Cause cause, const std::string& by) {
  if (pod.phase != "Running") return;
  const Owner& o = owners_[pod.owner];
  bool asked = cause == Cause::kCancelled;
  for (const auto& [job, wanted] : wanted_) {
    if (wanted.effect.cause != Cause::kCancelled) continue;
    for (const EffectPod& named : wanted.effect.pods) asked = asked || named.uid == pod.uid;
  }
  if (asked || is_declared(o)) {
    ++ended_by_us_;
    return;
  }
  wrong(pod.name + " runs, and is ended by " + by + " (" + std::string(enum_name(cause)) +
        "), though its owner, kind " + std::to_string(static_cast<int>(o.made)) +
        ", declares no gang and nobody asked");
}

// Each pod behind our gate is on its way, or waits with a reason that people are told.
void OwnerWorld::judge_gates() {
  std::set<std::string> known;
  const ForecastStarts starts{std::make_shared<const Forecast>(), {}};
  for (const WaitingPart part : {WaitingPart::kQueued, WaitingPart::kIncomplete,
                                 WaitingPart::kPaused, WaitingPart::kBeyond}) {
    for (JobId after;;) {
      const WaitingPage page = waiting_jobs(engine_, starts, "k8s", part, after, now_ + kHourMs);
      for (const WaitingJob& told : page.jobs) {
        if (told.reason.detail.empty()) wrong("a reason without words for " + told.uid);
        known.insert(told.uid);
        if (part == WaitingPart::kBeyond) continue;
        const auto job = engine_.job(told.job, true);
        for (const PodRow& pod : job->pods) {
          if (pod.rank < job->gang_size || job->gang_size == 0) known.insert(pod.uid);
        }
      }
      if (!page.more) break;
      after = page.last;
    }
  }
  for (const JobState state : {JobState::kStarting, JobState::kEnding}) {
    for (const JobRow& row : engine_.jobs(JobId(), 1000, state, {})) {
      const auto job = engine_.job(row.id, true);
      for (const PodRow& pod : job->pods) {
        if (pod.rank < job->gang_size) known.insert(pod.uid);
      }
    }
  }
  for (const auto& [uid, pod] : pods_) {
    if (!pod.gated || cache_.any_untold()) continue;
    if (known.contains(uid)) {
      ++held_;
    } else {
      wrong(pod.name + " waits behind our gate without a reason; kind " +
            std::to_string(static_cast<int>(owners_[pod.owner].made)));
    }
  }
}

}  // namespace subak::fault
