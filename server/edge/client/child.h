// Runs a program and reads its output. The program runs in a process group of its own and inherits
// no file descriptor of the service. It has no input, and its errors are discarded. Threads: one
// for each child. The process must let its children be waited for: SIGCHLD is not ignored, and no
// other code waits for any child.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak {

// What to run.
struct ChildProgram {
  // A path, or a name that is looked up in the service's PATH.
  std::string command;
  std::vector<std::string> args;
  // Added to the service's environment; these values win.
  std::vector<std::pair<std::string, std::string>> env;
};

// One run of a program. It owns the process group and the pipe.
class Child {
 public:
  // Starts the program. kNotFound: there is no such program. kPrecondition: it cannot be run;
  // `want` says why.
  static Result<std::unique_ptr<Child>> start(const ChildProgram& program);
  // Kills the group if the program has not ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads the output so far without waiting, a little more than limits::kMaxCredentialBytes at
  // most. True: the program has ended, and its output is complete. Processes that it left running
  // go on.
  bool poll();
  const std::string& output() const { return output_; }
  // Returns the exit code once it has ended. As in a shell, that is 128 + the signal that killed
  // it.
  int exit_code() const { return exit_code_; }

 private:
  Child(pid_t pid, int out) : pid_(pid), out_(out) {}
  // Reads what the pipe has now.
  void read_all();

  const pid_t pid_;
  // The read end of the pipe.
  const int out_;
  bool ended_ = false;
  int exit_code_ = 0;
  std::string output_;
};

}  // namespace subak
