#include "server/edge/cache/pod_marks.h"

namespace subak {

void PodMarks::clear() {
  gated_.clear();
  unschedulable_.clear();
  unsized_.clear();
  early_.clear();
  withdrawn_.clear();
  outdated_.clear();
}

void PodMarks::forget(const std::string& uid) {
  gated_.erase(uid);
  unschedulable_.erase(uid);
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
