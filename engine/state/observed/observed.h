// Reports of the clusters' edges since this process started that no fact records: lists in
// progress, early reports, non-GPU pods and unmanaged pods. An edge is the program that reports a
// cluster, first with a list of all objects, then with each change.
//
// Observed is not a part of the State: no checkpoint, digest or forecast has this data. After a
// restart, Observed is empty. Then each edge lists again, and the lists fill Observed.
//
// Two things change Observed. A note (note.h) adds the report of an input. A fact may remove
// clusters and nodes that are gone, or move pods to another rank.
//
// References into Observed are valid until the next note or fact.
// Threads: one at a time; the owner of the State also owns an Observed.
#pragma once

#include "engine/state/clusters.h"
#include "engine/state/observed/early_pods.h"
#include "engine/state/observed/lists.h"
#include "engine/state/observed/non_gpu_pods.h"
#include "engine/state/observed/note.h"
#include "engine/state/observed/unmanaged_pods.h"
#include "model/fact.h"

namespace subak {

// The observations of all clusters.
class Observed {
 public:
  const state::Lists& lists() const { return lists_; }
  const state::EarlyPods& early_pods() const { return early_pods_; }
  const state::NonGpuPods& non_gpu_pods() const { return non_gpu_pods_; }
  const state::UnmanagedPods& unmanaged_pods() const { return unmanaged_pods_; }

  // Adds the report of an input.
  void apply(const Note& note);
  // Updates the data after a fact. Call it after the State has applied the fact. Most kinds of
  // facts change nothing in Observed.
  void apply(const Fact& fact);

  // Asserts the invariants of the parts, and that all entries belong to these clusters. O(all).
  void check(const state::Clusters& clusters) const;

 private:
  void on(const note::Heard& n);
  void on(const note::ListBegun& n);
  void on(const note::ListEnded& n);
  void on(const note::NamespaceListed& n);
  void on(const note::NodeListed& n);
  void on(const note::PodListed& n);
  void on(const note::OwnerListed& n);
  void on(const note::PodBeforeNode& n);
  void on(const note::PodNoLongerBeforeNode& n);
  void on(const note::NewsForgotten& n);
  void on(const note::UnmanagedPodSeen& n);
  void on(const note::UnmanagedPodGone& n);
  void on(const note::NonGpuPodSeen& n);

  state::Lists lists_;
  state::EarlyPods early_pods_;
  state::NonGpuPods non_gpu_pods_;
  state::UnmanagedPods unmanaged_pods_;
};

}  // namespace subak
