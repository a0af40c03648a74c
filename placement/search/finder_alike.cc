// Searches that judge each state of a node's GPUs once: a fleet has few states.
#include <algorithm>
#include <bit>
#include <numeric>

#include "placement/search/finder.h"

namespace subak {
namespace {

// Heap order: the best one is at the front.
bool worse(const Equals& a, const Equals& b) { return a.key > b.key; }

}  // namespace

BestFirst::BestFirst(std::vector<Equals> of) : sources_(std::move(of)), unopened_(sources_.size()) {
  std::make_heap(sources_.begin(), sources_.end(), worse);
}

void BestFirst::open_next_group() {
  const std::size_t before = unopened_;
  const auto end = [&] { return sources_.begin() + static_cast<std::ptrdiff_t>(unopened_); };
  do {
    std::pop_heap(sources_.begin(), end(), worse);
    --unopened_;
  } while (unopened_ > 0 && sources_.front().key == sources_[before - 1].key);
  for (std::size_t i = unopened_; i < before; ++i) {
    const Equals& e = sources_[i];
    group_.push_back({&e, {}});
    if (e.alike != nullptr) group_.back().at = e.alike->begin();
  }
}

bool BestFirst::next() {
  if (group_.empty() && unopened_ > 0) open_next_group();
  if (group_.empty()) return false;
  const auto low =
      std::min_element(group_.begin(), group_.end(),
                       [](const Cursor& a, const Cursor& b) { return a.node() < b.node(); });
  node_ = low->node();
  of_ = low->of;
  const bool at_end = of_->alike == nullptr || ++low->at == of_->alike->end();
  if (at_end) group_.erase(low);
  return true;
}

bool Finder::within_bounds(const Index& x, const GpuState& s) const {
  if (!x.of_gpus() || !bounds_.any()) return true;
  if ((bounds_.linked && !s.linked) || (bounds_.unsplit && s.split)) return false;
  return allows(s.product) && (!bounds_.fragments || x.fragment(s));
}

template <class Rank>
std::vector<Equals> Finder::equals(const Index& x, Rank&& rank) {
  std::vector<Equals> out;
  for (const std::uint32_t number : x.live()) {
    const GpuState& s = fleet_.states[state_of_alike(number)];
    if (!within_bounds(x, s)) continue;
    rank(s.spec, s.room, x.weight(s), [&](std::array<std::int64_t, 2> key, std::int64_t pods) {
      out.push_back({key, pods, &x.alike(number), 0});
    });
  }
  const auto consider = [&](NodeIndex i) {
    if (!x.knows(i) || !x.open(i) || (bounds_.any() && !within_bounds(x, i))) return;
    rank(node(i).spec, room(i), weight(x, i),
         [&](std::array<std::int64_t, 2> key, std::int64_t pods) {
           out.push_back({key, pods, nullptr, i});
         });
  };
  for (std::size_t k = 0; k < trial_.touched(); ++k) consider(trial_.touched_node(k));
  if (scene_.overlay == nullptr) return out;
  for (const Overlay::Node& n : scene_.overlay->nodes) {
    if (trial_.find(n.node) == nullptr) consider(n.node);
  }
  return out;
}

template <class Rank, class F>
bool Finder::visit_alike(const Index& x, Rank&& rank, F&& fn) {
  const std::size_t touched = trial_.touched();
  BestFirst nodes(equals(x, rank));
  while (nodes.next()) {
    const NodeIndex i = nodes.node();
    if (nodes.of().alike != nullptr && differs(i, touched)) continue;
    if (eligible(x, i) && fn(i, nodes.of().key)) return true;
  }
  return false;
}

bool Finder::on_one_node_alike(const Runs& runs) {
  const PodShape& pod = *runs[0].pods->shape;
  const std::int64_t count = runs[0].count;
  const auto rank = [&](const NodeSpec& spec, const Room& room, std::int64_t weight, auto&& offer) {
    if (pods_that_fit(spec, room, pod, kAllGpus, count, kOnlyGpus) < count) return;
    const bool none = pod.kind == GpuKind::kNone;
    offer({none ? (spec.gpus > 0 ? 1 : 0) : tightest_gpu(spec, room, pod), weight}, count);
  };
  return visit_alike(runs[0].index, rank, [&](NodeIndex i, const auto&) {
    return fits_all(runs, i, kAllGpus) && place_all(runs, i, kAllGpus);
  });
}

bool Finder::in_inner_domain_alike(const Runs& runs) {
  const Run& run = runs[0];
  const PodShape& pod = *run.pods->shape;
  const auto free_in = [&](const Room& r, GpuMask gpus) { return weight_in(run.index, r, gpus); };
  const auto rank = [&](const NodeSpec& spec, const Room& r, std::int64_t weight, auto&& offer) {
    const std::int64_t domains = inner_domains(spec);
    std::vector<std::int64_t> offered;
    for (std::int64_t d = 0; domains > 1 && d < domains; ++d) {
      const GpuMask mask = inner_domain_mask(spec, d);
      if (pods_that_fit(spec, r, pod, mask, run.count, kOnlyGpus) < run.count) continue;
      const std::int64_t free = free_in(r, mask);
      if (std::find(offered.begin(), offered.end(), free) != offered.end()) continue;
      offered.push_back(free);
      offer({free, weight}, run.count);
    }
  };
  return visit_alike(run.index, rank, [&](NodeIndex i, const auto& key) {
    const NodeSpec& spec = node(i).spec;
    for (std::int64_t d = 0; d < inner_domains(spec); ++d) {
      const GpuMask mask = inner_domain_mask(spec, d);
      if (taken(i, mask) || free_in(room(i), mask) != key[0]) continue;
      if (fits_all(runs, i, mask) && place_all(runs, i, mask)) return true;
    }
    return false;
  });
}

std::map<ProductId, std::int64_t> Finder::product_weights(const Run& run) {
  std::map<ProductId, std::int64_t> weights;
  const Index& x = run.index;
  const bool alike = by_state() && scene_.overlay == nullptr && scene_.reserved == nullptr &&
                     !x.any_backed_off() && !leaves_some_ && !uses_compute_domain_;
  if (!alike) {
    each_node(nullptr, [&](NodeIndex i) {
      if (eligible(x, i)) weights[node(i).product] += weight(x, i);
      return false;
    });
    return weights;
  }
  for (const std::uint32_t number : x.live()) {
    const GpuState& s = fleet_.states[state_of_alike(number)];
    if (!within_bounds(x, s)) continue;
    weights[s.product] += x.weight(s) * static_cast<std::int64_t>(x.alike(number).size());
  }
  return weights;
}

// True if some of the node is held, and it is one domain: then no gang can have it, or its clique,
// exclusively.
bool Finder::taken_alike(const Index& x, NodeIndex i) const {
  if (!by_state() || !x.knows(i) || differs(i, trial_.touched())) return false;
  const std::uint32_t number = x.alike_of(i);
  if (number == kNotAlike) return true;
  const GpuState& s = fleet_.states[state_of_alike(number)];
  return s.used && inner_domains(s.spec) <= 1;
}

}  // namespace subak
