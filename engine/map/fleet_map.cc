#include "engine/map/fleet_map.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/must.h"
#include "engine/derive/rows.h"
#include "engine/map/map_areas.h"

namespace subak::derive {
namespace {

using state::Job;
using state::PodPlace;

constexpr std::uint32_t kNoOwner = UINT32_MAX;

// Says why the node takes no new pods. The text is empty if it does.
FleetMap::Condition condition_of(const Fleet& fleet, NodeId id) {
  const NodeSpec& spec = *fleet.node(id);
  if (fleet.drained(id)) return {"drained", CellState::kDrained};
  if (spec.unschedulable) return {"cordoned", CellState::kDrained};
  if (!spec.ready) return {"not ready", CellState::kUnfit};
  return {spec.unfit, CellState::kUnfit};
}

// Adds `value` to the table unless it is there, and returns its index. The tables are short.
template <class T>
std::uint32_t index_in(std::vector<T>& table, const T& value) {
  const auto found = std::find(table.rbegin(), table.rend(), value);
  if (found != table.rend()) return static_cast<std::uint32_t>(table.rend() - found - 1);
  table.push_back(value);
  return static_cast<std::uint32_t>(table.size() - 1);
}

class Maker {
 public:
  Maker(const State& s, FleetMap& out) : s_(s), out_(out) {
    for (const auto& [at, node] : s.nodes().planned_drains()) planned_.insert(node);
    for (const state::Reservation& r : s.clusters().at(out.cluster).reservations) {
      for (const NodeId node : r.nodes) reserved_.try_emplace(node, r.job);
    }
  }

  void add(NodeId id) {
    const Fleet& fleet = s_.fleet();
    const NodeSpec& spec = *fleet.node(id);
    const FleetMap::Condition condition = condition_of(fleet, id);
    FleetMap::Node& node = out_.nodes.emplace_back();
    node.name = spec.name;
    node.kind = kind_of(spec);
    if (!condition.text.empty()) node.condition = 1 + index_in(out_.conditions, condition);
    if (planned_.contains(id) || fleet.drained(id)) add_drain(id);
    holds_.clear();
    holders_.clear();
    add_holds(id);
    cells_.read(fleet, id, holds_);
    const auto reserved = reserved_.find(id);
    reserved_for_ = reserved == reserved_.end() ? JobId() : reserved->second;
    closed_ = condition.state;
    const auto index = static_cast<std::uint32_t>(out_.nodes.size() - 1);
    for (const CellPart& part : cells_.beyond()) out_.excess.push_back({index, part_of(part)});
    add_cells(out_.kinds[node.kind].layout);
  }

 private:
  std::uint32_t kind_of(const NodeSpec& spec) {
    // Most nodes are of the kind of the node before.
    if (last_.spec != nullptr && last_.spec->product == spec.product &&
        last_.spec->gpus == spec.gpus && last_.spec->replicas == spec.replicas &&
        last_.spec->mig_gpus == spec.mig_gpus && last_.spec->mig == spec.mig) {
      return last_.kind;
    }
    last_.spec = &spec;
    const FleetMap::NodeKind kind{spec.product, static_cast<std::uint32_t>(spec.gpus),
                                  cell_layout(spec)};
    return last_.kind = index_in(out_.kinds, kind);
  }

  void add_drain(NodeId id) {
    const state::DrainTimes times = s_.nodes().drain_times(id);
    if (times.from_ms == 0 && times.until_ms == 0) return;
    out_.drains.push_back(
        {static_cast<std::uint32_t>(out_.nodes.size() - 1), times.from_ms, times.until_ms});
  }

  void add_holds(NodeId id) {
    const std::span<const PodPlace> places = s_.allocations().on(id);
    const std::span<const Job* const> jobs = s_.allocations().jobs_on(id);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Job& job = *jobs[i];
      const state::Pod& pod = job.pods[places[i].rank];
      if (pod.slot.milligpu == 0) continue;
      holds_.push_back({pod.shape.id(), pod.shape_rank, &pod.slot});
      const CellState state = job.origin == JobOrigin::kForeign ? CellState::kForeign
                              : pod.is_bound()                  ? CellState::kRunning
                                                                : CellState::kHeld;
      holders_.push_back({state, job_index(job)});
    }
  }

  std::uint32_t job_index(const Job& job) {
    if (last_.job == &job) return last_.job_index;
    last_.job = &job;
    last_.job_index = static_cast<std::uint32_t>(out_.jobs.size());
    // A job with one pod that holds GPUs comes once, so that no table needs it.
    if (job.run().holding != 1) {
      const auto [it, is_new] = jobs_.try_emplace(job.id, last_.job_index);
      last_.job_index = it->second;
      if (!is_new) return it->second;
    }
    const TimeMs end_ms = job.run().end_ms;
    out_.jobs.push_back({job.id, owner_of(job.leaf), end_ms == state::kNever ? 0 : end_ms});
    return last_.job_index;
  }

  std::uint32_t job_index(JobId id) { return job_index(s_.jobs().at(id)); }

  std::uint32_t owner_of(AccountId leaf) {
    const std::size_t at = leaf == kUnassigned ? 0 : leaf.value;  // no account has the number 0
    if (at >= owners_.size()) owners_.resize(at + 1, kNoOwner);
    std::uint32_t& owner = owners_[at];
    if (owner == kNoOwner) {
      owner = static_cast<std::uint32_t>(out_.owners.size());
      auto [account, user] = payer_of(s_, leaf);
      out_.owners.push_back({std::move(account), std::move(user)});
    }
    return owner;
  }

  FleetMap::Part part_of(const CellPart& part) {
    constexpr std::uint32_t kNoJob = FleetMap::kNoJob;
    switch (part.use) {
      case CellUse::kHeld:
        return {holders_[part.hold].state, holders_[part.hold].job, part.milligpu};
      case CellUse::kClosed:
        return {closed_, kNoJob, part.milligpu};
      case CellUse::kClaimed:
        return {CellState::kReserved, job_index(part.claimant), part.milligpu};
      case CellUse::kKept:
      case CellUse::kFree:
        break;
    }
    if (reserved_for_) return {CellState::kReserved, job_index(reserved_for_), part.milligpu};
    const bool is_kept = part.use == CellUse::kKept;
    return {is_kept ? CellState::kKept : CellState::kFree, kNoJob, part.milligpu};
  }

  // Adds the cells of the node. A cell without an amount has no part, and is free or closed.
  void add_cells(const CellLayout& layout) {
    const std::vector<CellPart>& parts = cells_.parts();
    std::size_t next = 0;
    for (std::uint32_t cell = 0; cell < layout.cells(); ++cell) {
      const std::size_t first = next;
      while (next < parts.size() && parts[next].cell == cell) ++next;
      if (next == first) {
        add_cell({out_.nodes.back().condition == 0 ? CellState::kFree : closed_, FleetMap::kNoJob});
      } else if (next == first + 1) {
        add_cell(part_of(parts[first]));
      } else {
        divide(first, next);
      }
    }
    must(next == parts.size(), "each part is in a cell of the node");
  }

  void add_cell(const FleetMap::Part& part) {
    if (!out_.runs.empty()) {
      FleetMap::Run& last = out_.runs.back();
      if (last.parts == 0 && last.state == part.state && last.job == part.job) {
        ++last.cells;
        return;
      }
    }
    out_.runs.push_back({part.state, part.job, 1, 0});
  }

  // Adds a divided cell. Parts of one state and job are one part.
  void divide(std::size_t first, std::size_t end) {
    divided_.clear();
    for (std::size_t i = first; i < end; ++i) {
      const FleetMap::Part part = part_of(cells_.parts()[i]);
      if (!divided_.empty() && divided_.back().state == part.state &&
          divided_.back().job == part.job) {
        divided_.back().milligpu += part.milligpu;
      } else {
        divided_.push_back(part);
      }
    }
    if (divided_.size() == 1) return add_cell(divided_.front());
    out_.runs.push_back({divided_.front().state, divided_.front().job, 1,
                         static_cast<std::uint32_t>(divided_.size())});
    out_.parts.insert(out_.parts.end(), divided_.begin(), divided_.end());
  }

  struct Holder {
    CellState state = CellState::kRunning;
    std::uint32_t job = 0;
  };

  const State& s_;
  FleetMap& out_;
  std::set<NodeId> planned_;
  std::unordered_map<NodeId, JobId> reserved_;
  // The indexes of jobs, except those that come once; and of owners, by the number of their account.
  std::unordered_map<JobId, std::uint32_t> jobs_;
  std::vector<std::uint32_t> owners_;
  // The kind and the job of the last look-up, since most look-ups are the same as the last one.
  struct Last {
    const NodeSpec* spec = nullptr;
    std::uint32_t kind = 0;
    const Job* job = nullptr;
    std::uint32_t job_index = 0;
  };
  Last last_;
  // The node that is being added.
  std::vector<CellHold> holds_;
  std::vector<Holder> holders_;
  NodeCells cells_;
  JobId reserved_for_;
  CellState closed_ = CellState::kUnfit;
  std::vector<FleetMap::Part> divided_;
};

}  // namespace

FleetMap fleet_map(const State& s, ClusterId cluster) {
  FleetMap out;
  out.cluster = cluster;
  out.time_ms = s.now();
  MapAreas areas = map_areas(s, cluster);
  out.areas = std::move(areas.areas);
  out.nodes.reserve(areas.nodes.size());
  Maker maker(s, out);
  for (const NodeId node : areas.nodes) maker.add(node);
  return out;
}

}  // namespace subak::derive
