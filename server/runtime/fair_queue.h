// A queue that serves callers in turns: one task of each caller, then the next of each. A caller
// with a hundred tasks delays another caller by one turn only.
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
  // Nothing is accepted any more. FairQueue itself never returns it.
  kStopped,
  // The limit of all callers together is reached.
  kFull,
  // The limit of this caller is reached.
  kCallerFull,
};

// A caller's share counts its waiting tasks and those taken and not done(). A caller without tasks
// is admitted even when the queue is full, so that none is shut out. So at most `most` tasks and
// one of each caller wait. Threads: none; the owner locks.
template <class Task>
class FairQueue {
 public:
  // `most`: tasks that wait, of all callers. `most_of_caller`: tasks of one caller, taken ones
  // included.
  FairQueue(std::size_t most, std::size_t most_of_caller)
      : most_(most), most_of_caller_(most_of_caller) {}

  // Returns kYes, or the limit that is reached; the task is then dropped.
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
  // A task of the caller that take() gave is finished.
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
  // True if no task waits. Taken ones do not count.
  bool empty() const { return waiting_ == 0; }
  std::size_t size() const { return waiting_; }

 private:
  // The tasks of one caller.
  struct Line {
    std::deque<Task> tasks;
    // Taken and not done().
    std::size_t taken = 0;
  };
  std::size_t most_;
  std::size_t most_of_caller_;
  // Tasks in all lines.
  std::size_t waiting_ = 0;
  // By caller. Callers without tasks have no entry.
  std::map<std::string, Line> lines_;
  // Callers with waiting tasks, each once: the first has the next turn.
  std::deque<std::string> turns_;
};

}  // namespace subak
