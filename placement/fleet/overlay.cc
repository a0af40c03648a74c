#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/limits.h"
#include "core/must.h"
#include "core/text.h"
#include "placement/fleet/compute_domains.h"
#include "placement/fleet/replacement_nodes.h"
#include "placement/fleet/scene.h"
#include "placement/fleet/whole_domains.h"

namespace subak {
namespace {

// Makes an overlay. Overlays are made rarely and read often, so this class works with maps, and the
// overlay has sorted vectors.
class Making {
 public:
  Making(const Fleet::Impl& fleet, const Overlay* before) : fleet_(fleet) {
    if (before == nullptr) return;
    for (const Overlay::Node& n : before->nodes) loads_.emplace(n.node, n.load);
    for (const Overlay::Domain& d : before->domains) kept_holds_.emplace(d.domain, d.kept_holds);
  }

  // Returns false if the allocation is not held.
  bool give_back(const Allocation& a) {
    if (fleet_.find(a.slot.node) == nullptr) return false;
    Load& load = load_of(a.slot.node.value);
    const Hold* hold = load.find(a.shape, a.rank, a.slot, a.owner);
    if (hold == nullptr) return false;
    const PodShape& pod = *fleet_.shape(a.shape).pods_of(a.rank).shape;
    const DomainIndex home = fleet_.nodes[a.slot.node.value]->home();
    const DomainIndex kept = load.remove(hold, pod).kept_domain;
    // After the release, other nodes of the clique may be spare nodes.
    if (home != kNoArea && fleet_.domains[home]->reserves_replacements) {
      fleet_.domains[home]->each_wired([&](NodeIndex m) { load_of(m); });
    }
    if (kept == kNoArea) return true;
    const auto [it, added] = kept_holds_.try_emplace(kept, fleet_.domains[kept]->kept);
    must(it->second > 0, "what is kept is counted");
    if (--it->second > 0) return true;
    // The clique is no longer exclusive, so each of its nodes has more room.
    fleet_.domains[kept]->each_wired([&](NodeIndex m) { load_of(m); });
    return true;
  }

  std::size_t nodes() const { return loads_.size(); }

  std::shared_ptr<const Overlay> done() && {
    auto out = std::make_shared<Overlay>();
    for (const DomainIndex d : other_domains()) {
      out->domains.push_back({d, kept_holds(d), computing_in(fleet_, d, load_there())});
    }
    choose_spares();
    if (fleet_.whole.rules().keep_whole > 0)
      out->left = fleet_.whole.left_if_empty(emptied(), fleet_.domains);
    for (auto& [node, load] : loads_) {
      Room room = room_of(node, *fleet_.nodes[node], load);
      out->nodes.push_back({node, std::move(load), std::move(room)});
    }
    return out;
  }

 private:
  Load& load_of(NodeIndex node) {
    const auto it = loads_.lower_bound(node);
    if (it != loads_.end() && it->first == node) return it->second;
    return loads_.emplace_hint(it, node, fleet_.nodes[node]->load)->second;
  }

  void choose_spares() {
    std::set<DomainIndex> seen;
    for (const auto& [node, load] : loads_) {
      const DomainIndex home = fleet_.nodes[node]->home();
      if (home == kNoArea || !fleet_.domains[home]->reserves_replacements ||
          !seen.insert(home).second)
        continue;
      const ReplacementNodes replacement_nodes = replacement_nodes_of(fleet_, home, load_there());
      replacement_nodes_.insert(replacement_nodes.nodes.begin(), replacement_nodes.nodes.end());
    }
  }

  std::function<const Load&(NodeIndex)> load_there() const {
    return [this](NodeIndex m) -> const Load& {
      const auto it = loads_.find(m);
      return it == loads_.end() ? fleet_.nodes[m]->load : it->second;
    };
  }

  std::uint32_t kept_holds(DomainIndex d) const {
    const auto kept = kept_holds_.find(d);
    return kept == kept_holds_.end() ? fleet_.domains[d]->kept : kept->second;
  }

  // Returns the domains with a released exclusive hold, and the domains with released holds in
  // which gangs use a ComputeDomain.
  std::set<DomainIndex> other_domains() const {
    std::set<DomainIndex> out;
    for (const auto& [domain, holds] : kept_holds_) out.insert(domain);
    for (const auto& [node, load] : loads_) {
      const DomainIndex home = fleet_.nodes[node]->home();
      if (home != kNoArea && !fleet_.domains[home]->computing.empty()) out.insert(home);
    }
    return out;
  }

  // Returns the domains that have held GPUs in the live fleet and none in the snapshot.
  std::vector<DomainIndex> emptied() const {
    std::map<DomainIndex, MilliGpu> gone;
    for (const auto& [node, load] : loads_) {
      const NodeState& n = *fleet_.nodes[node];
      must(load.allocated <= n.load.allocated, "a snapshot holds no more than the fleet");
      if (n.home() != kNoArea) gone[n.home()] += n.load.allocated - load.allocated;
    }
    std::vector<DomainIndex> out;
    for (const auto& [domain, milli] : gone) {
      if (milli > 0 && milli == fleet_.domains[domain]->held) out.push_back(domain);
    }
    return out;
  }

  Room room_of(NodeIndex i, const NodeState& n, const Load& load) const {
    if (!n.present) return Room{};
    must(n.home() != kNoArea, "a present node is in a domain");
    const bool kept_all = kept_holds(n.home()) > 0 || replacement_nodes_.contains(i);
    const GpuMask kept_gpus = kept_all ? kAllGpus : load.kept();
    Room room;
    fleet_.fill_room(n, load, kept_gpus, nullptr, room);
    return room;
  }

  const Fleet::Impl& fleet_;
  std::map<NodeIndex, Load> loads_;
  std::map<DomainIndex, std::uint32_t> kept_holds_;
  std::set<NodeIndex> replacement_nodes_;  // the spare nodes of the cliques that were looked at
};

}  // namespace

const Overlay::Node* Overlay::find(NodeIndex node) const {
  const auto it = std::lower_bound(nodes.begin(), nodes.end(), node,
                                   [](const Node& n, NodeIndex i) { return n.node < i; });
  return it != nodes.end() && it->node == node ? &*it : nullptr;
}

const Overlay::Domain* Overlay::find_domain(DomainIndex domain) const {
  const auto it = std::lower_bound(domains.begin(), domains.end(), domain,
                                   [](const Domain& d, DomainIndex i) { return d.domain < i; });
  return it != domains.end() && it->domain == domain ? &*it : nullptr;
}

Result<std::shared_ptr<const Overlay>> give_back(const Fleet::Impl& fleet, const Overlay* before,
                                                 std::span<const Allocation> gone) {
  Making overlay(fleet, before);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    const Allocation& a = gone[i];
    const std::string field = "gone[" + std::to_string(i) + "]";
    if (!overlay.give_back(a)) {
      return Error{ErrorCode::kNotFound, field,
                   text::job_id_text(a.owner) + " rank " + std::to_string(a.rank) + " on node " +
                       std::to_string(a.slot.node.value),
                   "an allocation that is held in this snapshot, each once"};
    }
    if (overlay.nodes() > limits::kMaxFleetViewNodes) {
      return Error{ErrorCode::kExhausted, field, std::to_string(overlay.nodes()) + " nodes",
                   "at most " + std::to_string(limits::kMaxFleetViewNodes) +
                       " nodes that differ from the fleet as it is"};
    }
  }
  return std::move(overlay).done();
}

}  // namespace subak
