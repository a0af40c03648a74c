#include "engine/state/state.h"

#include <algorithm>
#include <string>

#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"

namespace subak {
namespace {

using Sink = std::function<void(fact::Body)>;

fact::MetersSnapshot::Meter snapshot_of(const DecayedMeter::State& s) {
  return {s.a, s.shift, s.rate, s.peak_rate, {s.whole_gpu_s, s.whole_rest}, s.since};
}

void snapshot_accounts(const AccountTree& tree, const Sink& sink) {
  for (AccountId id = kRootAccount; id < tree.next_id(); ++id.value) {  // parents have lower ids
    const AccountNode& node = tree.node(id);
    if (node.removed) {
      sink(fact::AccountDeleted{id, {}, node.spec, node.parent, node.revision});
    } else if (id != kRootAccount || node.revision != 0) {
      sink(fact::AccountSet{id, node.spec, node.revision, {}});
    }
  }
}

// Also of removed accounts: an account that is created again continues its meters.
void snapshot_meters(const AccountTree& tree, const Sink& sink) {
  for (AccountId id = kRootAccount; id < tree.next_id(); ++id.value) {
    const AccountMeters::State meters = tree.node(id).meters.state();
    fact::MetersSnapshot m;
    m.account = id;
    m.usage = snapshot_of(meters.usage);
    m.surplus = snapshot_of(meters.surplus);
    m.adjustment = snapshot_of(meters.adjustment);
    m.usage_total = StoredGpuTime::of(meters.usage_total);
    m.usage_as_of_ms = meters.usage_as_of;
    sink(m);
  }
}

void snapshot_ledger(const Ledger& ledger, const Sink& sink) {
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

fact::RequestSnapshot request_snapshot(const RequestKey& key, const RememberedRequest& r) {
  return {std::string(key.id),    r.at_ms,    r.job,    r.account, r.revision,
          std::string(key.actor), key.method, r.content};
}

State::State(Books books) {
  tree_.set(kRootAccount, AccountSpec(), 0, 0, {}, {});
  if (books == Books::kLeftOut) allocations_.leave_out_books();
}

void State::advance(TimeMs now) { now_ = std::max(now_, now); }

void State::apply(const Fact& fact) {
  must(fact.seq == 0 || fact.seq == seq_ + 1, "facts come in order");
  restoring_ = fact.seq == 0;
  if (!restoring_) seq_ = fact.seq;
  fact_ms_ = std::max(fact_ms_, fact.time_ms);
  now_ = std::max(now_, fact.time_ms);
  leap_.advance(fact_ms_);
  std::visit([this](const auto& body) { on(body); }, fact.body);
  must(fact_ms_ <= now_, "no fact is of the future");
  must(restoring_ || seq_ == fact.seq, "a fact is applied once");
  restoring_ = false;
}

void State::apply(const Note& note) {
  std::visit([this](const auto& n) { on(n); }, note);
}

std::string State::product_of(const PodSlot& slot) const {
  return std::string(fleet_.products().name(fleet_.product_of(slot.node)));
}

fact::NodeBilled State::billed(NodeId id, TimeMs as_of) const {
  const NodeBooks b = fleet_.books(id, as_of);
  return {id,
          as_of,
          StoredGpuTime::of(b.installed),
          StoredGpuTime::of(b.allocated),
          StoredGpuTime::of(b.idle),
          StoredGpuTime::of(b.stranded),
          StoredGpuTime::of(b.unusable),
          StoredGpuTime::of(b.overcommitted)};
}

GangRequest State::single_pod(const PodShape& shape, bool compute_domain) {
  GangRequest request;
  request.groups.push_back({1, shape});
  request.compute_domain = compute_domain;
  return request;
}

bool State::uses_compute_domain(JobId id) const {
  const state::Job& job = jobs_.at(id);
  if (job.shape) return fleet_.request(job.shape).compute_domain;
  return job.asked != nullptr && job.asked->compute_domain;
}

ShapeUse State::use_single_pod(const state::Job& job, const PodShape& shape) {
  ShapeUse use = fleet_.use(job.id.cluster(), single_pod(shape, uses_compute_domain(job.id)));
  const ShapeId id = use.id();
  if (bytes_of_shape_.size() <= id.value) bytes_of_shape_.resize(id.value + 1);
  SinglePodBytes& known = bytes_of_shape_[id.value];
  if (known.serial != fleet_.shapes().serial(id)) {
    known = {fleet_.shapes().serial(id), static_cast<std::uint32_t>(stored_bytes(shape))};
  }
  return use;
}

ShapeId State::shape_of(ClusterId cluster, const GangRequest& request) const {
  const ShapeId id = fleet_.shapes().find(cluster, request);
  must(static_cast<bool>(id), "the request was seen");
  return id;
}

std::vector<std::pair<ProductId, MilliGpu>> State::intern(const ProductAmounts& amounts) {
  std::vector<std::pair<ProductId, MilliGpu>> out;
  for (const ProductAmount& a : amounts) {
    out.emplace_back(fleet_.intern_product(a.product), a.milligpu);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<Error> State::check_products(const std::set<std::string_view>& names) const {
  const auto fresh = std::count_if(names.begin(), names.end(), [&](std::string_view name) {
    return !name.empty() && name != kAnyProduct && !fleet_.products().find(name);
  });
  const std::size_t all = fleet_.products().size() + static_cast<std::size_t>(fresh);
  if (fresh == 0 || all <= limits::kMaxProducts) return std::nullopt;
  return Error{ErrorCode::kExhausted, "products", std::to_string(all),
               "want at most " + std::to_string(limits::kMaxProducts) + " names of GPU products"};
}

void State::snapshot(const Sink& sink, SnapshotParts what) const {
  snapshot_before_live(sink, what);
  jobs_.snapshot_live(sink);
  snapshot_books(sink, what);
  if (what == SnapshotParts::kAll) {
    requests_.each([&](const RequestKey& key, const RememberedRequest& request) {
      sink(request_snapshot(key, request));
    });
  }
  snapshot_last(sink, what);
}

void State::snapshot_before_live(const Sink& sink, SnapshotParts what) const {
  if (fact_version_ > 1) sink(fact::Finalized{fact_version_, {}});
  sink(fact::PolicySet{policy_, {}});
  clusters_.snapshot(sink);
  sink(fact::CountersSnapshot{ClusterId(), 0, nodes_.last().value + 1});
  for (const auto& [key, id] : nodes_.all()) {
    if (what != SnapshotParts::kToLookAhead) sink(billed(id, fact_ms_));
    const state::DrainTimes drain = nodes_.drain_times(id);
    sink(fact::NodeSet{id,
                       key.first,
                       *fleet_.node(id),
                       fleet_.drained(id),
                       {},
                       drain.from_ms,
                       drain.until_ms,
                       nodes_.seen_since(id)});
    if (!(fleet_.others(id) == NodeUse())) sink(fact::NodeLoad{id, fleet_.others(id)});
  }
  node_backoff_.snapshot(sink);
  snapshot_accounts(tree_, sink);
}

void State::snapshot_books(const Sink& sink, SnapshotParts what) const {
  const bool with_books = what != SnapshotParts::kToLookAhead;
  with_books ? jobs_.snapshot_done(sink) : jobs_.snapshot_needed_done(sink);
  snapshot_meters(tree_, sink);  // after the jobs, whose holds would otherwise count twice
  if (with_books) snapshot_ledger(ledger_, sink);
}

void State::snapshot_last(const Sink& sink, SnapshotParts what) const {
  clusters_.snapshot_reservations(sink);
  if (what != SnapshotParts::kToLookAhead) leap_.snapshot(sink);
}

void State::check() const {
  tree_.check_invariants();
  fleet_.check_invariants();
  clusters_.check();
  nodes_.check();
  jobs_.check();
  allocations_.check(jobs_);
  node_backoff_.check();
  non_gpu_pods_.check();
  unmanaged_pods_.check();
  must(
      fleet_.gpu_headroom() == GpuHeadroom{policy_.cpu_per_gpu_milli, policy_.memory_per_gpu_bytes},
      "the fleet keeps beside GPUs what the policy says");
  for (const auto& [name, id] : nodes_.all()) {
    must(fleet_.node(id) != nullptr && fleet_.node(id)->name == name.second,
         "a node has the name under which it is found");
  }
}

}  // namespace subak
