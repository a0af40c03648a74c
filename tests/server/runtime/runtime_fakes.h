// A clock that a test sets, and a store in memory that a test can make wait or fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"
#include "tests/server/store/support/facts_reader.h"
#include "tests/server/store/support/pack_facts.h"

namespace subak {

class FakeClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return wall_; }
  std::int64_t monotonic_us() const override { return mono_; }
  std::int64_t boot_ms() const override { return boot_; }
  // Lets time pass until `t`: wall clock and boot clock advance. For a jump, use step_wall().
  void set_wall(TimeMs t) {
    boot_ += std::max<DurationMs>(0, t - wall_);
    wall_ = t;
  }
  // Sets the wall clock alone, forward or back.
  void step_wall(TimeMs t) { wall_ = t; }
  void set_mono_ms(DurationMs t) { mono_ = t * 1000; }

 private:
  std::atomic<TimeMs> wall_{1'000'000};
  std::atomic<std::int64_t> mono_{0};
  std::atomic<std::int64_t> boot_{0};
};

class MemoryStore : public Store {
 public:
  std::optional<Error> commit(std::span<const Fact> facts) override {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !blocked_; });
    if (failing_) return Error{ErrorCode::kPrecondition, "store", "disk full", "room"};
    facts_.insert(facts_.end(), facts.begin(), facts.end());
    batches_.push_back(facts.size());
    return std::nullopt;
  }
  std::optional<Error> check_owned() override {
    const std::lock_guard lock(mutex_);
    if (owned_) return std::nullopt;
    return Error{ErrorCode::kPrecondition, "store", "another's now", "ours"};
  }
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override {
    const std::lock_guard lock(mutex_);
    checkpoint_seq_ = seq;
    checkpoint_ = unpack(facts);
    return std::nullopt;
  }
  Result<std::unique_ptr<StoreReader>> open_reader() override {
    return std::unique_ptr<StoreReader>(std::make_unique<Reader>(*this));
  }
  std::string describe() const override { return "memory"; }

  // Makes later commits wait until unblock().
  void block() {
    const std::lock_guard lock(mutex_);
    blocked_ = true;
    entered_ = 0;
  }
  // Waits until a commit has begun since block().
  void await_commit() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_ > 0; });
  }
  void unblock(bool failing = false) {
    {
      const std::lock_guard lock(mutex_);
      blocked_ = false;
      failing_ = failing;
    }
    changed_.notify_all();
  }
  void lose_ownership() {
    const std::lock_guard lock(mutex_);
    owned_ = false;
  }
  std::int64_t owned_until_ms() const override { return owned_until_ms_; }
  void own_until(std::int64_t boot_ms) { owned_until_ms_ = boot_ms; }
  std::vector<std::size_t> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  std::vector<Fact> facts() const {
    const std::lock_guard lock(mutex_);
    return facts_;
  }
  std::uint64_t checkpoint_seq() const {
    const std::lock_guard lock(mutex_);
    return checkpoint_seq_;
  }

 private:
  class Reader final : public FactsReader {
   public:
    explicit Reader(MemoryStore& store) : store_(store) {}
    Result<Recovered> recover(FactSink& sink) override {
      const std::lock_guard lock(store_.mutex_);
      Recovered out;
      for (const Fact& fact : store_.checkpoint_) sink.checkpoint_fact(fact);
      out.checkpoint_seq = out.seq = store_.checkpoint_seq_;
      out.checkpoint_facts = store_.checkpoint_.size();
      sink.checkpoint_end(out.seq);
      for (const Fact& fact : store_.facts_) {
        if (fact.seq <= out.checkpoint_seq) continue;
        sink.fact(fact);
        out.seq = fact.seq;
        ++out.tail_facts;
      }
      return out;
    }
    Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
      const std::lock_guard lock(store_.mutex_);
      std::vector<Fact> out;
      for (const Fact& fact : store_.facts_) {
        if (fact.seq > after && out.size() < most) out.push_back(fact);
      }
      return out;
    }

   private:
    MemoryStore& store_;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool owned_ = true;
  std::atomic<std::int64_t> owned_until_ms_{INT64_MAX};
  std::vector<Fact> facts_, checkpoint_;
  std::vector<std::size_t> batches_;
  std::uint64_t checkpoint_seq_ = 0;
  int entered_ = 0;
  bool blocked_ = false;
  bool failing_ = false;
};

inline Input input(in::Body body, std::string request_id = "") {
  return Input{0, std::move(request_id), "test", std::move(body)};
}

// Posts an input and waits for the reply.
inline Reply call(Runtime& runtime, in::Body body) {
  std::promise<Reply> reply;
  auto got = reply.get_future();
  if (!runtime.post(input(std::move(body)), [&](const Reply& r) { reply.set_value(r); })) {
    Reply full;
    full.error = Error{ErrorCode::kExhausted, "mailbox", "", ""};
    return full;
  }
  return got.get();
}

// Makes a cluster "c" in enforce mode with `nodes` nodes of 8 GPUs, and the account "ml".
inline void build_world(Runtime& runtime, int nodes) {
  call(runtime, in::SetCluster{"c", Mode::kEnforce, {}, "test", false});
  in::ImportNodes import{"c", {}, "test", false};
  for (int i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.product = "H100";
    node.gpus = 8;
    import.nodes.push_back(node);
  }
  call(runtime, import);
  in::SetAccount account;
  account.spec.path = "ml";
  account.reason = "test";
  call(runtime, account);
}

inline in::SubmitJob job(std::int64_t gpus) {
  in::SubmitJob submit;
  submit.cluster = "c";
  submit.account = "ml";
  submit.name = "j";
  PodGroup group;
  group.shape.kind = GpuKind::kWhole;
  group.shape.gpus = gpus;
  submit.request.groups.push_back(group);
  return submit;
}

}  // namespace subak
