// Why a job waits: all reasons that apply now, and the walk that ranks it.
#include "engine/derive/reasons.h"

#include <algorithm>
#include <set>
#include <utility>

#include "accounting/quota/entitlement.h"
#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/names.h"
#include "engine/derive/claims.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/gang_reasons.h"
#include "engine/derive/order.h"
#include "engine/derive/reservations.h"
#include "engine/derive/rows.h"
#include "engine/state/planned_end.h"

namespace subak::derive {

Reason make_reason(ReasonToken token, std::string subject, std::string detail) {
  Reason r;
  r.token = token;
  r.subject = std::move(subject);
  r.detail = std::move(detail);
  return r;
}

namespace {

// The scheduler's refusals of the job on the nodes of its holds, and the time of the next try.
Reason scheduler_refused(const State& s, const state::Job& job) {
  Reason r = make_reason(ReasonToken::kUnschedulable, "", "");
  TimeMs again_ms = job.is_backed_off() ? job.until_ms : 0;
  std::string names;
  const std::vector<state::RefusedNode> refused = s.node_backoff().nodes_of(job.id);
  for (const state::RefusedNode& node : refused) {
    const bool first = node.backed_off && !job.is_backed_off();
    if (first) again_ms = again_ms == 0 ? node.until_ms : std::min(again_ms, node.until_ms);
    if (r.blockers.size() == limits::kMaxBlockers) continue;
    must(s.fleet().node(node.node) != nullptr, "a backoff is of a node of the fleet");
    r.blockers.push_back(s.fleet().node(node.node)->name);
    names += (names.empty() ? " to " : ", ") + r.blockers.back();
  }
  if (refused.size() > r.blockers.size()) {
    names += " and " + std::to_string(refused.size() - r.blockers.size()) + " more";
  }
  if (!r.blockers.empty()) r.subject = r.blockers.front();
  r.detail = "the cluster's scheduler finds no way" + names;
  if (job.extras().backoff != nullptr) r.detail += ": " + job.extras().backoff->words;
  if (job.state == JobState::kIncomplete) {
    r.detail += "; its pods are created again";
    again_ms = job.backed_off_until(s.now());
  }
  if (again_ms > s.now()) r.detail += "; it is tried again at " + format_time(again_ms);
  return r;
}

// The attempt that was not Ready in time, and when the job is queued again.
Reason was_not_ready(const State& s, const state::Job& job) {
  const state::ReadyTimeout& last = *job.extras().unready;
  Reason r = make_reason(ReasonToken::kOnHold, text::job_id_text(job.id), "");
  r.detail = "its pods were not Ready in time";
  if (last.times > 1) r.detail += ", " + std::to_string(last.times) + " times in a row";
  r.detail += ": " + last.words;
  if (last.until_ms > s.now()) r.detail += "; it is queued again at " + format_time(last.until_ms);
  return r;
}

// Adds every rule of its accounts that applies now, nearest first.
void explain_entitlement(const State& s, const state::Job& job, std::vector<Reason>& out) {
  if (job.leaf == kUnassigned) return;
  const ProductDemand demand{state::only_product(s.fleet(), state::request_of(s.fleet(), job)),
                             state::least_milligpu(s.fleet(), job)};
  const Demand all{job.leaf, {&demand, 1}, state::job_demand(s, job)};
  for (const Binding& b : bindings(s.tree(), all, Asking::kStart)) {
    out.push_back(explain_rule(s, b));
  }
  const auto first = first_rule(s, job, {&demand, 1}, Asking::kStart);
  if (first && (first->kind == BindingKind::kLend || first->kind == BindingKind::kPromise))
    out.push_back(explain_rule(s, *first));
}

// Adds the rule that refuses the placement that the job would get.
void explain_cost(const State& s, const Places& places, const ReservedNodes& reserved,
                  const state::Job& job, std::vector<Reason>& out) {
  must(out.empty(), "a rule refuses a placement that exists");
  const EntitledPlace found = find_entitled(s, places.search, reserved, job);
  if (!found.placement && found.blocked_by_rule)
    out.push_back(explain_rule(s, *found.blocked_by_rule));
  if (found.refused) out.push_back(scheduler_refused(s, job));
}

// The nodes that rejected a pod of this shape, and the time of the next try.
std::string turned_away(const State& s, const state::Job& job) {
  constexpr std::size_t kMostNodes = 8;
  must(bool(job.shape), "a job whose nodes are backed off has one request");
  const GangRequest& request = s.fleet().request(job.shape);
  std::string text;
  std::size_t shown = 0;
  for (const auto& [node, backoffs] : s.node_backoff().all()) {
    for (const fact::NodeBackedOff& backoff : backoffs) {
      const bool mine = backoff.barred && !backoff.any_pod &&
                        s.fleet().cluster_of(node) == job.id.cluster() &&
                        std::any_of(request.groups.begin(), request.groups.end(),
                                    [&](const PodGroup& g) { return g.shape == backoff.shape; });
      if (!mine || shown == kMostNodes) continue;
      ++shown;
      text += "; " + s.fleet().node(node)->name + " rejected such a pod " +
              (backoff.times == 1 ? "once" : std::to_string(backoff.times) + " times in a row") +
              " and is tried again at " + format_time(backoff.until_ms);
      if (!backoff.rejection.error.empty())
        text += " (" + explain_rejection(backoff.rejection) + ")";
    }
  }
  return text;
}

Reason starts_next() { return make_reason(ReasonToken::kNext, "", "the next pass starts it"); }

// The reason of a job that fits and lacks only its turn. The next pass starts it, or an earlier job
// takes the GPUs. If that is not known, only the first in the order is reported as pending.
Reason of_order(const Places& places, const state::Job& job, std::size_t position) {
  const bool queued = job.state == JobState::kQueued;
  const auto next = queued && places.starts_next ? places.starts_next(job.id) : std::nullopt;
  if (next && *next) return starts_next();
  const bool place_unknown = position == 0 && queued;
  if (!next && position <= 1 && !place_unknown) {
    return make_reason(ReasonToken::kPendingEvaluation, "", "it fits: the next pass looks at it");
  }
  Reason r = make_reason(ReasonToken::kOutranked, "",
                         "it fits, and others come first in the fair-share order");
  r.have = static_cast<std::int64_t>(position);
  return r;
}

// The nodes that a pass would not give to the job: nodes reserved for other jobs, unless it ends
// before they are needed. A job within its quota, with the placement that it would get, may use
// nodes reserved for jobs beyond their quota.
ReservedUntil kept_from(const State& s, const Places& places, const state::Job& job) {
  ReservedUntil reserved(s, ReservedUntil::Part::kInUse);
  const TimeMs end_ms = state::sure_end(s, job);
  const bool may = job.shape && !reserved.beside_drains(end_ms).empty() &&
                   s.policy().order == OrderPolicy::kTargetShare && is_within_quota(s, job);
  if (!may) return reserved;
  ReservedUntil firm(s, ReservedUntil::Part::kFirm);
  const EntitledPlace found = find_entitled(s, places.search, firm.beside_drains(end_ms), job);
  if (!found.placement) return firm;
  return is_within_quota(s, job.leaf, amounts_of(s, *found.placement)) ? firm : reserved;
}

// Returns a reason if the job fits only on nodes that are drained before it would end.
std::optional<Reason> drained_too_soon(const State& s, const Places& places, const state::Job& job,
                                       ReservedUntil& reserved) {
  const TimeMs end_ms = state::sure_end(s, job);
  const auto& drains = s.nodes().planned_drains();
  if (drains.empty() || drains.begin()->first >= end_ms) return std::nullopt;
  const FleetView fleet_view(s.fleet(), reserved.from(end_ms));
  if (places.search.find(fleet_view, job.shape, job.id)) return std::nullopt;
  Reason r = make_reason(ReasonToken::kNodeConditions, s.clusters().at(job.id.cluster()).name, "");
  r.need = state::least_milligpu(s.fleet(), job);
  must(drains.begin()->first < end_ms, "a drain begins before the job ends");
  TimeMs first_ms = 0;
  for (const auto& [from_ms, node] : drains) {
    if (from_ms >= end_ms || s.fleet().cluster_of(node) != job.id.cluster()) continue;
    if (first_ms == 0) first_ms = from_ms;
    if (r.blockers.size() < limits::kMaxBlockers) r.blockers.push_back(s.fleet().node(node)->name);
  }
  r.detail = "a place is free on nodes that are drained, the first at " + format_time(first_ms);
  if (job.time_limit_ms == 0) {
    r.detail += "; the job has no time limit";
  } else if (state::trusts_limit(s, job)) {
    r.detail += "; by its time limit the job may be there longer";
  } else {
    r.detail += "; its time limit is not counted on, as it or jobs like it overran theirs lately";
  }
  return r;
}

// The search says that other jobs have reserved the free GPUs. This corrects the text if the first
// of them is a finishing gang.
void name_finishing_gang(const State& s, Reason& why) {
  if (why.token != ReasonToken::kReservedForOther || why.blockers.empty()) return;
  for (const auto& [id, nodes] : nodes_of_finishing_gangs(s)) {
    if (text::job_id_text(id) != why.blockers.front()) continue;
    why.detail = "the nodes of the finished pods of " + why.blockers.front() +
                 " stay free until its other pods finish, for at most " +
                 format_duration(limits::kGangFinishMs);
  }
}

// Adds the reason of a job that fits. It may fit only on reserved nodes: a pass gives these to jobs
// within their quota only while no other job comes before them.
void explain_order(const State& s, const Places& places, const state::Job& job,
                   std::size_t position, std::vector<Reason>& out) {
  must(out.empty(), "a job that fits lacks only its turn");
  Reason why = of_order(places, job, position);
  if (why.token == ReasonToken::kOutranked) {
    ReservedUntil reserved(s, ReservedUntil::Part::kInUse);
    const FleetView fleet_view(s.fleet(), reserved.beside_drains(state::sure_end(s, job)));
    out = places.search.explain(fleet_view, job.shape, job.id);
    for (Reason& r : out) name_finishing_gang(s, r);
  }
  if (out.empty()) out.push_back(std::move(why));
}

void explain_place(const State& s, const Places& places, const state::Job& job,
                   std::size_t position, std::vector<Reason>& out) {
  const state::Cluster& cluster = s.clusters().at(job.id.cluster());
  if (!cluster.synced) {
    out.push_back(make_reason(ReasonToken::kWaitingForNodes, cluster.name,
                              "the list of cluster " + cluster.name + " is not complete yet"));
    return;
  }
  ReservedUntil reserved = kept_from(s, places, job);
  const FleetView fleet_view(s.fleet(), reserved.beside_drains(state::sure_end(s, job)));
  auto nodes = waits_for_nodes(places, job);
  const std::vector<std::string> pools = places.search.pools_for(job.shape, s.clusters().pools());
  if (!pools.empty()) return out.push_back(nodes ? *std::move(nodes) : waits_for_pools(pools));
  for (Reason& why : places.search.explain(fleet_view, job.shape, job.id)) {
    if (nodes) out.push_back(*std::exchange(nodes, std::nullopt));
    if (why.token == ReasonToken::kNodeConditions) why.detail += turned_away(s, job);
    name_finishing_gang(s, why);
    out.push_back(std::move(why));
  }
  if (out.empty())
    explain_cost(s, places, reserved.beside_drains(state::sure_end(s, job)), job, out);
  if (!out.empty()) return;
  if (auto why = drained_too_soon(s, places, job, reserved)) out.push_back(*std::move(why));
  if (out.empty()) explain_order(s, places, job, position, out);
  must(!out.empty(), "a job that waits has a reason");
}

// Figures of the siblings at one node of the tree. The walk compares only siblings with jobs that
// could start.
struct Siblings {
  double all = 0;                 // shares of all siblings
  double present = 0;             // shares of those that are compared or hold GPUs
  std::vector<AccountId> others;  // siblings that hold GPUs but are not compared
};

Siblings siblings_of(const AccountTree& tree, const ReadyQueue::Level& level) {
  Siblings out;
  std::set<AccountId> compared;
  for (const ReadyQueue::Compared& c : level.compared) {
    compared.insert(c.sibling.id);
    out.present += c.sibling.shares;
  }
  out.all = compared.contains(level.node) ? 1 : 0;  // for its own jobs
  for (const AccountId id : tree.node(level.node).children) {
    const AccountNode& child = tree.node(id);
    must(child.parent == level.node, "siblings have one parent");
    if (child.removed) continue;
    const auto shares = static_cast<double>(child.spec.shares);
    out.all += shares;
    if (compared.contains(id) || child.alloc() == 0) continue;
    out.present += shares;
    out.others.push_back(id);
  }
  return out;
}

RankStep::Entry entry_of(const AccountTree& tree, AccountId id, TimeMs t) {
  RankStep::Entry entry;
  entry.path = tree.node(id).spec.path;
  entry.usage_gpu_seconds = tree.usage(id, t) / GpuTime::kRawPerGpuSecond;
  entry.surplus_gpu_seconds = tree.sort_surplus(id, t) / GpuTime::kRawPerGpuSecond;
  entry.alloc = tree.node(id).alloc();
  entry.quota = tree.node(id).quota_total;
  return entry;
}

// Returns the ranking of the siblings below one account that has these parts of the fleet. Compared
// siblings come first, best first; then those with GPUs but no job that could start. The walk's
// targets are parts of the compared siblings' total, so they are scaled to parts of the fleet.
RankStep step_of(const AccountTree& tree, const ReadyQueue::Level& level, double whole_share,
                 double whole_target, TimeMs t) {
  const Siblings siblings = siblings_of(tree, level);
  const auto part = [](double shares, double of) { return of > 0 ? shares / of : 0; };
  RankStep step;
  step.node = shown_path(tree.node(level.node));
  double compared = 0;
  for (const ReadyQueue::Compared& c : level.compared) compared += c.sibling.shares;
  must(compared <= siblings.present, "siblings that are compared are present");
  for (const ReadyQueue::Compared& c : level.compared) {
    const bool own = c.sibling.id == level.node;
    RankStep::Entry entry = entry_of(tree, c.sibling.id, t);
    if (own) entry.path = step.node + " (itself)";
    if (own) entry.usage_gpu_seconds = c.sibling.usage / GpuTime::kRawPerGpuSecond;
    if (own) entry.surplus_gpu_seconds = c.sibling.surplus / GpuTime::kRawPerGpuSecond;
    entry.shares = whole_share * part(c.sibling.shares, siblings.all);
    entry.target = whole_target * c.target * part(compared, siblings.present);
    entry.alloc = c.sibling.alloc;
    entry.quota = c.sibling.quota;
    entry.next = c.sibling.next;
    step.entries.push_back(std::move(entry));
  }
  for (const AccountId id : siblings.others) {
    RankStep::Entry& entry = step.entries.emplace_back(entry_of(tree, id, t));
    const auto shares = static_cast<double>(tree.node(id).spec.shares);
    entry.shares = whole_share * part(shares, siblings.all);
    entry.target = whole_target * part(shares, siblings.present);
  }
  return step;
}

}  // namespace

std::vector<RankStep> ranking(const State& s, const state::Job& job, TimeMs t) {
  const AccountTree& tree = s.tree();
  const TargetShareRule rule = target_share_rule(s.policy());
  ReadyQueue::Pass pass(s.jobs().ready(), tree, s.policy().order, rule, s.allocations().tick(), t);
  std::vector<AccountId> path;
  for (AccountId a = job.leaf; a; a = tree.node(a).parent) path.push_back(a);
  std::vector<RankStep> steps;
  double share = 1, target = 1;  // the node's parts of the fleet
  for (const ReadyQueue::Level& level : pass.rank(job.id)) {
    RankStep step = step_of(tree, level, share, target, t);
    must(step.entries.size() >= level.compared.size(), "each compared sibling has an entry");
    share = target = 0;
    for (std::size_t i = 0; i < level.compared.size(); ++i) {
      const AccountId id = level.compared[i].sibling.id;
      RankStep::Entry& entry = step.entries[i];
      entry.on_path = id == level.node ? job.leaf == level.node
                                       : std::find(path.begin(), path.end(), id) != path.end();
      if (entry.on_path) share = entry.shares;
      if (entry.on_path) target = entry.target;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

namespace {

// True if the next pass starts the job although something is set aside for others: reserved nodes,
// claimed GPUs, empty NVLink domains, or CPU and memory for free GPUs. These others start too, or
// nothing is set aside for them any more.
bool starts_beside_others(const State& s, const Places& places, const state::Job& job) {
  const bool set_aside = !s.reserved_nodes().empty() || !s.claims().all().empty() ||
                         s.policy().gangs.keep_whole > 0 || s.fleet().gpu_headroom().any();
  if (job.state != JobState::kQueued || !set_aside || !places.starts_next) return false;
  return places.starts_next(job.id).value_or(false);
}

// Why a claimant waits. nullopt: the job claims nothing.
std::optional<Reason> claimant_waits(const State& s, const Places& places, const state::Job& job) {
  const state::Claim* const claim = s.claims().of(job.id);
  if (claim == nullptr) return std::nullopt;
  const auto next = places.starts_next ? places.starts_next(job.id) : std::nullopt;
  return next.value_or(false) ? starts_next() : reason_of_claim(s, *claim);
}

std::vector<Reason> reasons_to_wait(const State& s, const Places& places, const state::Job& job,
                                    std::size_t position) {
  std::vector<Reason> out;
  if (auto claimant = claimant_waits(s, places, job)) return {*std::move(claimant)};
  if (starts_beside_others(s, places, job)) return {starts_next()};
  if (const state::Pod* const pod = job.disputing(); pod != nullptr) {
    out.push_back(make_reason(ReasonToken::kMisconfigured, job.name, pod->dispute));
  }
  if (job.waits() && job.state != JobState::kQueued) {
    std::string unknown = job.unknown_ranks();
    if (!unknown.empty()) {
      out.push_back(make_reason(ReasonToken::kMisconfigured, job.name, std::move(unknown)));
    }
  }
  if (job.awaits_resume()) out.push_back(explain_not_accepted(s, job));
  if (job.state == JobState::kIncomplete) {
    if (job.extras().backoff != nullptr) out.push_back(scheduler_refused(s, job));
    if (job.extras().unready != nullptr && job.backed_off_until(s.now()) != 0)
      out.push_back(was_not_ready(s, job));
    Reason r = explain_incomplete(job);
    if (r.have < r.need || out.empty()) out.push_back(std::move(r));
    return out;
  }
  if (job.awaits_readiness()) return {was_not_ready(s, job)};
  if (job.is_backed_off()) return {scheduler_refused(s, job)};
  if (job.state == JobState::kPaused) {
    out.push_back(make_reason(
        ReasonToken::kOnHold, text::job_id_text(job.id),
        job.until_ms == 0
            ? "the job is paused"
            : "its gates could not be opened; it is tried again at " + format_time(job.until_ms)));
  }
  explain_entitlement(s, job, out);
  if (job.shape) explain_place(s, places, job, position, out);
  std::stable_sort(out.begin(), out.end(), [](const Reason& a, const Reason& b) {
    return rank_of(a.token) < rank_of(b.token);
  });
  return out;
}

}  // namespace

std::vector<Reason> reasons_of(const State& s, const Places& places, const state::Job& job,
                               std::size_t position) {
  std::vector<Reason> out;
  if (job.waits()) out = reasons_to_wait(s, places, job, position);
  if (job.pods_behind() > 0) out.push_back(beyond_gang(job));
  must(!out.empty() || !job.waits(), "a job that waits has a reason");
  return out;
}

Reason first_reason(const State& s, const Places& places, const state::Job& job,
                    std::size_t position) {
  if (!job.waits()) return beyond_gang(job);
  if (auto claimant = claimant_waits(s, places, job)) return *std::move(claimant);
  if (starts_beside_others(s, places, job)) return starts_next();
  std::vector<Reason> rules;
  const bool queued = job.state == JobState::kQueued;
  must(!queued || job.shape, "a queued job has one request");
  if (queued) explain_entitlement(s, job, rules);
  if (!rules.empty()) {
    return *std::min_element(rules.begin(), rules.end(), [](const Reason& a, const Reason& b) {
      return rank_of(a.token) < rank_of(b.token);
    });
  }
  const bool may_fit = queued && s.clusters().at(job.id.cluster()).synced &&
                       places.search.fits_empty_fleet(job.shape);
  // In these cases reasons_of() does not read the nodes, except for a job that the empty fleet
  // could not hold.
  if (!may_fit) return reasons_of(s, places, job, position).front();
  ReservedUntil reserved = kept_from(s, places, job);
  const EntitledPlace found =
      find_entitled(s, places.search, reserved.beside_drains(state::sure_end(s, job)), job);
  if (found.placement) {
    if (auto drained = drained_too_soon(s, places, job, reserved)) return *std::move(drained);
    std::vector<Reason> why;
    explain_order(s, places, job, position, why);
    return why.front();
  }
  if (found.blocked_by_rule) return explain_rule(s, *found.blocked_by_rule);
  if (found.refused) return scheduler_refused(s, job);
  if (auto nodes = waits_for_nodes(places, job)) return *std::move(nodes);
  const PodShape& pod = s.fleet().request(job.shape).groups.front().shape;
  const std::string kind = pod.kind == GpuKind::kMig ? "mig-" + pod.profile
                           : pod.products.empty()    ? kAnyProduct
                                                     : pod.products.front();
  Reason r =
      make_reason(ReasonToken::kWaitingForCapacity, kind, "there is no placement for it now");
  r.need = state::least_milligpu(s.fleet(), job);
  return r;
}

namespace {

void explain_patience(const State& s, const state::Job& job, Explanation& out) {
  const DurationMs patience_ms = patience(s, job.id.cluster());
  if (patience_ms > 0) out.patience_until_ms = job.submit_ms + patience_ms;
  const state::Reservation* const r = s.clusters().reservation_of(job.id);
  if (r == nullptr) return;
  for (const NodeId id : r->nodes) {
    if (const NodeSpec* const node = s.fleet().node(id)) out.reserved_nodes.push_back(node->name);
  }
}

}  // namespace

std::optional<Explanation> explain(const State& s, const Places& places, JobId id, TimeMs t,
                                   std::optional<std::size_t> position) {
  const state::Job* const job = s.jobs().find(id);
  if (job == nullptr) return std::nullopt;
  Explanation out;
  out.job = row(s, *job, true);
  if (!job->waits() && job->pods_behind() == 0) return out;
  if (job->state == JobState::kQueued) {
    if (position) {
      out.position = *position;
    } else {
      out.position = queue_snapshot(s).position(id);
    }
    out.ranking = ranking(s, *job, t);
    explain_patience(s, *job, out);
  }
  out.reasons = reasons_of(s, places, *job, out.position);
  return out;
}

}  // namespace subak::derive
