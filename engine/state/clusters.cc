#include "engine/state/clusters.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/must.h"
#include "model/bounds/pass_limits.h"

namespace subak::state {
namespace {

template <class Reservations>
auto find_of(Reservations& among, JobId job) {
  return std::find_if(among.begin(), among.end(), [job](const auto& r) { return r.job == job; });
}

}  // namespace

Mode Cluster::mode_of(std::string_view ns) const {
  const auto own = std::find_if(namespaces.begin(), namespaces.end(),
                                [&](const NamespaceMode& m) { return m.ns == ns; });
  return own == namespaces.end() ? mode : own->mode;
}

const Cluster* Clusters::find(std::string_view name) const {
  if (name.empty()) return all_.size() == 1 ? &all_.begin()->second : nullptr;
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const auto& c) { return c.second.name == name; });
  return it == all_.end() ? nullptr : &it->second;
}

const Cluster& Clusters::at(ClusterId id) const {
  const auto it = all_.find(id);
  must(it != all_.end(), "the cluster is there");
  return it->second;
}

Cluster& Clusters::writable(ClusterId id) {
  const auto it = all_.find(id);
  must(it != all_.end(), "the cluster that changes is there");
  return it->second;
}

const std::string& Clusters::name_of(ClusterId id) const {
  const auto it = all_.find(id);
  return it == all_.end() ? removed_.at(id) : it->second.name;
}

ClusterId Clusters::next_id() const {
  ClusterId last;
  if (!all_.empty()) last = all_.rbegin()->first;
  if (!removed_.empty()) last = std::max(last, removed_.rbegin()->first);
  return ClusterId(static_cast<std::uint16_t>(last.value + 1));  // 0 after the highest number: none
}

void Clusters::apply(const fact::ClusterSet& f) {
  must(static_cast<bool>(f.id) && !f.name.empty(), "a cluster has a number and a name");
  must(!removed_.contains(f.id), "a removed cluster's number is not used again");
  Cluster& cluster = all_[f.id];
  cluster.id = f.id;
  cluster.name = f.name;
  cluster.mode = f.mode;
  cluster.namespaces = f.namespaces;
  find_pools();
}

void Clusters::apply(const fact::ClusterRemoved& f) {
  must(removed_.try_emplace(f.id, at(f.id).name).second, "a cluster goes once");
  all_.erase(f.id);
  find_pools();
}

void Clusters::set_pools(std::vector<NodePool> declared) {
  declared_ = std::move(declared);
  find_pools();
}

void Clusters::find_pools() {
  std::vector<FleetPool> found;
  for (const NodePool& pool : declared_) {
    if (const Cluster* const of = find(pool.cluster)) found.push_back({of->id, pool});
  }
  must(found.size() <= declared_.size(), "a pool is in one cluster");
  if (found == pools_.all) return;
  pools_.all = std::move(found);
  ++pools_.version;
}

void Clusters::apply(const fact::ClusterSynced& f) {
  Cluster& cluster = writable(f.id);
  must(f.session >= cluster.session, "sessions get newer");
  must(!f.synced || f.since_ms == 0, "of a synced cluster it is known what happens there");
  cluster.synced = f.synced;
  cluster.owned = f.owned;
  cluster.session = f.session;
  cluster.since_ms = f.since_ms;
}

void Clusters::apply(const fact::ClusterSeen& f) {
  Cluster& cluster = writable(f.id);
  must(f.until_ms >= cluster.seen_until_ms, "what is known stays known");
  cluster.uid = f.uid;
  cluster.seen_until_ms = f.until_ms;
}

void Clusters::pod_seen(ClusterId id, TimeMs at) {
  Cluster& cluster = writable(id);
  if (!cluster.synced || cluster.seen_until_ms == 0) return;
  cluster.seen_until_ms = std::max(cluster.seen_until_ms, at);
}

void Clusters::apply(const fact::NamespaceLabelled& f) {
  Cluster& cluster = writable(f.cluster);
  auto label = f.account.empty()
                   ? nullptr
                   : std::make_shared<const NamespaceLabel>(NamespaceLabel{f.ns, f.account});
  must(label != nullptr || cluster.labels->find(f.ns) != nullptr, "a label that goes was there");
  cluster.labels =
      std::make_shared<const NamespaceLabels>(cluster.labels->changed({{f.ns, std::move(label)}}));
}

void Clusters::apply(const fact::Reserved& f) {
  if (f.nodes.empty()) return must(reserve_no_longer(f.job), "what is given up was there");
  auto& all = writable(f.job.cluster()).reservations;
  Reservation r{f.job, {}, f.start_ms, f.estimated, f.cause, f.made_ms, f.late};
  for (const fact::Reserved::Kept& kept : f.nodes) r.nodes.push_back(kept.node);
  const auto before = find_of(all, f.job);
  if (before != all.end()) {
    *before = std::move(r);
  } else {
    all.push_back(std::move(r));
  }
}

fact::Reserved Reservation::as_fact() const {
  must(!nodes.empty(), "a reservation has nodes");
  fact::Reserved f{job, {}, start_ms, estimated, cause, made_ms, late};
  for (const NodeId node : nodes) f.nodes.push_back({node});
  return f;
}

void HoldLengths::add(MilliGpu amount, DurationMs length_ms) {
  must(amount > 0 && length_ms > 0, "a hold has GPUs, and takes time");
  constexpr double kRemembered = 1 - 1.0 / static_cast<double>(limits::kHoldsRemembered);
  const double length = static_cast<double>(length_ms);
  const double held = static_cast<double>(amount) * length;
  time = time * kRemembered + held;
  time_squared = time_squared * kRemembered + held * length;
  ++ended;
}

std::optional<DurationMs> HoldLengths::mean_rest_ms() const {
  if (ended < limits::kFewestHolds) return std::nullopt;
  must(time > 0, "holds that ended took time");
  return static_cast<DurationMs>(time_squared / (2 * time));
}

void Clusters::apply(const fact::CountersSnapshot& f) {
  Cluster& cluster = writable(f.cluster);
  must(f.next_job >= cluster.next_job, "a number is used once");
  cluster.next_job = f.next_job;
  cluster.hold_lengths = {f.holds_ended, f.hold_time, f.hold_time_squared};
}

void Clusters::hold_ended(ClusterId id, MilliGpu amount, DurationMs length_ms) {
  writable(id).hold_lengths.add(amount, length_ms);
}

void Clusters::number_used(JobId id) {
  Cluster& cluster = writable(id.cluster());
  cluster.next_job = std::max(cluster.next_job, id.sequence() + 1);
  must(cluster.next_job > id.sequence(), "a number is used once");
}

const Reservation* Clusters::reservation_of(JobId id) const {
  const auto cluster = all_.find(id.cluster());
  if (cluster == all_.end()) return nullptr;  // it was removed, and its jobs are done
  const auto& all = cluster->second.reservations;
  const auto found = find_of(all, id);
  return found == all.end() ? nullptr : &*found;
}

bool Clusters::reserve_no_longer(JobId id) {
  auto& all = writable(id.cluster()).reservations;
  const auto found = find_of(all, id);
  if (found == all.end()) return false;
  all.erase(found);
  must(find_of(all, id) == all.end(), "a job has one reservation");
  return true;
}

void Clusters::snapshot(const Sink& sink) const {
  for (const auto& [id, c] : all_) {
    sink(fact::ClusterSet{id, c.name, c.mode, c.namespaces, {}});
    sink(fact::ClusterSynced{id, c.synced, c.owned, c.session, c.since_ms});
    if (!c.uid.empty() || c.seen_until_ms != 0) {
      sink(fact::ClusterSeen{id, c.uid, c.seen_until_ms});
    }
    for (const NamespaceLabel* label : c.labels->values()) {
      sink(fact::NamespaceLabelled{id, label->ns, label->account});
    }
    fact::CountersSnapshot counters{id, c.next_job, 0};
    counters.holds_ended = c.hold_lengths.ended;
    counters.hold_time = c.hold_lengths.time;
    counters.hold_time_squared = c.hold_lengths.time_squared;
    sink(std::move(counters));
  }
  for (const auto& [id, name] : removed_) {
    sink(fact::ClusterSet{id, name, Mode::kObserve, {}, {}});
    sink(fact::ClusterRemoved{id, {}});
  }
}

void Clusters::snapshot_reservations(const Sink& sink) const {
  for (const auto& [id, c] : all_) {
    for (const Reservation& r : c.reservations) sink(r.as_fact());
  }
}

void Clusters::check() const {
  std::set<std::string_view> names;
  for (const auto& [id, c] : all_) {
    must(c.id == id, "a cluster is under its number");
    must(names.insert(c.name).second, "no two clusters have one name");
    must(!removed_.contains(id), "a removed cluster's number is not used again");
    std::set<NodeId> kept;
    for (const Reservation& r : c.reservations) {
      must(r.job.cluster() == id && !r.nodes.empty(), "a cluster reserves nodes for its own jobs");
      for (const NodeId node : r.nodes)
        must(kept.insert(node).second, "a node is reserved for one job");
    }
  }
}

}  // namespace subak::state
