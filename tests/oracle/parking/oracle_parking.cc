#include "tests/oracle/parking/oracle_parking.h"

#include <algorithm>
#include <variant>

#include "core/limits.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
namespace {

// The uid of the object that the owner of a pod is a part of.
std::string uid_of(const std::string& owner) { return owner.substr(0, owner.find('+')); }

}  // namespace

// True if the pods of the job's owner have not come, as far as its attempt or its wait is concerned.
bool OracleParking::awaits_pods(const Oracle::Job& j) {
  return j.last.parking != Parking::kNone && !j.last.had_pod;
}

// The pods of an owner whose job lacks pods are of that job. Other pods of the owner wait since the
// owner waits.
void OracleParking::judge_new(const fact::JobCreated& f) {
  const bool parked = f.of_pods.parking != Parking::kNone;
  if (parked && (f.of_pods.parking != Parking::kParked || f.origin != JobOrigin::kPods))
    o_.wrong(name(f.id) + " begins neither as a parked job nor as another");
  if (f.owner.empty() || f.origin != JobOrigin::kPods) return;
  const bool apart = f.replaced_alone && !f.gang;
  for (const Oracle::Job& other : o_.jobs_) {
    if (other.last.parking == Parking::kNone || other.owner != uid_of(f.owner)) continue;
    if (other.id.cluster() != f.id.cluster()) continue;
    if (parked) o_.wrong(name(f.id) + " is a second job of the owner of " + name(other.id));
    if (f.submit_ms != other.submit && other.submit < o_.now_ && !apart)
      o_.wrong(name(f.id) + " does not wait since its owner waits");
    if (other.stop != Cause::kNone && !comes_back(other.stop)) continue;
    const bool lacks =
        other.gang ? f.gang : !f.gang && awaits_pods(other) && Oracle::live(other) == 0;
    const bool may_join =
        other.gang || subak::is_waiting(other.state) || other.state == JobState::kStarting;
    if (lacks && may_join && !apart) {
      o_.wrong(name(f.id) + " is a second job of the pods that " + name(other.id) + " lacks");
    }
  }
}

void OracleParking::follow(const fact::JobParked& f) {
  Oracle::Job* const j = o_.job(f.id);
  if (j->last.parking == Parking::kNone || f.to == Parking::kNone)
    o_.wrong(name(f.id) + " changes between parked and gated");
  if (f.until_ms != 0) {
    const bool kept = std::any_of(o_.slots_.begin(), o_.slots_.end(), [&](const Oracle::Slot& s) {
      return s.job == f.id && s.rank < j->pods.size() && j->pods[s.rank].expected;
    });
    if (f.to != j->last.parking || !kept)
      o_.wrong(name(f.id) + " ends holds for no pod that differs");
    if (f.until_ms != o_.now_ + limits::kMisfitHoldMs || f.until_ms >= j->until)
      o_.wrong(name(f.id) + " has another time until its holds end");
    j->until = f.until_ms;
    return;
  }
  const bool expects =
      subak::is_waiting(j->state) &&
      std::any_of(j->pods.begin(), j->pods.end(), [](const Oracle::Pod& p) { return p.expected; });
  if (f.to == j->last.parking && !(expects && f.to == Parking::kResumed))
    o_.wrong(name(f.id) + " is parked or resumed twice");
  if (j->state == JobState::kQueued) o_.wrong(name(f.id) + " is queued while its pods change");
  j->last.parking = f.to;
  if (f.to == Parking::kParked) {
    if (Oracle::live(*j) > 0) o_.wrong(name(f.id) + " is parked, and has pods");
    if (j->stop != Cause::kNone && !comes_back(j->stop))
      o_.wrong(name(f.id) + " ended and is parked");
    if (subak::is_waiting(j->state)) j->last.had_pod = false;
    if (j->state == JobState::kIncomplete) j->until = 0;
    return;
  }
  if (!subak::is_waiting(j->state)) return;
  for (Oracle::Pod& pod : j->pods) pod.expected = false;
}

// Checks that a waiting job expects the pods of the report.
void OracleParking::judge_same(const Oracle::Job& j, const in::OwnerSeen& seen) {
  std::vector<PodShape> shapes;
  for (const PodGroup& group : seen.groups) shapes.insert(shapes.end(), group.count, group.shape);
  bool same = j.gang == !seen.pod.gang.empty() && j.gang_size == shapes.size();
  for (std::size_t rank = 0; same && rank < shapes.size(); ++rank) {
    same = rank < j.pods.size() && j.pods[rank].expected && j.pods[rank].shape == shapes[rank];
  }
  if (!same) o_.wrong(name(j.id) + " is not as its parked owner");
}

// Follows a report that was accepted.
void OracleParking::judge_owner(const in::OwnerSeen& seen, Oracle::Cluster& cluster) {
  const bool parks = seen.state == ParkedOwner::kParked;
  if (parks) {
    cluster.named.insert(seen.pod.owner);
  } else {
    cluster.named.erase(seen.pod.owner);
  }
  bool any = false;
  for (const Oracle::Job& j : o_.jobs_) {
    if (j.last.parking == Parking::kNone || j.owner != seen.pod.owner) continue;
    if (j.id.cluster() != cluster.id) continue;
    any = true;
    const bool cancelled = j.stop != Cause::kNone && !comes_back(j.stop);
    if (parks && !cancelled && j.last.parking != Parking::kParked)
      o_.wrong(name(j.id) + " is not parked though its owner is");
    if (parks && !cancelled && subak::is_waiting(j.state)) judge_same(j, seen);
    if (!parks && j.last.parking == Parking::kParked)
      o_.wrong(name(j.id) + " is parked though its owner is not");
    if (seen.state == ParkedOwner::kGone && (awaits_pods(j) || cancelled) && Oracle::live(j) == 0)
      o_.wrong(name(j.id) + " waits for the pods of an owner that is gone");
  }
  if (parks && cluster.enforced && !any) o_.wrong("a parked owner has no job: " + seen.pod.owner);
}

// An owner that a list does not name counts as resumed.
void OracleParking::judge_listed(const Oracle::Cluster& cluster) {
  for (const Oracle::Job& j : o_.jobs_) {
    const bool parked = j.id.cluster() == cluster.id && j.last.parking == Parking::kParked;
    if (parked && !cluster.named.contains(j.owner))
      o_.wrong(name(j.id) + " is parked, and no list names its owner");
  }
}

// A parked job that starts has its owner resumed, and no command is for a pod that does not exist.
void OracleParking::judge_resumed(const ApplyOutcome& outcome) {
  for (const Fact& fact : outcome.facts) {
    const auto* const started = std::get_if<fact::AttemptStarted>(&fact.body);
    const Oracle::Job* const j = started == nullptr ? nullptr : o_.job(started->id);
    if (j == nullptr || j->last.parking != Parking::kParked || j->state != JobState::kStarting)
      continue;
    const bool said =
        std::any_of(outcome.effects.begin(), outcome.effects.end(), [&](const Effect& e) {
          return e.job == j->id && e.owner == j->owner && e.kind == EffectKind::kOpenGate;
        });
    if (!said) o_.wrong(name(j->id) + " starts, and its owner stays suspended");
  }
  for (const Effect& effect : outcome.effects) {
    const Oracle::Job* const j = o_.job(effect.job);
    if (j == nullptr || j->last.parking == Parking::kNone) continue;
    const bool lacks = std::any_of(effect.pods.begin(), effect.pods.end(),
                                   [](const EffectPod& pod) { return pod.uid.empty(); });
    if (lacks) o_.wrong(name(j->id) + " has a command for a pod that does not exist");
    if (!effect.owner.empty() && j->last.parking != Parking::kParked)
      o_.wrong(name(j->id) + " has its owner resumed twice");
  }
}

// After a tick, no resumed job waits longer for its pods than it may.
void OracleParking::judge_resumed_jobs() {
  for (const Oracle::Job& j : o_.jobs_) {
    if (j.last.parking == Parking::kNone || Oracle::live(j) > 0) continue;
    const bool late = j.state == JobState::kIncomplete && j.until != 0 && j.until <= o_.now_;
    if (late && o_.is_synced(j.id.cluster())) o_.wrong(name(j.id) + " still waits for its pods");
  }
}

// The platform pays for the hold of a pod that has not come.
void OracleParking::judge_row(const LedgerRow& row) {
  const Oracle::Job* const j = o_.job(row.allocation.job);
  if (row.corrects != 0 || j == nullptr || row.allocation.rank >= j->pods.size()) return;
  const bool ours = row.state == UsageState::kHeldUnbound && row.payer == kPlatform;
  if (j->pods[row.allocation.rank].expected && !ours)
    o_.wrong(name(j->id, row.allocation.rank) + " is charged, and has not come");
}

void OracleParking::note(const fact::Body& body) {
  if (const auto* const created = std::get_if<fact::JobCreated>(&body)) judge_new(*created);
  if (const auto* const parked = std::get_if<fact::JobParked>(&body)) follow(*parked);
  if (const auto* const charged = std::get_if<fact::Charged>(&body)) judge_row(charged->row);
}

void OracleParking::judge(const Input& input, const ApplyOutcome& outcome) {
  judge_resumed(outcome);
  if (std::holds_alternative<in::Tick>(input.body)) judge_resumed_jobs();
  const std::string* const of = observed_cluster(input.body);
  const auto cluster = std::find_if(o_.clusters_.begin(), o_.clusters_.end(),
                                    [&](const Oracle::Cluster& c) { return of && c.name == *of; });
  if (cluster == o_.clusters_.end() || outcome.reply.error) return;
  if (std::holds_alternative<in::ListBegin>(input.body)) cluster->named.clear();
  if (std::holds_alternative<in::ListComplete>(input.body)) judge_listed(*cluster);
  if (const auto* const seen = std::get_if<in::OwnerSeen>(&input.body))
    judge_owner(*seen, *cluster);
}

}  // namespace subak::sim
