// A queue in which callers take turns: it returns one task of each caller, then the next task of
// each. So a caller with a hundred tasks delays another caller by only one task. Expensive reads
// wait in such a queue.
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
  // The owner of the queue accepts no tasks any more. FairQueue itself never returns this value.
  kStopped,
  // The limit of all callers together is reached.
  kFull,
  // The limit of this caller is reached.
  kCallerFull,
};

// A caller has a task from push() until done(), even after take(). A caller that has no task may
// add one even if the queue is full, so that each caller gets a turn. So at most `most` tasks wait,
// plus one task of each caller. Threads: one at a time; the owner of the queue locks.
template <class Task>
class FairQueue {
 public:
  // `most`: how many tasks of all callers may wait. `most_of_caller`: how many tasks one caller may
  // have, including tasks that were taken and are not done.
  FairQueue(std::size_t most, std::size_t most_of_caller)
      : most_(most), most_of_caller_(most_of_caller) {}

  // Adds a task and returns kYes. If a limit is reached, it drops the task and returns the value
  // for that limit.
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
  // Takes out the next task and returns it with its caller. nullopt: no task waits. Call done()
  // when the task is finished.
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
  // Says that a task of this caller, which take() returned, is finished.
  void done(const std::string& caller) {
    const auto at = lines_.find(caller);
    if (at != lines_.end() && --at->second.taken == 0 && at->second.tasks.empty()) lines_.erase(at);
  }
  // Drops all waiting tasks. Tasks that were taken still count until done().
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
    // The number of tasks that were taken and are not done.
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
