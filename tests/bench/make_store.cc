// Writes a store as a busy service would leave it: LEDGER_ROWS rows of the books and JOBS queued
// jobs with request ids, made in the four hours before NOW_MS, with a checkpoint at its end.
//   make_store FILE JOBS LEDGER_ROWS NOW_MS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "server/codec/packed_facts.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {
namespace {

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "make_store: %s\n", error.message().c_str());
  std::exit(1);
}

class Maker {
 public:
  Maker(const char* path, TimeMs start_ms) : now_ms(start_ms) {
    auto store = open_sqlite_store({.path = path});
    if (!store.ok()) fail(store.error());
    store_ = std::move(*store);
  }
  Reply apply(in::Body body) { return decide(std::move(body)).reply; }
  ApplyOutcome decide(in::Body body, std::string request_id = "") {
    Input input{now_ms, std::move(request_id), "bench", std::move(body)};
    ApplyOutcome outcome = engine_.apply(input);
    if (outcome.reply.error) fail(*outcome.reply.error);
    std::move(outcome.facts.begin(), outcome.facts.end(), std::back_inserter(facts_));
    if (facts_.size() >= 20'000) flush();
    return outcome;
  }
  void finish() {
    flush();
    PackedFacts kept;
    bool whole = true;
    engine_.checkpoint([&](const Fact& fact) { whole = kept.add(fact) && whole; });
    if (!whole) fail({ErrorCode::kInvalid, "checkpoint", "", "want facts that can be read again"});
    if (auto error = store_->write_checkpoint(engine_.seq(), kept)) fail(*error);
  }
  TimeMs now_ms;

 private:
  void flush() {
    if (facts_.empty()) return;
    if (auto error = store_->commit(facts_)) fail(*error);
    facts_.clear();
  }
  Engine engine_;
  std::unique_ptr<Store> store_;
  std::vector<Fact> facts_;
};

in::SubmitJob gang(std::uint32_t pods) {
  in::SubmitJob job;
  job.cluster = "bench";
  job.account = "bench";
  job.user = "u1";
  job.name = "train";
  job.time_limit_ms = kHourMs;
  job.request.groups.emplace_back();
  job.request.groups[0].count = pods;
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = 8;
  return job;
}

// A fleet and an account; then gangs that fill it, one after another: two rows of the books a pod.
void fill(Maker& make, std::int64_t jobs, std::int64_t rows) {
  constexpr std::uint32_t kNodes = 500;
  in::SetCluster cluster;
  cluster.name = "bench";
  cluster.mode = Mode::kEnforce;
  cluster.reason = "bench";
  make.apply(cluster);
  in::ImportNodes nodes;
  nodes.cluster = "bench";
  nodes.reason = "bench";
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    NodeSpec node;
    node.name = "node-" + std::to_string(n);
    node.product = "NVIDIA-H100-80GB-HBM3";
    node.gpus = 8;
    nodes.nodes.push_back(node);
  }
  make.apply(nodes);
  in::SetAccount account;
  account.spec.path = "bench";
  account.spec.shares = 1;
  account.reason = "bench";
  make.apply(account);

  for (std::int64_t made = 0; made < rows; made += 2 * kNodes) {
    make.apply(gang(kNodes));
    const ApplyOutcome pass = make.decide(in::Pass{});
    const Effect& open = pass.effects.at(0);
    make.now_ms += 100;
    for (const EffectPod& pod : open.pods) {
      const PodRef ref{"", open.job, pod.rank, 0};
      make.apply(in::PodBound{"bench", ref, pod.node, 0});
    }
    make.now_ms += 1000;
    for (const EffectPod& pod : open.pods) {
      make.apply(in::PodGone{"bench", {"", open.job, pod.rank, 0}, 0, Cause::kFinished});
    }
  }
  make.apply(gang(kNodes));  // runs on, so that the others wait
  const ApplyOutcome pass = make.decide(in::Pass{});
  for (const EffectPod& pod : pass.effects.at(0).pods) {
    make.apply(in::PodBound{"bench", {"", pass.effects[0].job, pod.rank, 0}, pod.node, 0});
  }
  for (std::int64_t j = 0; j < jobs; ++j) {
    make.now_ms += 1;
    make.decide(gang(2), "10000000-0000-4000-8000-" + std::to_string(100'000'000'000 + j));
  }
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: make_store FILE JOBS LEDGER_ROWS NOW_MS\n");
    return 2;
  }
  subak::Maker make(argv[1], std::atoll(argv[4]) - 4 * subak::kHourMs);
  subak::fill(make, std::atoll(argv[2]), std::atoll(argv[3]));
  make.finish();
}
