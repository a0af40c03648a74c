// A program that is run for what it prints. It runs in a process group of its own and gets no
// descriptor of ours: nothing to read, and nobody reads its errors.
// Threads: one for each child. The process must leave its children to be waited for (SIGCHLD is not
// ignored, nobody waits for any child).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak {

struct ChildProgram {
  std::string command;  // a path, or a name that is looked up in our PATH
  std::vector<std::string> args;
  // Beside our own environment; of one name these hold.
  std::vector<std::pair<std::string, std::string>> env;
};

class Child {
 public:
  // kNotFound: there is no such program. kPrecondition: it cannot be run; `want` says why.
  static Result<std::unique_ptr<Child>> start(const ChildProgram& program);
  // Kills the group if the program has not ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads what has come, a little more than limits::kMaxCredentialBytes at the most, and does not
  // wait. True: the program has ended, and all that it printed is there; what it left running goes
  // on.
  bool poll();
  const std::string& output() const { return output_; }
  // Once it has ended; as a shell says it, 128 + the signal.
  int exit_code() const { return exit_code_; }

 private:
  Child(pid_t pid, int out) : pid_(pid), out_(out) {}
  void read_all();

  const pid_t pid_;
  const int out_;  // the end of the pipe that we read
  bool ended_ = false;
  int exit_code_ = 0;
  std::string output_;
};

}  // namespace subak
