// Prints a benchmark's results: one JSON object for each line on stdout, in the form of
// build/bench.json, which tools/bench collects. Details for people go to stderr.
// Threads: one at a time.
#pragma once

#include <malloc.h>
#include <time.h>

#include <cstddef>
#include <cstdio>

namespace subak::bench {

// Processor time of this process: other work on the machine counts less than by the wall clock.
class Stopwatch {
 public:
  double ns() const { return now() - start_; }

 private:
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  }
  double start_ = now();
};

// Returns the bytes that are allocated on the heap now.
inline std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Prints a row without a limit.
inline void row(const char* name, double value, const char* unit) {
  std::printf(
      "{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"limit\": null, \"ratio\": null, "
      "\"what_the_limit_is\": null}\n",
      name, value, unit);
}

// Prints a row with its limit, or the baseline of the same run. The ratio is limit / value if less
// is better, else value / limit. At a ratio of 1 the value is at the limit.
enum class Better { kLess, kMore };
inline void row(const char* name, double value, const char* unit, double limit, Better better,
                const char* what_the_limit_is) {
  std::printf(
      "{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"limit\": %.6g, \"ratio\": %.4g, "
      "\"what_the_limit_is\": \"%s\"}\n",
      name, value, unit, limit, better == Better::kLess ? limit / value : value / limit,
      what_the_limit_is);
}

// Makes the compiler compute the value, although nothing uses it.
template <class T>
inline void keep(const T& value) {
  __asm__ volatile("" : : "r,m"(value) : "memory");
}

}  // namespace subak::bench
