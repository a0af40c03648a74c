// The input trace: every input as it was stamped, in the text form of scenario files, so that an
// incident can be replayed through Engine::apply. It decides nothing and recovery never reads it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "core/limits.h"
#include "engine/input.h"

namespace subak {

// `path` is the newest file, `path`.1 the one before, up to limits::kTraceFiles in all; a file is
// full at `file_bytes`. A disk that fails ends the trace with one log line, nothing else. Threads:
// one, the loop's (RuntimeOptions::record). Buffered: the last lines may be missing after a crash.
class InputTrace {
 public:
  explicit InputTrace(std::string path, std::size_t file_bytes = limits::kTraceFileBytes);
  void append(const Input& input);

 private:
  void rotate();

  std::string path_;
  std::size_t file_bytes_;
  std::size_t bytes_ = 0;
  std::ofstream file_;
  bool failed_ = false;
};

}  // namespace subak
