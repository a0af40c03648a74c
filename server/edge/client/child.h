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

struct ChildProgram {
  std::string command;  // a path, or a name that is looked up in the service's PATH
  std::vector<std::string> args;
  // Added to the service's environment; these values win.
  std::vector<std::pair<std::string, std::string>> env;
};

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
  // Valid once it has ended; as in a shell: 128 + the signal.
  int exit_code() const { return exit_code_; }

 private:
  Child(pid_t pid, int out) : pid_(pid), out_(out) {}
  void read_all();

  const pid_t pid_;
  const int out_;  // the read end of the pipe
  bool ended_ = false;
  int exit_code_ = 0;
  std::string output_;
};

}  // namespace subak
