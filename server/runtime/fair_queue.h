// A queue in which callers take turns: first one task of each caller, then the next task of each. A
// caller with a hundred tasks delays another caller by only one task.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace subak {

// The result of queueing a task.
enum class Queued : unsigned char {
  // The task is queued.
  kYes,
  // No task is accepted any more. FairQueue itself never returns this value.
  kStopped,
  // The limit of all callers together is reached.
  kFull,
  // The limit of this caller is reached.
  kCallerFull,
};

// The tasks of a caller are its waiting tasks, and the taken tasks without done(). A caller without
// tasks may add one even if the queue is full, so that each caller gets a turn. So at most `most`
// tasks and one of each caller wait. Threads: none; the owner locks.
template <class Task>
class FairQueue {
 public:
  // `most`: the limit of waiting tasks of all callers. `most_of_caller`: the limit of tasks of one
  // caller, waiting or taken.
  FairQueue(std::size_t most, std::size_t most_of_caller)
      : most_(most), most_of_caller_(most_of_caller) {}

  // Adds a task and returns kYes. If a limit is reached, it drops the task and returns the limit.
  Queued push(const std::string& caller, Task task) {
    Line& line = lines_[caller];
    const std::size_t own = line.tasks.size() + line.taken;
    if (own >= most_of_caller_) return Queued::kCallerFull;
    if (own > 0 && waiting_ >= most_) return Queued::kFull;
    if (line.tasks.empty()) turns_.push_back(caller);
    line.tasks.push_back(std::move(task));
    ++waiting_;
    return Queued::kYes;
  }
  // Returns the next task and its caller. Call done() when it is finished.
  std::optional<std::pair<std::string, Task>> take() {
    if (turns_.empty()) return std::nullopt;
    const std::string caller = std::move(turns_.front());
    turns_.pop_front();
    Line& line = lines_.find(caller)->second;
    std::pair<std::string, Task> next{caller, std::move(line.tasks.front())};
    line.tasks.pop_front();
    ++line.taken;
    --waiting_;
    if (!line.tasks.empty()) turns_.push_back(caller);
    return next;
  }
  // Says that a task of the caller from take() is finished.
  void done(const std::string& caller) {
    const auto at = lines_.find(caller);
    if (at != lines_.end() && --at->second.taken == 0 && at->second.tasks.empty()) lines_.erase(at);
  }
  // Drops the waiting tasks.
  void clear() {
    turns_.clear();
    waiting_ = 0;
    for (auto& [caller, line] : lines_) line.tasks.clear();
    std::erase_if(lines_, [](const auto& entry) { return entry.second.taken == 0; });
  }
  // True if no task waits. Taken tasks do not count.
  bool empty() const { return waiting_ == 0; }
  std::size_t size() const { return waiting_; }

 private:
  // The tasks of one caller.
  struct Line {
    std::deque<Task> tasks;
    // The number of taken tasks without done().
    std::size_t taken = 0;
  };
  std::size_t most_;
  std::size_t most_of_caller_;
  // The number of waiting tasks of all callers.
  std::size_t waiting_ = 0;
  // The tasks by caller. Callers without tasks have no entry.
  std::map<std::string, Line> lines_;
  // Each caller with waiting tasks, once. The first has the next turn.
  std::deque<std::string> turns_;
};

}  // namespace subak
