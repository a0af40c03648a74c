// The engine's contract, on top of its three layers: state/ holds the state, decide/ makes
// decisions, derive/ computes from the state.
#include "engine/engine.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/account_path.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/decide/requested.h"
#include "engine/derive/claims.h"
#include "engine/derive/deadlines.h"
#include "engine/derive/effects.h"
#include "engine/derive/order.h"
#include "engine/derive/reasons.h"
#include "engine/derive/reservations.h"
#include "engine/derive/rows.h"
#include "engine/derive/survey.h"
#include "engine/derive/views.h"
#include "engine/forecast/dry_run.h"
#include "engine/forecast/run_times.h"
#include "engine/forecast/shadow_queue.h"
#include "engine/map/fleet_map.h"
#include "engine/plan/plan.h"
#include "engine/state/observed/observed.h"
#include "engine/state/snapshot.h"
#include "engine/state/state.h"
#include "engine/state/state_copy.h"

namespace subak {

struct Engine::Impl {
  derive::Places places(const Growth* growth = nullptr) const {
    return {search, [this](JobId id) { return starts_next(id); }, growth};
  }

  std::optional<bool> starts_next(JobId id) const {
    if (dry_run.seq != state.seq() || dry_run.at_ms != state.now()) {
      dry_run = {state.seq(), state.now(), decide::dry_run_pass(state)};
    }
    if (!dry_run.starts) return std::nullopt;
    return dry_run.starts->contains(id);
  }

  struct DryRun {
    std::uint64_t seq = UINT64_MAX;
    TimeMs at_ms = 0;
    std::optional<std::set<JobId>> starts;
  };

  // The shadow queue of the engine, cached until something changes.
  struct Imagined {
    TimeMs at_ms = 0;
    std::vector<std::shared_ptr<const UnmanagedPodList>> unmanaged_pods;
    std::unique_ptr<decide::ShadowQueue> shadow;
  };
  decide::ShadowQueue* shadow_queue(const View& view) const {
    std::vector<std::shared_ptr<const UnmanagedPodList>> unmanaged_pods;
    if (view.clusters) {
      for (const ClusterView& cluster : *view.clusters)
        unmanaged_pods.push_back(cluster.unmanaged_pods);
    }
    const bool same = imagined.at_ms == view.time_ms && imagined.unmanaged_pods == unmanaged_pods;
    if (!imagined.shadow || !same) {
      imagined.shadow.reset();
      imagined = {view.time_ms, std::move(unmanaged_pods), decide::ShadowQueue::make(state, view)};
    }
    return imagined.shadow.get();
  }

  State state;
  Observed observed;                     // no part of the state: empty after a restart
  std::optional<state::StateCopy> copy;  // in progress
  CopyFor copy_for = CopyFor::kCheckpoint;
  decide::PassMemory pass;
  mutable Search search{state.fleet()};  // has a cache, which never changes an answer
  mutable derive::ViewMemo views;
  mutable DryRun dry_run;
  mutable Imagined imagined;
};

Engine::Engine() : impl_(std::make_unique<Impl>()) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

ApplyOutcome Engine::apply(const Input& input) {
  must(input.time_ms >= now(), "the shell stamps a time that never goes backwards");
  impl_->imagined.shadow.reset();
  return decide::apply(impl_->state, impl_->observed, impl_->search, impl_->pass, input);
}

void Engine::evolve(const Fact& fact) {
  impl_->imagined.shadow.reset();
  impl_->state.apply(fact);
  impl_->observed.apply(fact);
}
void Engine::set_seq(std::uint64_t seq) { impl_->state.set_seq(seq); }
std::uint64_t Engine::seq() const { return impl_->state.seq(); }
TimeMs Engine::now() const { return impl_->state.now(); }
bool Engine::pass_due() const { return impl_->state.pass_due().now; }

std::optional<TimeMs> Engine::next_deadline() const { return derive::next_deadline(impl_->state); }

// --- the state as facts --------------------------------------------------------------------------

std::vector<Fact> Engine::checkpoint() const {
  std::vector<Fact> out;
  checkpoint([&out](const Fact& fact) { out.push_back(fact); });
  return out;
}

// Each fact of the checkpoint has the number 0 and the time of the state.
void Engine::checkpoint(const std::function<void(const Fact&)>& each) const {
  const State& s = impl_->state;
  state::snapshot(s, [&](fact::Body body) { each({0, s.fact_ms(), std::move(body)}); });
}

std::array<std::uint64_t, 2> Engine::digest() const {
  // FNV-1a in two lanes over the canonical text of the checkpoint. The digest serves for
  // comparisons only: it is no signature.
  std::array<std::uint64_t, 2> h{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  checkpoint([&h](const Fact& fact) {
    for (char c : fact_to_text(fact)) {
      const auto byte = static_cast<unsigned char>(c);
      h[0] = (h[0] ^ byte) * 0x100000001b3ULL;
      h[1] = (h[1] ^ byte ^ (h[0] >> 32)) * 0x100000001b3ULL;
    }
    h[1] ^= h[0];
  });
  return h;
}

void Engine::check_invariants() const {
  impl_->state.check();
  impl_->observed.check(impl_->state.clusters());
  impl_->search.check_invariants();
  must(residual_of(bill(now())).is_zero(), "the bill closes");
}

// --- reads ---------------------------------------------------------------------------------------

ClusterId Engine::find_cluster(std::string_view name) const {
  const state::Cluster* const c = impl_->state.clusters().find(name);
  return c == nullptr ? ClusterId() : c->id;
}

std::string Engine::cluster_name(ClusterId id) const {
  const auto& all = impl_->state.clusters().all();
  const auto it = all.find(id);
  return it == all.end() ? std::string() : it->second.name;
}

const Policy& Engine::policy() const { return impl_->state.policy(); }
const AccountTree& Engine::accounts() const { return impl_->state.tree(); }
const Fleet& Engine::fleet() const { return impl_->state.fleet(); }
NodeDrain Engine::drain_of(NodeId id) const {
  const state::DrainTimes times = impl_->state.nodes().drain_times(id);
  return {fleet().drained(id), times.from_ms, times.until_ms};
}
const Ledger& Engine::ledger() const { return impl_->state.ledger(); }
std::size_t Engine::count(JobState state) const { return impl_->state.jobs().sets().count(state); }
std::size_t Engine::live_size() const { return decide::live_size(impl_->state); }

std::vector<Effect> Engine::outstanding(ClusterId cluster) const {
  return derive::outstanding(impl_->state, cluster);
}
std::shared_ptr<const View> Engine::view() const {
  return derive::view(impl_->state, impl_->observed, impl_->views);
}
std::size_t Engine::filters() const { return impl_->search.filters(); }
MilliGpu Engine::reserved_idle(ClusterId cluster) const {
  return derive::reserved_idle(impl_->state, cluster);
}
MigPlan Engine::mig_plan(ClusterId cluster) const {
  return derive::mig_plan(impl_->state, cluster);
}
Survey Engine::survey(const Growth* growth) const {
  return derive::survey(impl_->state, impl_->places(growth));
}
std::vector<AccountRow> Engine::account_rows(TimeMs t) const {
  return derive::account_rows(impl_->state, t);
}
std::vector<OpenUsage> Engine::open_usage() const { return derive::open_usage(impl_->state); }
std::vector<NodeBill> Engine::bill(TimeMs t) const { return derive::bill(impl_->state, t); }

std::optional<JobRow> Engine::job(JobId id, bool with_pods) const {
  const state::Job* const job = impl_->state.jobs().find(id);
  if (job == nullptr) return std::nullopt;
  return derive::row(impl_->state, *job, with_pods);
}

std::vector<JobRow> Engine::jobs(JobId after, std::size_t most, std::optional<JobState> state,
                                 std::string_view account, std::string_view user) const {
  return derive::jobs(impl_->state, after, most, state, account, user);
}

std::vector<JobId> Engine::queue_order(std::size_t most, const OrderAsIf& as_if) const {
  return derive::queue_order(impl_->state, as_if, now(), most);
}

QueueSnapshot Engine::queue_snapshot() const { return derive::queue_snapshot(impl_->state); }
void Engine::copy_queue(QueueCopy& into) const { derive::copy_queue(impl_->state, into); }

FleetPlan Engine::plan(const PlanAsked& asked, const Forecast& forecast, TimeMs t) const {
  return derive::plan(impl_->state, asked, forecast, t);
}

FleetMap Engine::fleet_map(ClusterId cluster) const {
  return derive::fleet_map(impl_->state, cluster);
}

namespace {

// Ticks are not facts: in a forecast the exact rule replaces them.
void replace_ticks(Fact& fact) {
  auto* const set = std::get_if<fact::PolicySet>(&fact.body);
  if (set != nullptr && set->policy.order == OrderPolicy::kUsageTick) {
    set->policy.order = OrderPolicy::kExact;
  }
}

}  // namespace

ForecastBasis Engine::forecast_basis(TimeMs t) const {
  const State& s = impl_->state;
  ForecastBasis out{s.seq(), t, {}, derive::run_times(s, derive::ended_runs(s), t), {}};
  out.facts.reserve(decide::live_size(s) + 2 * s.tree().next_id().value);  // nearly all of them
  state::snapshot(
      s,
      [&](fact::Body&& body) {
        out.facts.push_back({0, s.fact_ms(), std::move(body)});
        replace_ticks(out.facts.back());
      },
      state::SnapshotParts::kToLookAhead);
  return out;
}

ForecastBasis Engine::begin_copy(CopyFor what, TimeMs t) {
  State& s = impl_->state;
  impl_->copy_for = what;
  if (what == CopyFor::kCheckpoint) {
    impl_->copy.emplace(s, state::SnapshotParts::kAll);
    return {s.seq(), t, {}, {}, {}};
  }
  impl_->copy.emplace(s, state::SnapshotParts::kToLookAhead);
  return {s.seq(), t, {}, {}, derive::ended_runs(s)};
}

bool Engine::copy_slice(std::size_t most, const std::function<void(Fact&&)>& sink) {
  must(impl_->copy.has_value(), "a copy is in progress");
  const bool complete = impl_->copy->pass(impl_->state, most, [&](Fact&& fact) {
    if (impl_->copy_for == CopyFor::kForecast) replace_ticks(fact);
    sink(std::move(fact));
  });
  if (complete) impl_->copy.reset();
  return complete;
}

std::vector<JobRow> Engine::queue(std::size_t most) const {
  const State& s = impl_->state;
  std::vector<JobRow> out;
  for (JobId id : queue_order(most)) out.push_back(derive::row(s, s.jobs().at(id), false));
  return out;
}

bool Engine::is_queued_below(JobId id, std::string_view account) const {
  const State& s = impl_->state;
  const state::Job* const job = s.jobs().find(id);
  if (job == nullptr || job->state != JobState::kQueued) return false;
  return account.empty() || is_path_within(s.tree().node(job->leaf).spec.path, account);
}

std::vector<JobRow> Engine::beside_queue(JobId after, std::size_t most,
                                         std::string_view account) const {
  return derive::beside_queue(impl_->state, after, most, account);
}

std::vector<CrowdedJob> Engine::crowded(JobId after, std::size_t most) const {
  return derive::crowded(impl_->state, after, most);
}

std::vector<Reason> Engine::reasons(JobId id, std::size_t position, const Growth* growth) const {
  const state::Job* const job = impl_->state.jobs().find(id);
  if (job == nullptr || !(job->waits() || job->pods_behind() > 0)) return {};
  return derive::reasons_of(impl_->state, impl_->places(growth), *job, position);
}

std::optional<Reason> Engine::first_reason(JobId id, std::size_t position,
                                           const Growth* growth) const {
  const state::Job* const job = impl_->state.jobs().find(id);
  if (job == nullptr || !(job->waits() || job->pods_behind() > 0)) return std::nullopt;
  return derive::first_reason(impl_->state, impl_->places(growth), *job, position);
}

std::optional<std::vector<ShadowRow>> Engine::shadow_queue(const View& view,
                                                           std::string_view account,
                                                           std::size_t begin,
                                                           std::size_t most) const {
  decide::ShadowQueue* const shadow = impl_->shadow_queue(view);
  if (shadow == nullptr) return std::nullopt;
  return shadow->rows(account, begin, most);
}

std::vector<ClaimRow> Engine::claims(std::string_view account, bool would) const {
  if (would) return decide::dry_run_claims(impl_->state, account);
  return derive::claim_rows(impl_->state, account);
}

std::optional<Explanation> Engine::explain(JobId id, TimeMs t, std::optional<std::size_t> position,
                                           const Growth* growth) const {
  return derive::explain(impl_->state, impl_->places(growth), id, t, position);
}

}  // namespace subak
