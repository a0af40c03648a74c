#include "placement/trial/trial.h"

#include <utility>

namespace subak {

Trial::Trial(TrialRooms& rooms, const Scene& scene, std::uint32_t pods, PodRules& rules)
    : rooms_(rooms), scene_(scene), rules_(rules), slots_(pods) {
  rooms_.begin(scene.fleet.nodes.size());
  placed_.reserve(pods);
}

Trial::~Trial() { rooms_.end(); }

bool Trial::place(const Run& run, NodeIndex i, GpuMask allowed, const Ignore& ignore) {
  must(run.rank + run.count <= slots_.size(), "a run is inside its gang");
  const NodeSpec& spec = scene_.node(i).spec;
  const PodShape& pod = *run.pods->shape;
  const std::size_t mark = placed_.size();
  Room& room = rooms_.fill(i, scene_.room(i));
  for (std::uint32_t rank = run.rank; rank < run.rank + run.count; ++rank) {
    const auto slot = choose(NodeId(i), spec, room, pod, allowed, ignore);
    if (!slot) {
      undo_to(mark);
      return false;
    }
    must(!slots_[rank].node, "a pod on trial is in one slot");
    slots_[rank] = *slot;
    consume(spec, room, pod, *slot);
    placed_.push_back({run.pods, rank});
    rules_.count(*run.pods, i, 1);
  }
  return true;
}

void Trial::undo_to(std::size_t mark) {
  must(mark <= placed_.size(), "a mark is not behind the pods on trial");
  while (placed_.size() > mark) {
    const Placed p = placed_.back();
    placed_.pop_back();
    PodSlot& slot = slots_[p.rank];
    must(bool(slot.node), "a pod on trial has a slot");
    const NodeIndex i = slot.node.value;
    release(scene_.node(i).spec, rooms_.fill(i, scene_.room(i)), *p.pods->shape, slot);
    rules_.count(*p.pods, i, -1);
    slot = PodSlot{};
  }
}

void Trial::reorder_segments(std::uint32_t size, const std::vector<std::uint32_t>& order) {
  must(placed_.size() == slots_.size(), "a complete gang is sorted");
  must(order.size() * size == slots_.size(), "each segment is sorted once");
  std::vector<PodSlot> sorted;
  sorted.reserve(slots_.size());
  for (const std::uint32_t first : order) {
    must(first + size <= slots_.size(), "a segment is inside its gang");
    const auto from = slots_.begin() + first;
    sorted.insert(sorted.end(), from, from + size);
  }
  slots_ = std::move(sorted);
}

std::vector<PodSlot> Trial::take_slots() {
  must(placed_.size() == slots_.size(), "a gang is placed complete");
  placed_.clear();
  return std::exchange(slots_, {});
}

bool Trial::leaves_headroom(const Ignore& ignore) const {
  return !scene_.fleet.headroom.any() ||
         std::all_of(placed_.begin(), placed_.end(), [&](const Placed& p) {
           const NodeIndex i = slots_[p.rank].node.value;
           return subak::leaves_headroom(scene_.node(i).spec, room(i), *p.pods->shape, ignore);
         });
}

}  // namespace subak
