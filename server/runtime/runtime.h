// The runtime: one loop thread that owns the engine, one store thread that makes batches durable.
//
//  post() -> mailbox -> turn: stamp, Tick if due, apply each -> batch
//  store idle: Pass if due, hand the batch over -> store thread: one transaction -> durable
//  release, in order: follower and observers, View, effects, replies
//
// Group commit works without a timer: the store commits one batch while the next one fills. So
// batches are larger under load. The engine may be ahead of the store, but no part of a batch is
// visible before the batch is durable. A failed commit is final: the runtime accepts and releases
// no more, calls `fatal`, and the process must restart.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "engine/answers/view.h"
#include "engine/engine.h"
#include "server/runtime/clock/believed_time.h"
#include "server/runtime/effect_stream.h"
#include "server/runtime/fatal.h"
#include "server/runtime/ports.h"

namespace subak {

using ReplyFn = std::function<void(const Reply&)>;
using RepliesFn = std::function<void(const std::vector<Reply>&)>;  // in the order of the inputs

// A durable batch for followers and observers.
struct Released {
  std::shared_ptr<const std::vector<Fact>> facts;  // may be empty
  std::uint64_t seq = 0;                           // the last fact so far
  TimeMs time_ms = 0;
  bool ours = true;                  // false: another process committed it, and this one follows
  std::size_t inputs = 0;            // inputs applied in this batch
  std::int64_t commit_us = 0;        // 0: no facts, no commit
  std::shared_ptr<const View> view;  // the loop's View at `seq`; published with this batch
  // The digest of the loop's engine at `seq`, if requested.
  std::optional<std::array<std::uint64_t, 2>> digest;
};

struct RuntimeOptions {
  // Ends each batch with in::Pass when the engine says that one is due. Tests that must agree with
  // a simulation switch it off and post Pass themselves.
  bool auto_pass = true;
  // True: there are no threads, and the caller runs turn() and commit(). So a simulation of faults
  // is reproducible.
  bool stepped = false;
  // How many inputs may wait in the mailbox; further ones are refused.
  std::size_t most_waiting = limits::kLoopMailbox;
  // Every n-th batch gets a digest of the state, if the batch's last fact is of the batch's last
  // instant. A digest costs O(state) on the loop, so use it for tests and audits. 0:
  // no batch gets one.
  std::uint64_t digest_every = 0;
  // on_durable, record and on_pass run on the loop's thread. Before that thread exists, they run on
  // the thread that calls follow() and followed(). They must not block.
  std::function<void(const Released&)> on_durable;  // in order, before a batch's replies
  std::function<void(const Input&)> record;         // every input with its time, in order
  std::function<void(std::int64_t us)> on_pass;     // duration of one Pass
  // Called once by the store thread when a commit failed; must not call stop(). Unset: the runtime
  // logs the error and ends the process at once.
  Fatal fatal;
};

// Figures for metrics and health. Counters only rise.
struct RuntimeStats {
  std::uint64_t inputs = 0;   // inputs posted and applied, and the first one (Restarted)
  std::uint64_t refused = 0;  // posts refused: mailbox full, stopping or failed
  std::uint64_t batches = 0;  // released
  std::uint64_t facts = 0;    // released
  std::size_t mailbox = 0;    // inputs waiting
  ClockStatus clock;          // kWaits: not ready; only AcceptClock and Finalize make sense
  bool has_work = false;      // a batch waits for its release
  bool failed = false;        // a commit failed
  bool leads = false;         // start() was called; else it follows at most
  DurationMs behind_ms = 0;   // when following: time since it had all facts of the store
};

class Runtime {
 public:
  // `store` and `clock` outlive the runtime.
  Runtime(RuntimeOptions options, Store& store, const Clock& clock);
  ~Runtime();  // stop(); a stepped runtime just ends, like a process that crashes
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Rebuilds the state and publishes it, while another process leads. Call it once, before start()
  // or instead of it. No thread runs; post() and subscribe() refuse; view(), stats() and now_ms()
  // work. `saw` gets each fact after the checkpoint. After an error, no state is published.
  Result<Recovered> follow(const std::function<void(const Fact&)>& saw = nullptr);
  // Takes all further facts that the store has now, and the leader's KnownAs. It releases them as a
  // separate batch, unless both are unchanged. Call it between follow() and
  // start(), from one thread.
  void followed(std::vector<Fact> facts, const KnownAs& known_as = {});
  // Rebuilds the state, unless the runtime followed until now and has all facts. It then starts
  // both threads, applies in::Restarted, and returns when that input is durable. In stepped mode it
  // returns when the input waits for the first turn. Call it once. After an error (damaged store,
  // unknown fact, failed commit) no thread runs.
  Result<Recovered> start();
  // Refuses new posts, finishes the accepted ones, makes them durable and releases them. Then it
  // closes the effect streams and joins the threads. Idempotent.
  // Do not call it from the loop's own callbacks.
  void stop();

  // Queues an input. The runtime sets time_ms. If Input::said_at_ms is set, the caller may set
  // time_ms to the time at which it heard the input; 0 means now. AcceptClock gets the reading of
  // the clock.
  //
  // `done`, which may be null, runs on the loop's thread when all facts of the input are durable.
  // It must not block. False: the mailbox is full (RuntimeOptions::most_waiting) or the runtime
  // does not run. Then `done` is not called.
  bool post(Input input, ReplyFn done);
  // As post(), for a group of inputs, which must not be empty. The loop applies them one after the
  // other in one batch, and calls `done` once.
  bool post_many(std::vector<Input> inputs, RepliesFn done);
  // Subscribes to the durable effects of one cluster: first the outstanding effects, then each new
  // one. nullptr: the runtime does not run.
  std::shared_ptr<EffectStream> subscribe(ClusterId cluster, std::function<void()> wake);
  // Returns the last durable snapshot; never null after start() or follow().
  std::shared_ptr<const View> view() const;
  RuntimeStats stats() const;
  // Returns the time that an input would get (server/runtime/clock/believed_time.h).
  TimeMs now_ms() const;
  // Returns Clock::boot_ms().
  std::int64_t boot_ms() const;
  // Wakes the loop to read the clock again. Only fake clocks need it.
  void nudge();

  // --- stepped only, all calls from one thread ---------------------------------------------------
  // Runs one turn of the loop: takes posts, hands a batch over if the store is idle, and releases
  // durable batches. Does nothing after a failed commit.
  void turn();
  // Does the work of the store thread: commits the batch that was handed over, if there is one.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Gives all facts of `reader` to an empty engine. `saw` gets the facts after the checkpoint.
Result<Recovered> recover_engine(StoreReader& reader, Engine& engine,
                                 const std::function<void(const Fact&)>& saw = nullptr);

}  // namespace subak
