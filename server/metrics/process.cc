#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "server/metrics/page.h"

namespace subak::metrics {

ProcessState read_process() {
  ProcessState out;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    out.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  std::uint64_t size = 0, resident = 0;
  if (std::ifstream("/proc/self/statm") >> size >> resident) {
    out.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  return out;
}

}  // namespace subak::metrics
