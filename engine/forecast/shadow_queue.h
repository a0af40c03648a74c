// Shadow mode (`ShadowQueue`): the queue and the starts of the next pass as if all observed
// namespaces were enforced. The code works on a copy of the state (docs/design/0035). Implements
// Engine::shadow_queue(), which `subak queue --would` shows.
// Threads: one at a time; only its owner's thread may call it.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/answers/answers.h"
#include "engine/answers/view.h"
#include "engine/decide/decide.h"
#include "engine/state/observed/observed.h"
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::decide {

// The shadow queue of one state and view.
class ShadowQueue {
 public:
  // Makes a shadow queue from this state and from the pods in the View that wait for a node without
  // being Subak's jobs. Its time is the later of the times of the state and the View. Afterwards
  // the shadow queue refers neither to the state nor to the View. Returns nullptr if jobs, nodes
  // and pods together are more than limits::kMaxShadowQueue. O(state + pods), and one pass.
  static std::unique_ptr<ShadowQueue> make(const State& s, const View& view);

  // Returns at most `most` rows from `begin` on, at or below `account`. An empty path stands for
  // all accounts. Each row of a waiting job costs one search for a placement.
  std::vector<ShadowRow> rows(std::string_view account, std::size_t begin, std::size_t most);

 private:
  // A pod that waits outside Subak. The pointers to the cluster and the pod are valid only during
  // make().
  struct Waiting {
    const state::Cluster* cluster;
    const PodRecord* pod;
  };
  // Returns the pods that the shadow queue adds. The pod that was created first comes first.
  static std::vector<Waiting> waiting_in(const State& s, const View& view);
  ShadowQueue(const State& s, const std::vector<Waiting>& pods, TimeMs t);
  // Sets every cluster of the copy to enforce.
  void enforce_all();
  // Decides on the pod as if it had been gated when it was created.
  void queue(const Waiting& waiting);
  // Records the order of the queue, then runs one pass on the copy.
  void play_pass();
  bool is_below(JobId id, std::string_view account) const;
  ShadowRow row(std::size_t index);

  // The copy of the state. All its clusters are in enforce mode.
  State copy_;
  // The observed reports of the copy. These reports have only the pods that the shadow queue adds.
  Observed observed_;
  // The search in the fleet of copy_.
  std::unique_ptr<Search> search_;
  PassMemory memory_;
  // The jobs that exist only in the copy. Their rows have ShadowRow::pending set.
  std::set<JobId> pending_;
  // How many of rows_ are in the order of the queue. After these rows, incomplete gangs follow.
  std::size_t in_order_ = 0;
  // The job of each row.
  std::vector<JobId> rows_;
};

}  // namespace subak::decide
