// Reads of the past from a store as a busy service leaves it: the slowest of the worst moments and
// of random moments. Each starts without a state, so it reads a past checkpoint and the facts after
// it. 4,000 GPUs are full of jobs of one GPU, and 10,000 jobs wait.
//
// SUBAK_BENCH_PAST_FACTS: how many facts the store has. The default is 1,000,000, which takes less
// than a minute. The way to a moment is as long with 10,000,000 facts, which take minutes and 3 GB
// of disk.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "server/codec/packed_facts.h"
#include "server/past/fold.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/bench/row.h"

namespace subak {
namespace {

constexpr std::uint32_t kNodes = 500;
constexpr int kWaiting = 10'000, kAccounts = 20, kRandomMoments = 20, kWorstMoments = 5;
constexpr DurationMs kBetweenMs = 500;
constexpr std::size_t kFactsOfCommit = 20'000;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_past: %s\n", what.c_str());
  std::exit(1);
}

// A fleet on which one job after another ends and another starts.
class Life {
 public:
  explicit Life(Store& store) : store_(store) {
    apply(in::SetCluster{"bench", Mode::kEnforce, {}, "bench", false});
    std::vector<NodeSpec> nodes(kNodes);
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      nodes[n].name = "node-" + std::to_string(n);
      nodes[n].product = "NVIDIA-H100-80GB-HBM3";
      nodes[n].gpus = 8;
    }
    apply(in::ImportNodes{"bench", std::move(nodes), "bench", false});
    for (int i = 0; i < kAccounts; ++i) {
      in::SetAccount account;
      account.spec.path = "team-" + std::to_string(i);
      account.reason = "bench";
      apply(account);
    }
    for (std::uint32_t i = 0; i < kNodes * 8 + kWaiting; ++i) submit();
    pass();
  }
  std::uint64_t seq() const { return engine_.seq(); }
  void step() {
    now_ms_ += kBetweenMs;
    const PodRef pod = running_.front();
    running_.pop_front();
    apply(in::PodGone{"bench", pod, 0, Cause::kFinished});
    submit();
    pass();
    if (engine_.seq() - checkpoint_seq_ >= limits::kCheckpointEveryFacts) checkpoint();
  }
  void commit() {
    if (facts_.empty()) return;
    if (const auto error = store_.commit(facts_)) fail(error->message());
    facts_.clear();
  }

 private:
  ApplyOutcome apply(in::Body body) {
    ApplyOutcome outcome = engine_.apply({now_ms_, "", "bench", std::move(body)});
    if (outcome.reply.error) fail(outcome.reply.error->message());
    facts_.insert(facts_.end(), outcome.facts.begin(), outcome.facts.end());
    if (facts_.size() >= kFactsOfCommit) commit();
    return outcome;
  }
  void submit() {
    in::SubmitJob job;
    job.cluster = "bench";
    job.account = "team-" + std::to_string(submitted_++ % kAccounts);
    job.user = "u1";
    job.name = "train";
    job.request.groups.emplace_back();
    job.request.groups[0].count = 1;
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = 1;
    apply(std::move(job));
  }
  void pass() {
    for (const Effect& effect : apply(in::Pass{}).effects) {
      for (const EffectPod& pod : effect.pods) {
        const PodRef ref{"", effect.job, pod.rank, 0};
        apply(in::PodBound{"bench", ref, pod.node, 0});
        apply(in::PodRunning{"bench", ref, 0});
        running_.push_back(ref);
      }
    }
  }
  void checkpoint() {
    commit();
    PackedFacts packed;
    bool whole = true;
    engine_.checkpoint([&](const Fact& fact) { whole = packed.add(fact) && whole; });
    if (!whole) fail("a fact that cannot be stored");
    checkpoint_seq_ = engine_.seq();
    if (const auto error = store_.write_checkpoint(checkpoint_seq_, packed)) fail(error->message());
    const auto error = store_.add_past_checkpoint(checkpoint_seq_, [&] { return &packed; });
    if (error) fail(error->message());
  }

  Store& store_;
  Engine engine_;
  TimeMs now_ms_ = 20'000 * kDayMs;
  std::vector<Fact> facts_;
  std::deque<PodRef> running_;
  std::uint64_t submitted_ = 0, checkpoint_seq_ = 0;
};

// The moments that are farthest from a past checkpoint before them, and random ones.
std::vector<std::uint64_t> moments(const std::vector<StoredCheckpoint>& kept, std::uint64_t last) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;  // the length, and the last moment
  std::uint64_t before = 0;
  for (const StoredCheckpoint& one : kept) {
    gaps.emplace_back(one.seq - before, one.seq - 1);
    before = one.seq;
  }
  std::sort(gaps.rbegin(), gaps.rend());
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < gaps.size() && i < kWorstMoments; ++i) out.push_back(gaps[i].second);
  std::mt19937_64 random(7);
  for (int i = 0; i < kRandomMoments; ++i) out.push_back(1 + random() % last);
  return out;
}

void measure(Store& store, std::uint64_t last) {
  auto reader = store.open_reader();
  if (!reader.ok()) fail(reader.error().message());
  const auto kept = (*reader)->past_checkpoints();
  if (!kept.ok()) fail(kept.error().message());
  std::uint64_t bytes = 0;
  for (const StoredCheckpoint& one : *kept) bytes += one.bytes;
  double longest_s = 0, all_s = 0;
  std::uint64_t longest = 0;
  const auto asked = moments(*kept, last);
  for (const std::uint64_t seq : asked) {
    Fold fold(**reader);
    const bench::Stopwatch watch;
    const auto there = fold.to(seq);
    if (!there.ok()) fail(there.error().message());
    const double s = watch.ns() / 1e9;
    all_s += s;
    if (s > longest_s) longest = seq;
    longest_s = std::max(longest_s, s);
  }
  std::fprintf(
      stderr,
      "bench_past: %llu facts, %zu past checkpoints of %.1f MiB; %zu moments: the mean %.2f s, "
      "the longest, fact %llu, %.2f s\n",
      static_cast<unsigned long long>(last), kept->size(), static_cast<double>(bytes) / (1 << 20),
      asked.size(), all_s / static_cast<double>(asked.size()),
      static_cast<unsigned long long>(longest), longest_s);
  bench::row("past_moment_s", longest_s, "s", 10, bench::Better::kLess, "10 s");
}

void run() {
  const char* const text = std::getenv("SUBAK_BENCH_PAST_FACTS");
  const std::uint64_t facts = text == nullptr ? 1'000'000 : std::strtoull(text, nullptr, 10);
  const auto folder =
      std::filesystem::temp_directory_path() / ("subak_past_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  {
    auto store = open_sqlite_store({(folder / "subak.db").string()});
    if (!store.ok()) fail(store.error().message());
    Life life(**store);
    while (life.seq() < facts) life.step();
    life.commit();
    measure(**store, life.seq());
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace subak

int main() { subak::run(); }
