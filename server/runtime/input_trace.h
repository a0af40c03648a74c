// The input trace: every input with its time, in the text form of scenario files, so that an
// incident can be replayed through Engine::apply. It has no influence on decisions, and recovery
// never reads it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "core/limits.h"
#include "model/input.h"

namespace subak {

// Writes the trace. `path` is the newest file and `path`.1 the previous one, up to
// limits::kTraceFiles in all. A file is full at `file_bytes`. A disk failure ends the trace with
// one log line and has no other effect. It is buffered, so the last lines may be missing after a
// crash. Threads: the loop's (RuntimeOptions::record).
class InputTrace {
 public:
  // Renames the older files and begins a new one, so that a file is one run at most. A folder that
  // is missing fails at the first append(), with a log line.
  explicit InputTrace(std::string path, std::size_t file_bytes = limits::kTraceFileBytes);
  // Writes one line. Files are changed before a line that would not fit.
  void append(const Input& input);

 private:
  // Renames the files and begins a new one. The oldest one is overwritten.
  void rotate();

  std::string path_;
  std::size_t file_bytes_;
  // Written to the present file.
  std::size_t bytes_ = 0;
  std::ofstream file_;
  // The trace has ended.
  bool failed_ = false;
};

}  // namespace subak
