#include "engine/state/snapshot.h"

#include <string>
#include <utility>

#include "accounting/edit/account_move.h"
#include "accounting/ledger.h"
#include "accounting/tree.h"
#include "core/must.h"
#include "engine/state/jobs/job_snapshot.h"

namespace subak::state {
namespace {

fact::MetersSnapshot::Meter stored(const DecayedMeter::State& s) {
  return {s.a, s.shift, s.rate, s.peak_rate, {s.whole_gpu_s, s.whole_rest}, s.since};
}

void snapshot_accounts(const AccountTree& tree, const FactSink& sink) {
  for (const AccountId id : parents_first(tree)) {
    const AccountNode& node = tree.node(id);
    if (node.removed) {
      sink(fact::AccountDeleted{id, {}, node.spec, node.parent, node.revision, node.jobs.moves});
    } else if (id != kRootAccount || node.revision != 0) {
      sink(fact::AccountSet{id, node.spec, node.revision, {}, 0, AccountId(), node.jobs.moves});
    }
  }
}

void snapshot_budgets(const AccountTree& tree, const FactSink& sink) {
  for (const AccountId id : tree.quota_sums().extra_limits()) {
    const std::vector<BudgetBook>& books = tree.node(id).jobs.budgets;
    for (std::uint32_t i = 0; i < books.size(); ++i) {
      const BudgetBook::State state = books[i].state();
      const BudgetPeriod& period = books[i].budget().period;
      sink(fact::BudgetPeriodSet{period.kind, period.fixed_ms, state.span.from_ms, state.span.to_ms,
                                 state.until_ms, id, i, StoredGpuTime::of(state.base),
                                 state.since_ms, state.reached});
    }
  }
}

// Writes the meters of removed accounts too, because an account that is created again continues its
// meters.
void snapshot_meters(const AccountTree& tree, const FactSink& sink) {
  for (AccountId id = kRootAccount; id < tree.next_id(); ++id.value) {
    sink(meters_snapshot(id, tree.node(id).meters.state()));
  }
}

void snapshot_ledger(const Ledger& ledger, const FactSink& sink) {
  bool first = true;
  auto add = [&](fact::LedgerSnapshot kept) {
    if (first) kept.rows = ledger.rows();
    first = false;
    sink(std::move(kept));
  };
  for (const auto& [key, amount] : ledger.sums()) {
    add({key.payer, key.holder, key.state, key.product, NodeId(), StoredGpuTime::of(amount), 0});
  }
  for (const auto& [node, amount] : ledger.node_sums()) {
    add({AccountId(), AccountId(), UsageState::kUsed, "", node, StoredGpuTime::of(amount), 0});
  }
}

}  // namespace

fact::MetersSnapshot meters_snapshot(AccountId id, const AccountMeters::State& meters) {
  return {id,
          stored(meters.usage),
          stored(meters.surplus),
          stored(meters.adjustment),
          StoredGpuTime::of(meters.usage_total),
          meters.usage_as_of};
}

fact::RequestSnapshot request_snapshot(const RequestKey& key, const RememberedRequest& r) {
  return {std::string(key.id),    r.at_ms,    r.job,    r.account, r.revision,
          std::string(key.actor), key.method, r.content};
}

fact::NodeBilled billed(const State& s, NodeId id, TimeMs as_of) {
  must(s.fleet().node(id) != nullptr, "a node that is billed is there");
  const NodeBooks b = s.fleet().books(id, as_of);
  must(b.installed + b.overcommitted == b.allocated + b.idle + b.stranded + b.unusable,
       "what a node has is allocated, idle, stranded or unusable");
  return {id,
          as_of,
          StoredGpuTime::of(b.installed),
          StoredGpuTime::of(b.allocated),
          StoredGpuTime::of(b.idle),
          StoredGpuTime::of(b.stranded),
          StoredGpuTime::of(b.unusable),
          StoredGpuTime::of(b.overcommitted)};
}

void snapshot(const State& s, const FactSink& sink, SnapshotParts what) {
  snapshot_before_live(s, sink, what);
  for (const JobId id : s.jobs().table().ids()) {
    const Job& job = s.jobs().at(id);
    if (job.state != JobState::kDone) snapshot_job(s.fleet(), job, sink);
  }
  snapshot_books(s, sink, what);
  if (what == SnapshotParts::kAll) {
    s.requests().each([&](const RequestKey& key, const RememberedRequest& request) {
      sink(request_snapshot(key, request));
    });
  }
  snapshot_last(s, sink, what);
}

void snapshot_before_live(const State& s, const FactSink& sink, SnapshotParts what) {
  if (s.fact_version() > 1) sink(fact::Finalized{s.fact_version(), {}});
  sink(fact::PolicySet{s.policy(), {}});
  s.clusters().snapshot(sink);
  sink(fact::CountersSnapshot{ClusterId(), 0, s.nodes().last().value + 1,
                              s.claims().outside_event_ms(), s.tree().revision()});
  for (const auto& [key, id] : s.nodes().all()) {
    if (what != SnapshotParts::kToLookAhead) sink(billed(s, id, s.fact_ms()));
    const DrainTimes drain = s.nodes().drain_times(id);
    sink(fact::NodeSet{id,
                       key.first,
                       *s.fleet().node(id),
                       s.fleet().drained(id),
                       {},
                       drain.from_ms,
                       drain.until_ms,
                       s.nodes().seen_since(id)});
    if (!(s.fleet().others(id) == NodeUse())) sink(fact::NodeLoad{id, s.fleet().others(id)});
  }
  s.node_backoff().snapshot(sink);
  if (const auto& calendar = s.allocations().calendar()) sink(fact::CivilEndsSet{calendar->ends()});
  snapshot_accounts(s.tree(), sink);
  snapshot_budgets(s.tree(), sink);  // the planned ends of jobs depend on the periods
}

void snapshot_books(const State& s, const FactSink& sink, SnapshotParts what) {
  const bool with_books = what != SnapshotParts::kToLookAhead;
  for (const JobId id : s.jobs().table().done()) {
    const Job& job = s.jobs().at(id);
    if (with_books || s.jobs().limit_record().rests_on(job)) snapshot_job(s.fleet(), job, sink);
  }
  // After the jobs, whose holds would otherwise count twice.
  snapshot_meters(s.tree(), sink);
  snapshot_budgets(s.tree(), sink);
  if (with_books) snapshot_ledger(s.ledger(), sink);
}

void snapshot_last(const State& s, const FactSink& sink, SnapshotParts what) {
  s.clusters().snapshot_reservations(sink);
  s.claims().snapshot(sink);
  if (what != SnapshotParts::kToLookAhead) s.leap().snapshot(sink);
}

}  // namespace subak::state
