// Work that waits, taken in turns: one of each caller, then the next of each, so that somebody who
// asks a hundred times delays another by one turn only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace subak {

// What became of work that was to be queued.
enum class Queued : unsigned char {
  kYes,
  kStopped,     // nothing is taken any more
  kFull,        // of all callers together
  kCallerFull,  // of this caller
};

// A caller's share counts what waits and what has been taken and is not done(). Whoever has nothing
// there is let in also when the queue is full, so that nobody is shut out: at most `most` and one
// of each caller wait. Threads: none; the owner locks.
template <class Task>
class FairQueue {
 public:
  FairQueue(std::size_t most, std::size_t most_of_caller)
      : most_(most), most_of_caller_(most_of_caller) {}

  // kYes, or the limit that is reached; the task is not kept then.
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
  // The next one and whose it is. done() follows when it has been worked off.
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
  void done(const std::string& caller) {
    const auto at = lines_.find(caller);
    if (at != lines_.end() && --at->second.taken == 0 && at->second.tasks.empty()) lines_.erase(at);
  }
  // Forgets what waits.
  void clear() {
    turns_.clear();
    waiting_ = 0;
    for (auto& [caller, line] : lines_) line.tasks.clear();
    std::erase_if(lines_, [](const auto& entry) { return entry.second.taken == 0; });
  }
  bool empty() const { return waiting_ == 0; }
  std::size_t size() const { return waiting_; }

 private:
  struct Line {
    std::deque<Task> tasks;
    std::size_t taken = 0;
  };
  std::size_t most_;
  std::size_t most_of_caller_;
  std::size_t waiting_ = 0;
  std::map<std::string, Line> lines_;
  std::deque<std::string> turns_;  // callers with something that waits, each once
};

}  // namespace subak
