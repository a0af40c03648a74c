#include "tests/oracle/oracle.h"

#include <algorithm>

#include "tests/oracle/oracle_budgets.h"
#include "tests/oracle/oracle_limits.h"
#include "tests/oracle/oracle_meters.h"
#include "tests/oracle/oracle_quota.h"
#include "tests/oracle/oracle_text.h"
#include "tests/oracle/parking/oracle_parking.h"

namespace subak::sim {
namespace {

constexpr std::size_t kMostMistakes = 20;

}  // namespace

void Oracle::wrong(std::string what) {
  if (mistakes_.size() < kMostMistakes) {
    mistakes_.push_back("@" + std::to_string(now_) + " " + std::move(what));
  }
}

void Oracle::saw(const Input& input, const ApplyOutcome& outcome) {
  in_pass_ = std::holds_alternative<in::Pass>(input.body);
  if (accounts_.empty()) {
    accounts_.emplace_back();
    accounts_[0].id = kRootAccount;
  }
  now_ = std::max(now_, input.time_ms);
  const bool stale = is_stale(input);
  if (stale && !outcome.reply.error) wrong("an old session's word was taken");
  calm_.rows_before = rows_.size();
  for (const Fact& f : outcome.facts) {
    const bool days_end = std::holds_alternative<fact::NodeBilled>(f.body) ||
                          std::holds_alternative<fact::Charged>(f.body) ||
                          OracleBudgets::is_of_turn(f.body);
    if (stale && !days_end) wrong("an old session's word changed something");
    if (f.time_ms != now_) wrong("a fact of another time than its input");
    if (OracleQuota(*this).is_outside_event(f.body)) ++calm_.events;
    OracleBudgets::note(*this, f.body);
    OracleParking(*this).note(f.body);
    std::visit([this](const auto& body) { on(body); }, f.body);
  }
  if (!outcome.reply.error) {
    note_light(input);
    judge_light();
  }
  OracleBudgets::note_excuses(*this);
  for (const Effect& effect : outcome.effects) judge_effect(effect);
  judge_gangs();
  OracleParking(*this).judge(input, outcome);
  if (in_pass_ && options_.judge_order) judge_nobody_waits();
  if (in_pass_) judge_promises();
  if (std::holds_alternative<in::Tick>(input.body)) judge_ends();
}

Oracle::Account* Oracle::account(AccountId id) {
  // Mostly the accounts are in the order of their numbers.
  const std::size_t place = static_cast<std::size_t>(id.value) - 1;
  if (place < accounts_.size() && accounts_[place].id == id) return &accounts_[place];
  for (Account& a : accounts_) {
    if (a.id == id) return &a;
  }
  return nullptr;
}
const Oracle::Account* Oracle::account(AccountId id) const {
  return const_cast<Oracle*>(this)->account(id);
}
bool Oracle::is_synced(ClusterId id) const {
  return std::any_of(clusters_.begin(), clusters_.end(),
                     [id](const Cluster& c) { return c.id == id && c.synced; });
}
Oracle::Node* Oracle::node(NodeId id) {
  for (Node& n : nodes_) {
    if (n.id == id) return &n;
  }
  return nullptr;
}
Oracle::Job* Oracle::job(JobId id) {
  for (Job& j : jobs_) {
    if (j.id == id) return &j;
  }
  return nullptr;
}
Oracle::Slot* Oracle::slot(JobId id, std::uint32_t rank) {
  for (Slot& s : slots_) {
    if (s.job == id && s.rank == rank) return &s;
  }
  return nullptr;
}

// True if the input's session is not the newest of its cluster. A list begins a session.
bool Oracle::is_stale(const Input& input) const {
  const std::string* name = observed_cluster(input.body);
  if (name == nullptr || input.session == kAnySession) return false;
  const auto named = [&](const Cluster& c) { return c.name == *name; };
  const auto cluster = std::find_if(clusters_.begin(), clusters_.end(), named);
  if (cluster == clusters_.end()) return false;
  const std::uint64_t said = input.session == kNoSession ? 0 : input.session;
  if (std::holds_alternative<in::ListBegin>(input.body)) return said <= cluster->session;
  return said != (cluster->owned ? 0 : cluster->session);
}

void Oracle::on(const fact::ClusterSet& f) {
  const bool enforced = f.mode == Mode::kEnforce && f.namespaces.empty();
  for (Cluster& c : clusters_) {
    if (c.id != f.id) continue;
    c.enforced = enforced;
    return;
  }
  std::erase_if(clusters_, [&](const Cluster& c) { return c.name == f.name; });  // was removed
  clusters_.push_back({f.id, f.name});
  clusters_.back().enforced = enforced;
}

void Oracle::on(const fact::ClusterSynced& f) {
  for (Cluster& c : clusters_) {
    if (c.id != f.id) continue;
    if (f.session < c.session) wrong("a session came back");
    c.synced = f.synced;
    c.owned = f.owned;
    c.session = f.session;
  }
}

void Oracle::on(const fact::NodeSet& f) {
  Node* n = node(f.id);
  if (!n) n = &nodes_.emplace_back();
  *n = {f.id, f.cluster, f.spec, true, f.drained, n->others_cpu, f.drain_from_ms, f.drain_until_ms};
}

void Oracle::on(const fact::NodeLoad& f) { node(f.node)->others_cpu = f.use.cpu_milli; }

// A service that starts does not know earlier reports about missing nodes.
void Oracle::forget_early_light() {
  std::erase_if(light_, [this](const LightPod& p) {
    return std::none_of(nodes_.begin(), nodes_.end(), [&](const Node& n) {
      const bool of_it = std::any_of(clusters_.begin(), clusters_.end(), [&](const Cluster& c) {
        return c.id == n.cluster && c.name == p.cluster;
      });
      return n.there && of_it && n.spec.name == p.node;
    });
  });
}

// Records non-GPU pods as reported.
void Oracle::note_light(const Input& input) {
  if (std::holds_alternative<in::Restarted>(input.body)) return forget_early_light();
  if (const auto* drain = std::get_if<in::DrainNode>(&input.body); drain && !drain->drained) {
    std::erase_if(bars_, [&](const Bar& b) { return node(b.node)->spec.name == drain->node; });
    return;
  }
  const std::string* const cluster = observed_cluster(input.body);
  if (cluster == nullptr) return;
  const auto forget = [&](const std::string& uid) {
    std::erase_if(light_, [&](const LightPod& p) { return p.uid == uid && p.cluster == *cluster; });
  };
  if (std::holds_alternative<in::ListBegin>(input.body)) {
    std::erase_if(light_, [&](const LightPod& p) { return p.cluster == *cluster; });
  } else if (const auto* gone = std::get_if<in::PodGone>(&input.body)) {
    forget(gone->pod.uid);
  } else if (const auto* seen = std::get_if<in::PodSeen>(&input.body)) {
    const PodRecord& pod = seen->pod;
    if (pod.shape.kind != GpuKind::kNone || (pod.node.empty() && pod.ended == Cause::kNone)) return;
    forget(pod.uid);
    if (pod.ended != Cause::kNone) return;
    light_.push_back({pod.uid, *cluster, pod.node, pod.shape.cpu_milli});
  }
}

// Once a list is complete, each node has the sum of the pods on it.
void Oracle::judge_light() {
  for (const Cluster& c : clusters_) {
    if (!c.synced || c.owned) continue;
    for (const Node& n : nodes_) {
      if (!n.there || n.cluster != c.id) continue;
      std::int64_t cpu = 0;
      for (const LightPod& p : light_) {
        if (p.cluster == c.name && p.node == n.spec.name) cpu += p.cpu;
      }
      if (n.spec.gpus == 0) cpu = 0;
      if (cpu != n.others_cpu) wrong("pods without GPUs take another sum of " + n.spec.name);
    }
  }
}

void Oracle::on(const fact::NodeRemoved& f) {
  Node* const n = node(f.id);
  n->there = false;
  n->others_cpu = 0;
  for (const Cluster& c : clusters_) {
    if (c.id != n->cluster) continue;
    std::erase_if(light_,
                  [&](const LightPod& p) { return p.cluster == c.name && p.node == n->spec.name; });
  }
  std::erase_if(bars_, [&f](const Bar& b) { return b.node == f.id; });
  std::erase_if(refused_, [&f](const fact::NodeBackedOff& b) { return b.node == f.id; });
  for (const Slot& s : slots_) {
    if (s.at.node == f.id) wrong("a node went with " + name(s.job, s.rank) + " on it");
  }
}

void Oracle::on(const fact::PolicySet& f) {
  const bool other_half_life = f.policy.half_life_ms != policy_.half_life_ms;
  policy_ = f.policy;
  if (other_half_life) OracleMeters(*this).compute_anew();
}

void Oracle::on(const fact::AccountSet& f) {
  Account* a = account(f.id);
  if (!a) {
    a = &accounts_.emplace_back();
    a->id = f.id;
    a->spec.shares = f.spec.shares;
    a->budgets = calm_.fresh_budgets;
    const std::size_t cut = f.spec.path.find_last_of("./");
    const std::string parent = cut == std::string::npos ? "" : f.spec.path.substr(0, cut);
    for (const Account& other : accounts_) {
      if (other.spec.path == f.spec.path) wrong(f.spec.path + " got another number");
      if (other.live && other.id != f.id && other.spec.path == parent) a->parent = other.id;
    }
    a->parents.emplace_back(0, a->parent);
    OracleMeters(*this).begin_at_mean(*a, f.spec.user);
  }
  const auto before = quotas_of_path(f.id);
  if (a->live && a->revision >= f.revision) wrong(f.spec.path + " has an old revision");
  a->live = true;
  a->revision = f.revision;
  const std::int64_t old = a->spec.shares;
  if (f.spec.shares != old && f.spec.shares != 0 && old != 0 && !f.retroactive) {
    const auto change =
        static_cast<long double>(f.spec.shares - old) / static_cast<long double>(old);
    OracleMeters(*this).change_shares(f.id, change);
  }
  a->spec = f.spec;
  quotas_changed(f.id, before);
}

void Oracle::on(const fact::AccountDeleted& f) {
  Account* const a = account(f.id);
  const AccountId parent = a->parent;
  const auto before = quotas_of_path(parent);
  a->live = false;
  if (allocated(f.id, false) != 0) wrong("an account was deleted that holds GPUs");
  quotas_changed(parent, before);
}

void Oracle::on(const fact::JobCreated& f) {
  Job j;
  j.id = f.id;
  j.leaf = f.leaf;
  j.state = f.state;
  j.origin = f.origin;
  j.request = f.request;
  j.name = f.name;
  j.owner = f.owner;
  j.gang = f.gang;
  j.runs_on = f.replaced_alone;
  j.gang_size = f.gang_size;
  j.priority = f.priority;
  j.has_class = f.has_class;
  j.limit = f.time_limit_ms;
  if (j.origin == JobOrigin::kForeign || j.origin == JobOrigin::kAdopted) j.started = now_;
  if (f.submit_ms > now_) wrong(name(f.id, 0) + " was submitted later than now");
  j.submit = f.submit_ms == 0 ? now_ : f.submit_ms;
  j.awaits_resume = f.of_pods.awaits_resume;
  j.last.parking = f.of_pods.parking;
  judge_drain(f);
  for (const Job& other : jobs_) {
    const bool same = other.gang && other.id.cluster() == f.id.cluster() && other.name == f.name &&
                      other.owner == f.owner;
    if (f.gang && same && other.origin == JobOrigin::kPods && comes_back(other.stop)) {
      wrong(name(f.id, 0) + " is a second job of the gang of " + name(other.id, 0));
    }
  }
  jobs_.push_back(std::move(j));
}

void Oracle::on(const fact::JobMoved& f) {
  Job* const j = job(f.id);
  if (f.to == JobState::kQueued && j->origin == JobOrigin::kPods) {
    join(*j);
  }
  if (f.to == JobState::kDone && live(*j) > 0)
    wrong(name(f.id, 0) + " is done with pods that live");
  j->until = 0;
  move(*j, f.to);
}

void Oracle::on(const fact::PodChanged& f) {
  Job* const j = job(f.job);
  const bool goes_on = j->state == JobState::kStarting || j->state == JobState::kRunning;
  if (goes_on && f.rank < j->gang_size) {
    wrong(name(f.job, f.rank) + " changed though it does not wait");
  }
  j->pods.at(f.rank).shape = f.shape;
  j->pods[f.rank].disputed = !f.dispute.empty();
  j->pods[f.rank].order = f.order;
  if (j->state == JobState::kIncomplete || f.rank >= j->gang_size) return;
  join(*j);
  unreserve(f.job);  // its request has changed
  drop_claim(f.job);
}

void Oracle::on(const fact::AttemptStarted& f) {
  Job* const j = job(f.id);
  if (j->state != JobState::kQueued) wrong(name(f.id, 0) + " was started though not queued");
  if (!in_pass_ && !keeps_place(*j)) wrong(name(f.id, 0) + " was started outside a pass");
  if (f.attempt != j->attempt + 1) wrong(name(f.id, 0) + " skips an attempt");
  if (!keeps_place(*j)) judge_claimed_slots(*j, f.slots);
  const bool by_claim = claimed_now_ = claim_of(f.id) != nullptr;
  drop_claim(f.id);
  if (!keeps_place(*j) && !by_claim) judge_start(*j, f), OracleLimits::judge_gang_nodes(*this, f);
  if (by_claim) judge_place(*j, f);
  unreserve(f.id);
  j->state = JobState::kStarting;
  j->last.ill = Cause::kNone;
  j->started = now_;
  j->last.finishing = 0;
  j->last.finished_on.clear();
  j->overruns = 0;
  j->attempt = f.attempt;
  j->last.had_pod = live(*j) > 0;
  j->until = f.until_ms;
  for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
    open(*j, rank, f.slots[rank], false, now_);
  }
}

void Oracle::on(const fact::StopAsked& f) {
  Job* const j = job(f.id);
  if (f.attempt != j->attempt) wrong(name(f.id, 0) + " is to end in another attempt");
  if (f.cause == Cause::kTimeLimit) judge_limit(*j);
  if (f.cause == Cause::kBudget) OracleBudgets::judge_stop(*this, *j);
  if (f.cause == Cause::kPreempted) judge_taken(*j), ++calm_.taken, j->last.taken_at = calm_.events;
  drop_claim(f.id);
  unreserve(f.id);
  j->state = JobState::kEnding;
  j->stop = f.cause;
  j->until = f.until_ms;
  if (f.cause == Cause::kBudget) j->overruns = 0;
}

void Oracle::on(const fact::EndRefused& f) {
  const Job* const j = job(f.id);
  if (j->state != JobState::kEnding) wrong(name(f.id, 0) + " may not end though it is not to");
}

void Oracle::on(const fact::AttemptEnded& f) {
  Job* const j = job(f.id);
  if (f.attempt != j->attempt) wrong(name(f.id, 0) + " ended in another attempt");
  for (const Slot& s : std::vector<Slot>(slots_)) {
    if (s.job != f.id) continue;
    if (s.bound) wrong(name(s.job, s.rank) + " is bound though its attempt ended");
    close(s.job, s.rank, now_);
  }
  judge_end(*j, f);
  // A victim that had not begun to run ends without being asked.
  const bool asked = j->stop == Cause::kPreempted;
  if (f.cause == Cause::kPreempted && !asked) j->last.taken_at = calm_.events;
  j->stop = Cause::kNone;
  j->until = f.until_ms;
  j->last.ended = f.cause;
  if (f.to != JobState::kDone) j->started = 0;
  move(*j, f.to);
}

void Oracle::move(Job& j, JobState to) {
  j.state = to;
  if (to != JobState::kQueued) unreserve(j.id), drop_claim(j.id);
  if (to != JobState::kDone) return;
  const JobId id = j.id;
  for (const Slot& s : slots_) {
    if (s.job == id) wrong("an ended job still holds " + name(s.job, s.rank));
  }
  const bool own = j.last.ended == Cause::kFinished || j.last.ended == Cause::kFailed ||
                   j.last.ended == Cause::kCancelled;
  ++done_;
  if (own && is_ours(j) && j.limit != 0 && j.started != 0 && j.started < now_) {
    told_.push_back({kind_of(j), j.overruns > 0, done_});
  }
  std::erase_if(jobs_, [id](const Job& other) { return other.id == id; });
}

void Oracle::open(const Job& j, std::uint32_t rank, const PodSlot& at, bool bound, TimeMs from) {
  if (slot(j.id, rank)) wrong(name(j.id, rank) + " holds twice");
  Slot s;
  s.job = j.id;
  s.rank = rank;
  s.attempt = j.attempt;
  s.leaf = j.leaf;
  s.at = at;
  s.from = s.charged_to = from;
  s.bound = bound;
  s.ours = !bound;
  slots_.push_back(s);
  begin_use(j.leaf, at.milligpu, from, j.id, rank);
}

void Oracle::begin_use(AccountId leaf, MilliGpu rate, TimeMs from, JobId id, std::uint32_t rank) {
  uses_.push_back({leaf, rate, from, -1, id, rank, calm_.meter_edits.size()});
  if (rate != 0) changed(leaf, from);
}

void Oracle::end_use(JobId id, std::uint32_t rank, TimeMs at) {
  for (auto use = uses_.rbegin(); use != uses_.rend(); ++use) {
    if (use->to >= 0 || use->job != id || use->rank != rank) continue;
    use->to = at;
    use->edits_to = calm_.meter_edits.size();
    return;
  }
}

void Oracle::close(JobId id, std::uint32_t rank, TimeMs at) {
  Slot* const s = slot(id, rank);
  if (!s) return;
  if (at < s->from || at > now_) wrong(name(id, rank) + " ended outside its life");
  if (s->at.milligpu > 0 && s->charged_to != at) {
    wrong(name(id, rank) + " was charged until " + std::to_string(s->charged_to) + ", ended " +
          std::to_string(at));
  }
  const AccountId leaf = s->leaf;
  const bool counts = s->at.milligpu != 0;
  const TimeMs started = job(id)->started;
  for (Cluster& c : clusters_) {
    if (c.id == id.cluster() && counts && at > started)
      c.held.push_back({s->at.milligpu, at - started});
  }
  end_use(id, rank, at);
  slots_.erase(slots_.begin() + (s - slots_.data()));
  if (counts) changed(leaf, at);
}

void Oracle::on(const fact::PodBound& f) {
  Slot* const s = slot(f.job, f.rank);
  if (!s) return wrong(name(f.job, f.rank) + " was bound without a hold");
  if (s->bound && s->at.node == f.slot.node) wrong(name(f.job, f.rank) + " was bound twice");
  s->bound = true;
  Job* const j = job(f.job);
  if (f.rank < j->pods.size()) j->pods[f.rank].gate = PodGate::kOpen;
  if (s->at == f.slot) return;
  if (s->charged_to != now_ && s->at.milligpu > 0) wrong("a pod moved with its hold uncharged");
  s->at = f.slot;
  s->ours = false;
  s->charged_to = now_;
  const AccountId leaf = s->leaf;
  end_use(f.job, f.rank, now_);
  begin_use(leaf, f.slot.milligpu, now_, f.job, f.rank);
  changed(leaf, now_);
}

void Oracle::on(const fact::PodRunning& f) {
  const Slot* const s = slot(f.job, f.rank);
  const Job* const j = job(f.job);
  if (s == nullptr || j == nullptr) return;
  std::erase_if(
      bars_, [&](const Bar& b) { return b.node == s->at.node && b.shape == shape_of(*j, f.rank); });
}

const PodShape& Oracle::shape_of(const Job& j, std::uint32_t rank) const {
  if (j.origin != JobOrigin::kApi && rank < j.pods.size()) return j.pods[rank].shape;
  std::size_t group = 0;
  while (rank >= j.request.groups[group].count) rank -= j.request.groups[group++].count;
  return j.request.groups[group].shape;
}

void Oracle::on(const fact::PlaceLost& f) {
  Slot* const s = slot(f.job, f.rank);
  if (!s || s->bound) return wrong(name(f.job, f.rank) + " lost a place that it did not wait for");
  close(f.job, f.rank, now_);
}

void Oracle::on(const fact::Charged& f) {
  const LedgerRow& r = f.row;
  rows_.push_back(r);
  if (r.corrects != 0) return;  // scenarios and the engine's tests check those
  Slot* const s = slot(r.allocation.job, r.allocation.rank);
  const std::string what = name(r.allocation.job, r.allocation.rank);
  if (!s) return wrong(what + " was charged for nothing");
  if (r.from_ms != s->charged_to || r.to_ms <= r.from_ms || r.to_ms > now_) {
    wrong(what + " has a gap or overlap in its rows");
  }
  if (r.milligpu != s->at.milligpu || r.node != s->at.node || r.holder != s->leaf) {
    wrong(what + " was charged for something else");
  }
  const bool ours = r.state == UsageState::kHeldUnbound || r.state == UsageState::kLost;
  const bool system = s->leaf == kUnassigned && in_system_namespace(*job(r.allocation.job));
  if (r.payer != (ours || system ? kPlatform : s->leaf))
    wrong(what + " was charged to the wrong payer");
  if ((r.to_ms - 1) / kDayMs != r.from_ms / kDayMs) wrong(what + " has a row of two days");
  s->charged_to = r.to_ms;
}

}  // namespace subak::sim
