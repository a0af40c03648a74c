// Runs a program that prints a credential for an API server (an exec plugin), and reads its output.
// The program runs in a process group of its own and inherits no file descriptor of the service.
// The program gets no input, and its error output is discarded. Threads: one at a time for each
// Child. The service must not ignore SIGCHLD, and no other code may wait for child processes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak {

// The program to run.
struct ChildProgram {
  // A path, or a name that is looked up in the service's PATH.
  std::string command;
  std::vector<std::string> args;
  // Variables that are added to the service's environment. These variables replace variables of the
  // same name.
  std::vector<std::pair<std::string, std::string>> env;
};

// One run of a program. A Child owns the process group and the pipe.
class Child {
 public:
  // Starts the program. kNotFound: there is no such program. kPrecondition: the program cannot be
  // run; Error::want says why.
  static Result<std::unique_ptr<Child>> start(const ChildProgram& program);
  // Kills the program's process group if the program has not ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads the output so far, without waiting. Once output() has more than
  // limits::kMaxCredentialBytes, poll() reads no further output. A program that prints more may
  // then block in its write, so the caller should destroy the Child, which kills the program.
  // Returns true if the program has ended. Then output() has all that it printed, up to that limit.
  // Processes that the program started may still run.
  bool poll();
  const std::string& output() const { return output_; }
  // Returns the exit code of the program, which must have ended. If a signal killed the program,
  // the code is 128 + the signal, as in a shell.
  int exit_code() const { return exit_code_; }

 private:
  Child(pid_t pid, int out) : pid_(pid), out_(out) {}
  // Reads the bytes that are in the pipe now, up to the limit of poll().
  void read_all();

  const pid_t pid_;
  // The read end of the pipe.
  const int out_;
  bool ended_ = false;
  int exit_code_ = 0;
  std::string output_;
};

}  // namespace subak
