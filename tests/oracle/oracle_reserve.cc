// The oracle's checks of reservations. A pass makes them, for jobs that have waited, on nodes
// without another reservation. Promised starts hold by the time limits of current jobs, and move
// later only for the named cause.
#include <algorithm>
#include <set>

#include "core/limits.h"
#include "model/bounds/pass_limits.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
namespace {

bool keeps(const fact::Reserved& r, NodeId node) {
  return std::any_of(r.nodes.begin(), r.nodes.end(), [&](const auto& k) { return k.node == node; });
}

// The shortest wait of a job with a reservation. A GPU that is held at a random moment becomes free
// after half of the mean length of holds, each hold weighted by its GPU-time (docs/design/0005). One
// ms less: sums of doubles are not exact.
DurationMs patience(const Policy& policy,
                    const std::vector<std::pair<MilliGpu, DurationMs>>& held) {
  if (held.size() < limits::kFewestHolds) return policy.patience_ms;
  long double weight = 1, time = 0, lengths = 0;
  for (auto it = held.rbegin(); it != held.rend() && weight > 1e-15L; ++it) {
    const long double gpu_time = weight * static_cast<long double>(it->first) * it->second;
    time += gpu_time;
    lengths += gpu_time * it->second;
    weight *= 1 - 1.0L / limits::kHoldsRemembered;
  }
  const auto rest = static_cast<DurationMs>(lengths / time / 2) - 1;
  return std::min(policy.patience_ms, std::max(rest, limits::kLeastPatienceMs - 1));
}

}  // namespace

fact::Reserved* Oracle::reservation(JobId id) {
  const auto found = std::find_if(reserved_.begin(), reserved_.end(),
                                  [id](const fact::Reserved& r) { return r.job == id; });
  return found == reserved_.end() ? nullptr : &*found;
}

void Oracle::unreserve(JobId id) {
  std::erase_if(reserved_, [id](const fact::Reserved& r) { return r.job == id; });
}

bool Oracle::is_open(NodeId id, bool or_unknown) {
  const Node* const n = node(id);
  if (n == nullptr || !n->there) return false;
  const bool fit = n->spec.unfit.empty() || (or_unknown && n->spec.gpus_unknown_ms != 0);
  return n->spec.ready && fit && !n->spec.unschedulable && !n->drained;
}

DurationMs Oracle::length_of(const Job& j) const {
  if (!trusted(j)) return kNeverEnds;
  return enforced(j) ? j.limit + policy_.time_limit_grace_ms + limits::kEndingMs : j.limit;
}

bool Oracle::is_drained_before(const Node& n, TimeMs start, DurationMs length) {
  return n.drain_from != 0 && n.drain_from - start < length;
}

// True if its job would be gone from each of its nodes before the planned drain.
bool Oracle::is_in_time(const fact::Reserved& r) {
  const DurationMs length = length_of(*job(r.job));
  return std::none_of(r.nodes.begin(), r.nodes.end(), [&](const auto& kept) {
    const TimeMs start = std::max(now_, r.estimated ? now_ : r.start_ms);
    return is_drained_before(*node(kept.node), start, length);
  });
}

// For a job with a ComputeDomain: returns the others in the cliques of its nodes that must end
// first, in the order of their ends, until the rest is allowed beside it. Of jobs with reserved
// nodes, only those with a start up to `start` count.
std::set<JobId> Oracle::too_many_beside(const fact::Reserved& r, TimeMs start) {
  std::set<JobId> out;
  if (!job(r.job)->request.terms.compute_domain || policy_.gangs.clique_gangs == 0) return out;
  for (const auto& kept : r.nodes) {
    std::vector<std::pair<TimeMs, JobId>> gangs;
    for (const auto& [id, nodes] : computing_beside(r.job, kept.node)) {
      const Job& gang = *job(id);
      gangs.emplace_back(holds(gang) ? end_of(gang) : 0, id);
    }
    std::sort(gangs.begin(), gangs.end());
    std::size_t beside = gangs.size();
    for (const fact::Reserved& other : reserved_) {
      if (other.job == r.job || other.start_ms > start || other.job.cluster() != r.job.cluster())
        continue;
      const bool near = std::any_of(other.nodes.begin(), other.nodes.end(), [&](const auto& k) {
        const std::string clique = home_of(kept.node);
        return k.node == kept.node || (!clique.empty() && home_of(k.node) == clique);
      });
      beside += near && job(other.job)->request.terms.compute_domain ? 1 : 0;
    }
    for (std::size_t i = 0; i < gangs.size() && beside >= policy_.gangs.clique_gangs;
         ++i, --beside) {
      out.insert(gangs[i].second);
    }
  }
  return out;
}

// Returns gangs that may reserve idle nodes in the cliques of these nodes: gangs with exclusive
// cliques, and gangs with spare nodes. The finder decides how many a gang reserves; here it matters
// only whether there is one.
std::set<JobId> Oracle::keepers_beside(const fact::Reserved& r) {
  std::set<std::string> cliques;
  for (const auto& kept : r.nodes) cliques.insert(home_of(kept.node));
  cliques.erase("");
  std::set<JobId> out;
  for (const Slot& s : slots_) {
    const Job& gang = *job(s.job);
    const bool keeps_some =
        !gang.request.terms.prefer &&
        (gang.request.terms.spare > 0 || gang.request.terms.topology == Topology::kNvlinkExclusive);
    const bool near = s.job.cluster() == r.job.cluster() && cliques.contains(home_of(s.at.node));
    if (keeps_some && near && s.at.milligpu > 0) out.insert(s.job);
  }
  return out;
}

// Returns the expected end of the last hold on its nodes, and of the jobs that must be gone beside
// them.
Oracle::FreeAt Oracle::free_at(const fact::Reserved& r, TimeMs start) {
  FreeAt out{now_, now_, false};
  const std::set<JobId> beside = too_many_beside(r, start), keepers = keepers_beside(r);
  for (const Slot& s : slots_) {
    const Job& j = *job(s.job);
    const TimeMs end = holds(j) ? end_of(j) : 0;
    const bool sure = keeps(r, s.at.node) || beside.contains(s.job);
    if (sure) out.least = std::max(out.least, end);
    if (sure || keepers.contains(s.job)) out.most = std::max(out.most, end);
    out.guess = out.guess || (sure && !trusted(j));
  }
  return out;
}

void Oracle::judge_delay(const fact::Reserved& before, const fact::Reserved& after) {
  std::set<JobId> beside = too_many_beside(before, before.start_ms);
  beside.merge(keepers_beside(before));
  const auto on_it = [&](auto&& is) {
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& s) {
      const Job& j = *job(s.job);
      return (keeps(before, s.at.node) || beside.contains(s.job)) && end_of(j) > before.start_ms &&
             is(j);
    });
  };
  bool so = false;
  if (after.cause == ReserveCause::kNode) {
    so = std::any_of(
             before.nodes.begin(), before.nodes.end(),
             [&](const auto& k) { return !is_open(k.node) || node(k.node)->spec.gpus == 0; }) ||
         !is_in_time(before);
  } else if (after.cause == ReserveCause::kOverrun) {
    so = on_it([](const Job& j) { return j.overruns > 0; });
  } else if (after.cause == ReserveCause::kTaken) {
    so = on_it([](const Job& j) { return j.overruns == 0; });
  }
  if (!so)
    wrong("the start of " + name(after.job) + " moves later without its cause, " +
          std::string(enum_name(after.cause)));
  if (after.late != before.late + 1) wrong(name(after.job) + " moves later and does not count it");
}

void Oracle::on(const fact::Reserved& f) {
  const fact::Reserved* const before = reservation(f.job);
  if (!in_pass_) wrong("a reservation changes outside a pass");
  if (f.nodes.empty()) {
    if (before == nullptr) return wrong(name(f.job) + " gives up what it has not");
    // A reservation waits for all holders of its nodes, also for a pod without GPUs, whose CPU the
    // job may need (engine/derive/reservations.h). It is given up if nothing is left to wait for
    // (docs/design/0043).
    const bool held = std::any_of(slots_.begin(), slots_.end(),
                                  [&](const Slot& s) { return keeps(*before, s.at.node); });
    const bool open = std::all_of(
        before->nodes.begin(), before->nodes.end(),
        [this](const auto& k) { return is_open(k.node, true) && node(k.node)->spec.gpus > 0; });
    const TimeMs free = free_at(*before, before->start_ms).most;
    const TimeMs start = std::max(before->start_ms, now_);
    const DurationMs length = length_of(*job(f.job));
    const bool drained =
        std::any_of(before->nodes.begin(), before->nodes.end(), [&](const auto& k) {
          return is_drained_before(*node(k.node), std::max(start, free), length);
        });
    const bool stands = (before->estimated || free <= start) && !drained;
    if (f.cause == ReserveCause::kNoPlace && held && open && stands)
      wrong(name(f.job) + " gives up nodes that it can wait for");
    return unreserve(f.job);
  }
  const Job* const j = job(f.job);
  if (j == nullptr || j->state != JobState::kQueued) return wrong("nodes for who does not wait");
  ++reservations_;
  if (before == nullptr) {
    const auto cluster = std::find_if(clusters_.begin(), clusters_.end(),
                                      [&](const Cluster& c) { return c.id == f.job.cluster(); });
    if (now_ - j->submit < patience(policy_, cluster->held) || policy_.patience_ms == 0) {
      wrong(name(f.job) + " has a reservation and has not waited");
    }
    const auto of_cluster = std::count_if(reserved_.begin(), reserved_.end(), [&](const auto& r) {
      return r.job.cluster() == f.job.cluster();
    });
    if (of_cluster >= policy_.queue.reserve_jobs) wrong("there are too many reservations");
    if (f.late != 0 || f.made_ms != now_) wrong(name(f.job) + " begins with a history");
  } else {
    const bool later = !before->estimated && (f.estimated || f.start_ms > before->start_ms);
    if (later) judge_delay(*before, f);
    if (!later && f.late != before->late) wrong(name(f.job) + " has not moved later");
    if (f.made_ms != before->made_ms) wrong(name(f.job) + " was made at another time");
  }
  unreserve(f.job);
  for (const auto& kept : f.nodes) {
    if (!is_open(kept.node, true)) wrong(name(f.job) + " waits for a node that is not open");
    for (const fact::Reserved& other : reserved_) {
      if (keeps(other, kept.node)) {
        wrong("a node is kept for " + name(other.job) + " and " + name(f.job));
      }
    }
  }
  if (!is_in_time(f)) wrong(name(f.job) + " waits for a node that is drained before it is done");
  const FreeAt free = free_at(f, kNeverEnds);
  if (f.start_ms < free.least || f.start_ms > free.most) {
    wrong(name(f.job) + " is told another start");
  }
  if (free.guess && !f.estimated) wrong(name(f.job) + " is promised what is a guess");
  reserved_.push_back(f);
}

// A job that starts on nodes reserved for another must end within half of the time until that
// start, or a quota must owe it GPUs.
void Oracle::judge_kept(const Job& j, const fact::AttemptStarted& f) {
  const TimeMs end = std::min(kNeverEnds, now_ + length_of(j));
  bool owed = false;
  for (const Account* a = account(j.leaf); a != nullptr; a = account(a->parent)) {
    owed = owed || !quota_list(*a).empty();
  }
  for (const fact::Reserved& r : reserved_) {
    if (r.job == j.id || owed) continue;
    const bool on_it = std::any_of(f.slots.begin(), f.slots.end(),
                                   [&](const PodSlot& s) { return keeps(r, s.node); });
    if (!on_it) continue;
    ++fills_;
    const TimeMs until = r.estimated ? 0 : now_ + (r.start_ms - now_) / 2;
    if (end > until) wrong(name(j.id) + " takes what is kept for " + name(r.job));
  }
}

// After a complete pass: each promise can be kept, and no job waits without a reason.
void Oracle::judge_promises() {
  for (const fact::Reserved& r : reserved_) {
    if (!is_synced(r.job.cluster())) continue;
    const bool open = std::all_of(r.nodes.begin(), r.nodes.end(),
                                  [this](const auto& k) { return is_open(k.node, true); });
    if (!open) wrong(name(r.job) + " is left waiting for a node that is not open");
    if (!is_in_time(r)) wrong(name(r.job) + " is left waiting for a node that is drained first");
    if (!r.estimated && free_at(r, r.start_ms).least > std::max(r.start_ms, now_)) {
      wrong(name(r.job) + " cannot start when it was promised to");
    }
    std::set<JobId> beside = too_many_beside(r, r.start_ms);
    beside.merge(keepers_beside(r));
    const bool held = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& s) {
      return keeps(r, s.at.node) || (beside.contains(s.job) && s.at.milligpu > 0);
    });
    const bool known = std::all_of(r.nodes.begin(), r.nodes.end(),
                                   [this](const auto& k) { return is_open(k.node); });
    if (!held && known) wrong(name(r.job) + " has its nodes for itself and does not start");
  }
}

}  // namespace subak::sim
