#include <algorithm>
#include <utility>
#include <variant>

#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/account_edit.h"
#include "sim/history/history.h"
#include "sim/history/history_limits.h"
#include "sim/measures.h"

namespace subak::sim {
namespace {

constexpr char kReason[] = "history";

std::unique_ptr<Engine> copy_of(const Engine& engine) {
  auto copy = std::make_unique<Engine>();
  if (engine.seq() == 0) return copy;
  engine.checkpoint([&](const Fact& fact) { copy->evolve(fact); });
  copy->set_seq(engine.seq());
  return copy;
}

bool has_usage(const Engine& engine) {
  return engine.accounts().node(kRootAccount).meters.state().usage_total != GpuTime();
}

// A text that is equal for equal requests.
std::string text_of(const GangRequest& request) {
  in::SubmitJob submit;
  submit.request = request;
  return input_to_text({0, "", "", std::move(submit)});
}

const std::string& node_name(const Engine& engine, NodeId id) {
  return engine.fleet().node(id)->name;
}

}  // namespace

HistoryReader::HistoryReader(const Engine& before, TimeMs from_ms) : witness_(copy_of(before)) {
  out_.start = start_state(before);
  out_.start_policy = before.policy();
  out_.start_policy.fair_share.change = {};
  out_.workload.from_ms = from_ms;
  out_.workload.clusters.clear();
  const auto view = before.view();
  for (const ClusterView& cluster : *view->clusters) {
    known_clusters_.emplace(cluster.id, cluster.name);
  }
  add_known();
}

HistoryReader::~HistoryReader() = default;

void HistoryReader::add_known() {
  const auto engine = engine_of(out_.start);
  const TimeMs from_ms = out_.workload.from_ms;
  for (const JobRow& row : engine->jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone || row.origin != JobOrigin::kApi) continue;
    const std::uint32_t index = add_job(row, row.submit_ms);
    SimJob& job = out_.workload.jobs[index];
    job.past.known = row.id;
    job.past.after_pass = job.past.held = false;
    step(from_ms, index, Step::Kind::kSubmitted);
    if (is_waiting(row.state)) continue;
    job.warm = true;
    job.before_ms = from_ms - row.started_ms;
    live_[index].started_ms = row.started_ms;
    step(from_ms, index, Step::Kind::kStarted);
  }
}

std::uint32_t HistoryReader::add_job(const JobRow& row, TimeMs submit_ms) {
  const auto index = static_cast<std::uint32_t>(out_.workload.jobs.size());
  SimJob& job = out_.workload.jobs.emplace_back();
  job.name = row.name;
  job.user = row.user;
  job.team = team_of(row.account);
  job.submit_ms = submit_ms;
  job.milligpu = row.milligpu;
  job.request = request_of(row.request);
  job.time_limit_ms = row.time_limit_ms;
  job.past.cluster = cluster_of(row.cluster);
  job.past.priority_class = row.priority_class;
  if (row.priority_class.empty()) {
    const Policy& policy = witness_->policy();
    const PriorityClass* const named = class_with(policy, row.priority, row.account);
    if (policy.priority_classes.empty()) job.past.priority = row.priority;
    if (named != nullptr) job.past.priority_class = named->name;
  }
  job.past.grace_ms = row.grace_ms;
  job.past.held = row.state == JobState::kPaused && row.until_ms == 0;
  job.past.after_pass = started_since_ms_ == submit_ms;
  started_since_ms_ = -1;
  live_.emplace_back();
  by_id_[row.id] = index;
  return index;
}

std::uint32_t HistoryReader::team_of(const std::string& account) {
  const auto [at, is_new] =
      teams_.emplace(account, static_cast<std::uint32_t>(out_.workload.teams.size()));
  if (is_new) {
    const AccountSpec& spec = witness_->accounts().node(witness_->accounts().find(account)).spec;
    Team& team = out_.workload.teams.emplace_back();
    team.name = team.account = account;
    team.shares = spec.shares;
    for (const auto& amount : spec.quota) {
      if (amount.product == kAnyProduct) team.quota = amount.milligpu;
    }
  }
  return at->second;
}

std::uint32_t HistoryReader::request_of(const GangRequest& request) {
  const auto [at, is_new] = requests_.emplace(
      text_of(request), static_cast<std::uint32_t>(out_.workload.requests.size()));
  if (is_new) out_.workload.requests.push_back(request);
  return at->second;
}

std::uint32_t HistoryReader::cluster_of(const std::string& name) {
  const auto [at, is_new] =
      clusters_.emplace(name, static_cast<std::uint32_t>(out_.workload.clusters.size()));
  if (is_new) out_.workload.clusters.push_back(name);
  return at->second;
}

std::optional<std::uint32_t> HistoryReader::index_of(JobId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? std::nullopt : std::optional(found->second);
}

bool HistoryReader::is_other(JobId id) const {
  const auto row = witness_->job(id, false);
  return row && (row->origin == JobOrigin::kForeign || row->origin == JobOrigin::kAdopted);
}

void HistoryReader::edit(TimeMs t, in::Body body, std::uint32_t job) {
  out_.workload.edits.push_back({t, std::move(body), job});
}

std::optional<Error> HistoryReader::add(const Fact& fact) {
  before(fact);
  witness_->evolve(fact);
  after(fact);
  if (out_.workload.jobs.size() > limits::kMaxHistoryJobs) {
    return Error{ErrorCode::kExhausted, "from", format_time(out_.workload.from_ms),
                 "want a later time: the window may have at most " +
                     std::to_string(limits::kMaxHistoryJobs) + " jobs"};
  }
  return error_;
}

void HistoryReader::before(const Fact& fact) {
  const TimeMs t = fact.time_ms;
  if (const auto* const gone = std::get_if<fact::PodGone>(&fact.body)) {
    if (!is_other(gone->job)) return;
    const auto row = witness_->job(gone->job, true);
    const std::string cluster = witness_->cluster_name(gone->job.cluster());
    edit(t, in::PodGone{cluster, {row->pods.at(gone->rank).uid, {}, 0, 0}, 0, gone->cause, {}});
  } else if (const auto* const removed = std::get_if<fact::NodeRemoved>(&fact.body)) {
    const std::string cluster = witness_->cluster_name(witness_->fleet().cluster_of(removed->id));
    edit(t, in::NodeGone{cluster, node_name(*witness_, removed->id), 0});
  } else if (const auto* const set = std::get_if<fact::NodeSet>(&fact.body)) {
    const bool is_known = witness_->fleet().node(set->id) != nullptr;
    drain_before_ = is_known ? witness_->drain_of(set->id) : NodeDrain();
  } else if (const auto* const deleted = std::get_if<fact::AccountDeleted>(&fact.body)) {
    in::AccountChange change;
    change.spec.path = witness_->accounts().node(deleted->id).spec.path;
    change.remove = true;
    edit_account(t, std::move(change), deleted->edit.following > 0, false);
  } else if (const auto* const policy = std::get_if<fact::PolicySet>(&fact.body)) {
    Policy wanted = policy->policy;
    wanted.fair_share.change = {};
    if (wanted.half_life_ms != witness_->policy().half_life_ms && has_usage(*witness_)) {
      error_ =
          Error{ErrorCode::kPrecondition, "from", format_time(out_.workload.from_ms),
                "want a time after " + format_time(t) + ": the half-life of usage changed then"};
    }
    in::SetPolicy out{std::move(wanted), {}};
    out.edit.reason = kReason;
    edit(t, std::move(out));
  }
}

void HistoryReader::after(const Fact& fact) {
  const TimeMs t = fact.time_ms;
  std::visit(
      [this, t](const auto& f) {
        using F = std::decay_t<decltype(f)>;
        if constexpr (requires { this->on(f, t); }) {
          on(f, t);
        } else if constexpr (std::is_same_v<F, fact::ClusterRemoved>) {
          const auto known = known_clusters_.find(f.id);
          if (known == known_clusters_.end()) return;
          edit(t, in::DeleteCluster{known->second, kReason});
          known_clusters_.erase(known);
        } else if constexpr (std::is_same_v<F, fact::NamespaceLabelled>) {
          edit(t, in::NamespaceSeen{witness_->cluster_name(f.cluster), f.ns, f.account});
        } else if constexpr (std::is_same_v<F, fact::AccountMoved>) {
          if (!f.from) return;  // it moves along with the account of an earlier fact
          in::MoveAccount move;
          move.path = f.was;
          move.to = f.spec.path;
          move.reason = kReason;
          move.override_managed = true;
          edit(t, std::move(move));
        } else if constexpr (std::is_same_v<F, fact::CivilEndsSet>) {
          edit(t, in::TellCivilEnds{f.ends});
        } else if constexpr (std::is_same_v<F, fact::Finalized>) {
          edit(t, in::Finalize{f.version, kReason, false});
        }
      },
      static_cast<const fact::Kinds&>(fact.body));
}

void HistoryReader::waits(JobId id, TimeMs t) {
  const auto row = witness_->job(id, false);
  if (index_of(id) || is_other(id) || row->account.empty()) return;
  step(t, add_job(*row, t), Step::Kind::kSubmitted);
}

void HistoryReader::on(const fact::JobCreated& f, TimeMs t) {
  const bool waits_now = f.state == JobState::kQueued || f.state == JobState::kPaused;
  if (waits_now) waits(f.id, t);
}

void HistoryReader::on(const fact::PodAdded& f, TimeMs t) {
  if (!f.bound || !is_other(f.job)) return;
  const auto row = witness_->job(f.job, false);
  in::PodSeen seen;
  seen.cluster = witness_->cluster_name(f.job.cluster());
  const std::size_t slash = f.name.find('/');
  seen.pod.uid = f.uid;
  seen.pod.ns = f.name.substr(0, slash);
  seen.pod.name = slash == std::string::npos ? f.name : f.name.substr(slash + 1);
  seen.pod.account = row->account;
  seen.pod.user = row->user;
  seen.pod.shape = f.shape;
  seen.pod.controlled = f.controlled;
  seen.pod.node = node_name(*witness_, f.slot.node);
  seen.pod.running = true;
  ++out_.other_pods;
  edit(t, std::move(seen));
}

void HistoryReader::on(const fact::JobMoved& f, TimeMs t) {
  const auto index = index_of(f.id);
  if (f.to == JobState::kQueued || f.to == JobState::kPaused) {
    if (!index) return waits(f.id, t);
    if (f.edit == EditStamp()) return;  // Subak pauses jobs too, for a time
    return edit(t, in::HoldJob{JobId(), f.to == JobState::kPaused, kReason}, *index);
  }
  if (f.to != JobState::kDone || !index) return;
  live_[*index].ended = true;
  edit(t, in::CancelJob{JobId(), kReason}, *index);
  step(t, *index, Step::Kind::kCancelled);
}

void HistoryReader::on(const fact::AttemptStarted& f, TimeMs t) {
  waits(f.id, t);
  const auto index = index_of(f.id);
  if (!index) return;
  live_[*index].started_ms = t;
  started_since_ms_ = t;
  step(t, *index, Step::Kind::kStarted);
}

void HistoryReader::on(const fact::AttemptEnded& f, TimeMs t) {
  const auto index = index_of(f.id);
  if (!index) return;
  Live& live = live_[*index];
  if (live.started_ms >= 0) live.ran_ms = t - live.started_ms;
  live.started_ms = -1;
  live.ended = f.to == JobState::kDone;
  step(t, *index, live.ended ? Step::Kind::kEnded : Step::Kind::kAgain);
}

void HistoryReader::on(const fact::ClusterSet& f, TimeMs t) {
  in::SetCluster set;
  set.name = f.name;
  set.mode = f.mode;
  set.namespaces = f.namespaces;
  set.reason = kReason;
  edit(t, std::move(set));
  if (!known_clusters_.emplace(f.id, f.name).second) return;
  edit(t, in::ListBegin{f.name, "", ""});
  edit(t, in::ListComplete{f.name});
}

void HistoryReader::on(const fact::NodeSet& f, TimeMs t) {
  const std::string cluster = witness_->cluster_name(f.cluster);
  edit(t, in::NodeSeen{cluster, f.spec});
  const bool is_same = f.drained == drain_before_.drained &&
                       f.drain_from_ms == drain_before_.from_ms &&
                       f.drain_until_ms == drain_before_.until_ms;
  if (is_same) return;
  const bool drains = f.drained || f.drain_from_ms != 0;
  edit(t, in::DrainNode{cluster, f.spec.name, drains, kReason, f.drain_from_ms,
                        drains ? f.drain_until_ms : 0});
}

void HistoryReader::on(const fact::AccountSet& f, TimeMs t) {
  if (f.spec.user && f.edit.reason == decide::kFirstUse) return;  // a submission makes the user
  in::AccountChange change;
  change.spec = f.spec;
  edit_account(t, std::move(change), f.edit.following > 0, f.retroactive);
}

// The facts of one edit of several accounts come one after the other.
void HistoryReader::edit_account(TimeMs t, in::AccountChange change, bool more, bool retroactive) {
  in::ApplyAccounts& batch = accounts_;
  batch.retroactive = batch.retroactive || retroactive;
  batch.changes.push_back(std::move(change));
  if (more) return;
  batch.reason = kReason;
  batch.override_managed = true;
  edit(t, std::exchange(batch, {}));
}

void HistoryReader::set_run_times(TimeMs to_ms) {
  const RunTimes predicted = witness_->forecast_basis(to_ms).run_times;
  for (const auto& [id, index] : by_id_) {
    SimJob& job = out_.workload.jobs[index];
    const Live& live = live_[index];
    const auto guess = predicted.find(id);
    DurationMs run_ms = job.time_limit_ms > 0 ? job.time_limit_ms : limits::kGuessedRunMs;
    if (live.ended && live.ran_ms >= 0) {
      run_ms = live.ran_ms;
    } else if (!live.ended && guess != predicted.end()) {
      run_ms = guess->second.ms;
    }
    if (live.started_ms >= 0) run_ms = std::max(run_ms, to_ms - live.started_ms);
    job.duration_ms = std::max<DurationMs>(1, run_ms - job.before_ms);
  }
}

void HistoryReader::measure(History& out) const {
  Measures measures(out.workload);
  for (const Step& s : steps_) {
    const JobId id;
    switch (s.kind) {
      case Step::Kind::kSubmitted:
        measures.submitted(s.job, id, s.at_ms);
        break;
      case Step::Kind::kStarted:
        measures.started(s.job, s.at_ms, {});
        break;
      case Step::Kind::kAgain:
        measures.preempted(s.job, id, s.at_ms, 0);
        break;
      case Step::Kind::kEnded:
        measures.ended(s.job, s.at_ms);
        break;
      case Step::Kind::kCancelled:
        measures.cancelled(s.job, s.at_ms);
        break;
    }
  }
  out.fates = measures.fates();
  out.result = measures.result();
}

History HistoryReader::finish(TimeMs to_ms) {
  must(to_ms > out_.workload.from_ms && to_ms > witness_->now(), "a window ends after its facts");
  out_.workload.to_ms = to_ms;
  set_run_times(to_ms);
  out_.workload.capacity = mean_capacity(out_.start, out_.workload);
  measure(out_);
  out_.end = start_state(*witness_);
  out_.end_policy = witness_->policy();
  out_.end_policy.fair_share.change = {};
  return std::move(out_);
}

MilliGpu mean_capacity(const StartState& start, const Workload& workload) {
  std::map<std::string, MilliGpu> nodes;
  std::map<ClusterId, std::string> clusters;
  MilliGpu level = 0;
  double sum = 0;
  TimeMs since_ms = workload.from_ms;
  const auto set = [&](const std::string& cluster, const std::string& node, MilliGpu milligpu) {
    MilliGpu& now = nodes[cluster + "/" + node];
    level += milligpu - std::exchange(now, milligpu);
  };
  for (const Fact& fact : start.facts) {
    if (const auto* f = std::get_if<fact::ClusterSet>(&fact.body)) clusters[f->id] = f->name;
    if (const auto* f = std::get_if<fact::NodeSet>(&fact.body)) {
      set(clusters[f->cluster], f->spec.name, f->spec.gpus * kMilliPerGpu);
    }
  }
  const auto advance = [&](TimeMs t) {
    sum += static_cast<double>(level) * static_cast<double>(t - since_ms);
    since_ms = t;
  };
  for (const Edit& e : workload.edits) {
    advance(std::clamp(e.at_ms, since_ms, workload.to_ms));
    if (const auto* seen = std::get_if<in::NodeSeen>(&e.body)) {
      set(seen->cluster, seen->node.name, seen->node.gpus * kMilliPerGpu);
    } else if (const auto* gone = std::get_if<in::NodeGone>(&e.body)) {
      set(gone->cluster, gone->node, 0);
    }
  }
  advance(workload.to_ms);
  const auto mean = sum / static_cast<double>(workload.to_ms - workload.from_ms);
  return std::max<MilliGpu>(1, static_cast<MilliGpu>(mean));
}

}  // namespace subak::sim
