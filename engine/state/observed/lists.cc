#include "engine/state/observed/lists.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/must.h"

namespace subak::state {

const ListMarks* Lists::find(ClusterId id) const {
  const auto it = lists_.find(id);
  return it == lists_.end() ? nullptr : &it->second;
}

ListMarks* Lists::writable(ClusterId id) {
  const auto it = lists_.find(id);
  return it == lists_.end() ? nullptr : &it->second;
}

const std::string& Lists::known_as(ClusterId id) const {
  static const std::string kNobody;
  const auto known = known_as_.find(id);
  return known == known_as_.end() ? kNobody : known->second;
}

void Lists::heard(ClusterId id, TimeMs at) {
  must(static_cast<bool>(id), "a cluster that is heard is known");
  TimeMs& last = heard_[id];
  last = std::max(last, at);
}

void Lists::begin(ClusterId id, TimeMs now, TimeMs seen_until_ms, std::string known_as) {
  must(static_cast<bool>(id), "a list is of a cluster");
  ListMarks marks;
  marks.begun_ms = now;
  marks.heard_before_ms = seen_until_ms;
  if (const auto heard = heard_.find(id); heard != heard_.end()) {
    marks.heard_before_ms = std::max(marks.heard_before_ms, heard->second);
  }
  known_as_[id] = std::move(known_as);
  const auto [it, first] = lists_.try_emplace(id, marks);
  if (first) return;
  must(it->second.begun_ms <= now, "a list that begins again is later");
  marks.heard_before_ms = it->second.heard_before_ms;
  it->second = std::move(marks);
}

void Lists::end(ClusterId id) { lists_.erase(id); }

void Lists::mark(ClusterId id, NodeId node) {
  must(static_cast<bool>(node), "a list names a node that is known");
  if (ListMarks* const list = writable(id)) list->nodes.insert(node);
}

void Lists::mark(ClusterId id, const PodPlace& pod) {
  must(pod.job.cluster() == id, "a list names pods of its cluster");
  if (ListMarks* const list = writable(id)) list->pods.insert(pod);
}

void Lists::mark(ClusterId id, const std::string& ns) {
  if (ListMarks* const list = writable(id)) list->namespaces.insert(ns);
}

void Lists::mark_owner(JobId job) {
  if (ListMarks* const list = writable(job.cluster())) list->parked.insert(job);
}

void Lists::move_mark(JobId job, std::uint32_t from, std::uint32_t rank) {
  ListMarks* const list = writable(job.cluster());
  if (list == nullptr) return;
  list->pods.erase({job, rank});
  if (list->pods.erase({job, from}) == 1) list->pods.insert({job, rank});
}

void Lists::move_marks(JobId job, std::span<const fact::PodsRanked::Move> moves) {
  ListMarks* const list = writable(job.cluster());
  if (list == nullptr) return;
  std::vector<PodPlace> marked;
  for (const fact::PodsRanked::Move& m : moves) {
    if (list->pods.erase({job, m.from}) == 1) marked.push_back({job, m.rank});
  }
  list->pods.insert(marked.begin(), marked.end());
}

void Lists::forget(ClusterId id) {
  lists_.erase(id);
  heard_.erase(id);
  known_as_.erase(id);
}

void Lists::check(const Clusters& clusters) const {
  for (const auto& [id, marks] : lists_) {
    must(clusters.all().contains(id), "a list is of a cluster");
    for (const PodPlace& pod : marks.pods)
      must(pod.job.cluster() == id, "a list names pods of its cluster");
    for (const JobId job : marks.parked)
      must(job.cluster() == id, "a list names owners of its cluster");
  }
}

}  // namespace subak::state
