#include <algorithm>
#include <set>

#include "tools/demo_edge/checks/checks.h"
#include "tools/demo_edge/fleet.h"

namespace subak::demo {
namespace {

// The use at one instant of the history.
struct Room {
  const v1::NodeSpec* node = nullptr;
  std::uint64_t gpus = 0;  // one bit each
  std::map<std::string, std::int64_t> amounts;
};

std::int64_t capacity(const v1::NodeSpec& node, const std::string& what) {
  if (what == "cpu") return node.cpu_milli();
  if (what == "memory") return node.memory_bytes();
  if (what == "pods") return node.pod_slots();
  for (const v1::MigSlices& slices : node.mig()) {
    if (what == slices.profile()) return slices.count();
  }
  return 0;
}

class Sweep {
 public:
  explicit Sweep(const Story& story) : story_(story), in_use_(teams().size()) {
    for (const v1::NodeSpec& node : story.nodes) rooms_[node.name()].node = &node;
  }

  void run() {
    std::map<std::uint64_t, std::pair<const Pod*, bool>> history;  // by order; true: opening
    for (const Pod& pod : story_.pods) {
      if (!pod.opened()) continue;
      history[pod.opened_order] = {&pod, true};
      if (!pod.live()) history[pod.ended_order] = {&pod, false};
    }
    for (const auto& [order, what] : history) step(*what.first, what.second);
  }

  std::string fault;                             // the first
  std::vector<std::int64_t> most_used{0, 0, 0};  // by team

 private:
  void complain(const std::string& what) {
    if (fault.empty()) fault = what;
  }

  void step(const Pod& pod, bool opens) {
    const auto room = rooms_.find(pod.place.node());
    if (room == rooms_.end()) return complain(pod.key + " has no existing node");
    if (opens && room->second.node->product() == kA100 && pod.place.gpu_mask() != 0) {
      complain(pod.key + " takes a whole GPU that is cut into slices");
    }
    take_gpus(room->second, pod, opens);
    const std::int64_t sign = opens ? 1 : -1;
    const v1::PodShape& shape = story_.shape_of(pod);
    add(room->second, "cpu", sign * shape.cpu_milli());
    add(room->second, "memory", sign * shape.memory_bytes());
    add(room->second, "pods", sign);
    if (shape.kind() == v1::GPU_KIND_MIG) {
      add(room->second, shape.mig_profile(), sign * shape.gpus());
    }
    const std::size_t team = story_.team_of(pod);
    in_use_[team] += sign * pod.place.milligpu();
    most_used[team] = std::max(most_used[team], in_use_[team]);
  }

  void take_gpus(Room& room, const Pod& pod, bool opens) {
    const std::uint64_t mask = pod.place.gpu_mask();
    if (!opens) {
      room.gpus &= ~mask;
      return;
    }
    if ((room.gpus & mask) != 0) complain(room.node->name() + ": a GPU was given twice");
    if (room.node->gpus() < 64 && (mask >> room.node->gpus()) != 0) {
      complain(room.node->name() + ": a GPU that does not exist was given");
    }
    const bool whole = story_.shape_of(pod).kind() == v1::GPU_KIND_WHOLE;
    if (whole && __builtin_popcountll(mask) != story_.shape_of(pod).gpus()) {
      complain(pod.key + " has not the GPUs that it asked for");
    }
    room.gpus |= mask;
  }

  void add(Room& room, const std::string& what, std::int64_t amount) {
    std::int64_t& used = room.amounts[what];
    used += amount;
    if (used > capacity(*room.node, what)) {
      complain(room.node->name() + ": more " + what + " than it has");
    }
  }

  const Story& story_;
  std::map<std::string, Room> rooms_;
  std::vector<std::int64_t> in_use_;
};

void check_rack(const Story& story, Checks& out) {
  std::set<std::string> nodes, cliques;
  std::int64_t gpus = 0;
  for (const Pod& pod : story.pods) {
    if (pod.job != story.rack_job) continue;
    nodes.insert(pod.place.node());
    gpus += __builtin_popcountll(pod.place.gpu_mask());
    for (const v1::NodeSpec& node : story.nodes) {
      if (node.name() == pod.place.node()) cliques.insert(node.clique());
    }
  }
  const bool ok = nodes.size() == kRackNodes && cliques == std::set<std::string>{kClique} &&
                  gpus == kRackNodes * kRackGpusPerNode;
  out.push_back({"the rack job is inside one NVLink clique", ok,
                 std::to_string(nodes.size()) + " nodes, " + std::to_string(gpus) + " GPUs, " +
                     std::to_string(cliques.size()) + " clique"});
}

}  // namespace

void check_placement(const Story& story, Checks& out) {
  Sweep sweep(story);
  sweep.run();
  out.push_back({"no GPU, slice, CPU or memory given twice", sweep.fault.empty(),
                 sweep.fault.empty() ? std::to_string(story.nodes.size()) + " nodes, all the time"
                                     : sweep.fault});
  for (std::size_t t = 0; t < teams().size(); ++t) {
    const Team& team = teams()[t];
    if (team.limit_gpus == 0) continue;
    out.push_back({team.account + " never above its limit",
                   sweep.most_used[t] <= team.limit_gpus * 1000,
                   std::to_string(sweep.most_used[t] / 1000) + " of " +
                       std::to_string(team.limit_gpus) + " GPUs at most"});
  }
  if (!story.rack_job.empty()) check_rack(story, out);
}

const JobPlan* Story::plan_of(const Pod& pod) const {
  if (!pod.from_api()) return nullptr;
  const auto found = by_id_.find(pod.job);
  return found == by_id_.end() ? nullptr : &jobs[found->second];
}

std::size_t Story::team_of(const Pod& pod) const {
  if (const JobPlan* plan = plan_of(pod)) return plan->team;
  for (std::size_t t = 0; t < teams().size(); ++t) {
    if (teams()[t].ns == pod.record.namespace_()) return t;
  }
  return 0;
}

const v1::PodShape& Story::shape_of(const Pod& pod) const {
  const JobPlan* plan = plan_of(pod);
  return plan != nullptr ? plan->request.job().request().groups(0).shape() : pod.record.shape();
}

void Story::index() {
  for (std::size_t i = 0; i < jobs.size(); ++i) by_id_[jobs[i].id] = i;
}

}  // namespace subak::demo
