#include "server/runtime/input_trace.h"

#include <cstdio>
#include <utility>

#include "server/log/log.h"

namespace subak {

InputTrace::InputTrace(std::string path, std::size_t file_bytes)
    : path_(std::move(path)), file_bytes_(file_bytes) {
  rotate();
}

void InputTrace::append(const Input& input) {
  if (failed_) return;
  const std::string line = input_to_text(input);
  if (bytes_ > 0 && bytes_ + line.size() + 1 > file_bytes_) rotate();
  file_ << line << '\n';
  bytes_ += line.size() + 1;
  if (file_) return;
  failed_ = true;
  log::warn("input trace ended: the file cannot be written", {{"file", path_}});
}

// Each start begins a new file, so that one file is one run.
void InputTrace::rotate() {
  file_.close();
  const auto name = [&](std::size_t n) { return n == 0 ? path_ : path_ + "." + std::to_string(n); };
  for (std::size_t n = limits::kTraceFiles - 1; n > 0; --n) {
    std::rename(name(n - 1).c_str(), name(n).c_str());  // missing files do not matter
  }
  file_.open(path_, std::ios::trunc);
  bytes_ = 0;
}

}  // namespace subak
