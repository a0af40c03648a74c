// Reads and decodes once, on one thread, all that a start reads: the checkpoint, and the facts
// after it, with the reader that the start has, and throws it away. Baseline of the restart.
//   read_store STORE
// The store stays as it was found. Prints one JSON object.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "row.h"
#include "server/store/proof/sqlite_reader.h"

namespace subak {
namespace {

class Counter final : public FactSink {
 public:
  void checkpoint_fact(const Fact& fact) override { count(fact); }
  void checkpoint_end(std::uint64_t) override {}
  void fact(const Fact& fact) override { count(fact); }
  std::uint64_t facts() const { return facts_; }

 private:
  void count(const Fact& fact) {
    bench::keep(fact.body.index());
    ++facts_;
  }
  std::uint64_t facts_ = 0;
};

int fail(const Error& error) {
  std::fprintf(stderr, "read_store: %s\n", error.message().c_str());
  return 1;
}

int run(const char* path) {
  const bench::Stopwatch cpu;
  const auto begin = std::chrono::steady_clock::now();
  auto reader = SqliteReader::open(path, kFactVersion, nullptr);
  if (!reader.ok()) return fail(reader.error());
  Counter counter;
  if (const auto read = (*reader)->recover(counter); !read.ok()) return fail(read.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("{\"rows\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
              static_cast<unsigned long long>(counter.facts()), took.count(), cpu.ns() * 1e-9);
  return 0;
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc == 2) return subak::run(argv[1]);
  std::fprintf(stderr, "usage: read_store STORE\n");
  return 2;
}
