#include "engine/state/observed/observed.h"

#include <variant>

#include "core/must.h"

namespace subak {

void Observed::apply(const Note& note) {
  std::visit([this](const auto& n) { on(n); }, note);
}

void Observed::apply(const Fact& fact) {
  if (const auto* const ranked = std::get_if<fact::PodsRanked>(&fact.body)) {
    lists_.move_marks(ranked->job, ranked->moves);
  } else if (const auto* const seated = std::get_if<fact::PodSeated>(&fact.body)) {
    lists_.move_mark(seated->job, seated->from, seated->rank);
  } else if (const auto* const node = std::get_if<fact::NodeRemoved>(&fact.body)) {
    non_gpu_pods_.drop_node(node->id);
    must(non_gpu_pods_.use_of(node->id) == NodeUse(), "nothing is on a node that is gone");
  } else if (const auto* const cluster = std::get_if<fact::ClusterRemoved>(&fact.body)) {
    lists_.forget(cluster->id);
    early_pods_.forget(cluster->id);
    unmanaged_pods_.forget(cluster->id);
  }
}

void Observed::on(const note::Heard& n) { lists_.heard(n.cluster, n.at_ms); }

// The list will name all objects again.
void Observed::on(const note::ListBegun& n) {
  lists_.begin(n.cluster, n.at_ms, n.seen_until_ms, n.known_as);
  early_pods_.forget(n.cluster);
  non_gpu_pods_.forget(n.cluster);
  unmanaged_pods_.forget(n.cluster);
  must(lists_.find(n.cluster) != nullptr, "a list that began is being read");
}

void Observed::on(const note::ListEnded& n) { lists_.end(n.cluster); }
void Observed::on(const note::NamespaceListed& n) { lists_.mark(n.cluster, n.ns); }
void Observed::on(const note::NodeListed& n) { lists_.mark(n.cluster, n.node); }
void Observed::on(const note::PodListed& n) { lists_.mark(n.cluster, n.pod); }
void Observed::on(const note::OwnerListed& n) { lists_.mark_owner(n.job); }
void Observed::on(const note::PodBeforeNode& n) { early_pods_.add(n.cluster, n.pod); }
void Observed::on(const note::PodNoLongerBeforeNode& n) { early_pods_.drop(n.cluster, n.pod); }

void Observed::on(const note::NewsForgotten& n) {
  lists_.forget(n.cluster);
  early_pods_.forget(n.cluster);
  unmanaged_pods_.forget(n.cluster);
}

void Observed::on(const note::UnmanagedPodSeen& n) { unmanaged_pods_.seen(n.cluster, n.pod); }
void Observed::on(const note::UnmanagedPodGone& n) { unmanaged_pods_.gone(n.cluster, n.uid); }

void Observed::on(const note::NonGpuPodSeen& n) {
  n.node ? non_gpu_pods_.seen(n.cluster, n.uid, n.node, n.shape)
         : non_gpu_pods_.gone(n.cluster, n.uid);
}

void Observed::check(const state::Clusters& clusters) const {
  lists_.check(clusters);
  early_pods_.check(clusters);
  non_gpu_pods_.check();
  unmanaged_pods_.check();
}

}  // namespace subak
