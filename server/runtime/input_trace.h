// Writes the input trace: files with every input of the engine and its time, in the text form of
// the scenario files in tests/scenarios. With a trace, a developer can replay an incident through
// Engine::apply(). The trace has no influence on decisions, and a recovery never reads it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "core/limits.h"
#include "model/input.h"

namespace subak {

// Writes the trace. `path` is the newest file and `path`.1 the previous one. There are at most
// limits::kTraceFiles files in all. A file has at most `file_bytes` bytes, unless its first line
// alone is longer. A disk failure ends the trace with one log line, and has no other effect. The
// output is buffered, so the last lines may be missing after a crash. Threads: only the loop's
// thread calls it (RuntimeOptions::record).
class InputTrace {
 public:
  // Renames the older files and begins a new one, so that no file has inputs of two runs. If the
  // folder of `path` is missing, the first append() writes a log line and ends the trace.
  explicit InputTrace(std::string path, std::size_t file_bytes = limits::kTraceFileBytes);
  // Writes one line for the input. If the line does not fit into the present file, it first begins
  // a new file.
  void append(const Input& input);

 private:
  // Renames the files and begins a new one. The oldest file is overwritten.
  void rotate();

  std::string path_;
  std::size_t file_bytes_;
  // The number of bytes in the present file.
  std::size_t bytes_ = 0;
  std::ofstream file_;
  // True: the trace has ended.
  bool failed_ = false;
};

}  // namespace subak
