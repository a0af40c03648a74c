#include "server/edge/cache/pod_marks.h"

#include "core/duration.h"

namespace subak {

void PodMarks::clear() {
  not_ready_.clear();
  gated_.clear();
  unschedulable_.clear();
  unsized_.clear();
  early_.clear();
  withdrawn_.clear();
  outdated_.clear();
}

void PodMarks::forget(const std::string& uid) {
  not_ready_.erase(uid);
  gated_.erase(uid);
  unschedulable_.erase(uid);
}

void PodMarks::see(const std::string& uid, const Pod& pod, const PodRecord& record, bool ours) {
  const bool lives = record.ended == Cause::kNone && pod.deleted_at.empty();
  set(gated_, uid, record.gated && lives);
  const bool released = ours && !record.gated && lives;
  set(unschedulable_, uid, released && record.node.empty() && !pod.status.unschedulable.empty());
  std::string words = released && !record.node.empty() ? why_not_ready(pod.status) : std::string();
  const auto since = parse_time(pod.status.unready.since, "");
  if (words.empty() || !since) {
    not_ready_.erase(uid);
    return;
  }
  NotReadyPod& entry = not_ready_[uid];
  if (std::exchange(entry.since_ms, *since) != *since) entry.told_ms = 0;
  entry.words = std::move(words);
}

std::set<std::string> PodMarks::take_outdated(std::size_t most) {
  if (most >= outdated_.size()) return std::exchange(outdated_, {});
  std::set<std::string> taken;
  while (taken.size() < most) taken.insert(outdated_.extract(outdated_.begin()));
  return taken;
}

void PodMarks::set(std::set<std::string>& marked, const std::string& uid, bool is) {
  if (is) {
    marked.insert(uid);
  } else {
    marked.erase(uid);
  }
}

}  // namespace subak
