// The runtime: one loop thread that owns the engine, and one store thread that makes batches
// durable. The engine turns inputs (events and requests) into facts, effects and replies. Facts are
// decisions that must be durable, and effects are commands to the clusters. A batch is what follows
// from some inputs. The View is a read-only copy of the state, as of the last batch, for the
// webhook.
//
//  post() -> mailbox -> turn: read the clock, Tick (a deadline) if due, apply each input -> batch
//  store idle: Pass (scheduling) if due, hand the batch over -> store thread: one transaction
//  durable: release, in order: follower and observers, View, effects, replies
//
// Group commit needs no timer: the loop fills the next batch while the store commits one. So
// batches are larger under load. The engine may be ahead of the store, but no part of a batch is
// visible before the batch is durable. To release a batch is to make it visible: its facts, View,
// effects and replies. A failed commit is final: the runtime accepts no more inputs, releases no
// more batches and calls RuntimeOptions::fatal. The process must then restart.
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
using RepliesFn = std::function<void(const std::vector<Reply>&)>;  // one for each input, in order

// A durable batch, as the follower and observers get it.
struct Released {
  std::shared_ptr<const std::vector<Fact>> facts;  // may be empty
  std::uint64_t seq = 0;                           // the last fact so far
  TimeMs time_ms = 0;
  bool ours = true;                  // false: another process, which leads, committed it
  std::size_t inputs = 0;            // inputs applied in this batch
  std::int64_t commit_us = 0;        // 0: no facts, no commit
  std::shared_ptr<const View> view;  // the loop's View as of `seq`
  // The digest of the loop's engine as of `seq`; nullopt: none was requested (digest_every).
  std::optional<std::array<std::uint64_t, 2>> digest;
};

// The options of the runtime.
struct RuntimeOptions {
  // True: the loop ends a batch with in::Pass if the engine says that a pass is due. A test that
  // must agree with a simulation sets this to false and posts in::Pass itself.
  bool auto_pass = true;
  // True: there are no threads, and the caller runs turn() and commit(). This makes a simulation of
  // faults reproducible.
  bool stepped = false;
  // How many inputs may wait in the mailbox. Further inputs are refused.
  std::size_t most_waiting = limits::kLoopMailbox;
  // Every n-th batch gets a digest of the state, but only if its last fact has the engine's present
  // time. A digest includes that time, which a follower learns only from facts. A digest costs
  // O(state) on the loop's thread, so use it only for tests and audits. 0: no batch gets a digest.
  std::uint64_t digest_every = 0;
  // on_durable, record and on_pass run on the loop's thread. Before that thread exists, on_durable
  // runs on the thread that calls follow() and followed(). These functions must not block.
  std::function<void(const Released&)> on_durable;  // batches in order, each before its replies
  std::function<void(const Input&)> record;         // every input with its time, in order
  std::function<void(std::int64_t us)> on_pass;     // duration of one Pass
  // The loop asks once in each turn whether the engine should be told the civil periods of the
  // policy's budget zone (server/zone). Unset: never.
  std::function<std::optional<in::TellCivilEnds>(const std::string& zone, TimeMs now)> civil_ends;
  // The store thread calls this once, when a commit has failed. `fatal` must not call stop().
  // Unset: the runtime logs the error and ends the process at once.
  Fatal fatal;
};

// Figures for metrics, /readyz and GetStatus. Counters only rise.
struct RuntimeStats {
  std::uint64_t inputs = 0;   // posted inputs that were applied, and in::Restarted
  std::uint64_t refused = 0;  // posts refused: mailbox full, stopping or failed
  std::uint64_t batches = 0;  // released
  std::uint64_t facts = 0;    // released
  std::size_t mailbox = 0;    // inputs waiting
  ClockStatus clock;          // kWaits: not ready; only AcceptClock and Finalize make sense
  bool has_work = false;      // a batch waits for its release
  bool failed = false;        // a commit failed
  bool leads = false;         // start() was called; else the runtime only follows
  DurationMs behind_ms = 0;   // when following: time since it last had all facts of the store
};

// The runtime of one process. Threads: any may call post(), post_many(), subscribe(), view(),
// stats(), now_ms(), boot_ms() and nudge(). One thread at a time calls the other members.
class Runtime {
 public:
  // `store` and `clock` must outlive the runtime.
  Runtime(RuntimeOptions options, Store& store, const Clock& clock);
  ~Runtime();  // calls stop(), but not in stepped mode, which ends like a crash
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Rebuilds the state and publishes it, while another process leads. Call it once, before start()
  // or instead of start(). It starts no thread. Until start(), post() and subscribe() refuse, but
  // view(), stats() and now_ms() work. `saw` gets each fact after the checkpoint. After an error,
  // no state is published.
  Result<Recovered> follow(const std::function<void(const Fact&)>& saw = nullptr);
  // Takes the facts that are new in the store since the last call, and the leader's KnownAs. It
  // releases a batch with these facts, unless there are none and KnownAs is unchanged. Call it
  // between follow() and start(), always from the same thread.
  void followed(std::vector<Fact> facts, const KnownAs& known_as = {});
  // Rebuilds the state, unless follow() has done so; the caller must then have passed all later
  // facts to followed(). It then starts both threads and applies in::Restarted. It returns when the
  // batch with this input is released. In stepped mode it starts no threads and returns while the
  // input still waits for the first turn. Call it once. After an error (damaged store, unknown
  // fact, failed commit) no thread runs.
  Result<Recovered> start();
  // Refuses new posts. It finishes the accepted posts, makes their facts durable and releases the
  // batches. Then it closes the effect streams and joins the threads. A second call does nothing.
  // Do not call it from the loop's own callbacks.
  void stop();

  // Queues an input. The runtime sets Input::time_ms when it applies the input. But if the caller
  // sets Input::said_at_ms, it may also set time_ms to the time at which it received the input; 0
  // means now. If the input is an in::AcceptClock, the runtime writes its reading of the clock into
  // the input.
  //
  // `done` runs on the loop's thread when all facts of the input are durable. `done` may be null,
  // and it must not block. False: the mailbox is full (RuntimeOptions::most_waiting), or the
  // runtime does not run. In both cases `done` is never called.
  bool post(Input input, ReplyFn done);
  // Works as post(), for a group of inputs, which must not be empty. The loop applies the inputs
  // one after the other, in one batch, and calls `done` once for all of them.
  bool post_many(std::vector<Input> inputs, RepliesFn done);
  // Subscribes to the durable effects of one cluster. The stream first gets all outstanding
  // effects, then each new effect. nullptr: the runtime does not run.
  std::shared_ptr<EffectStream> subscribe(ClusterId cluster, std::function<void()> wake);
  // Returns the View of the last released batch. The View is never null after start() or follow().
  std::shared_ptr<const View> view() const;
  RuntimeStats stats() const;
  // Returns the service's present time (server/runtime/clock/believed_time.h).
  TimeMs now_ms() const;
  // Returns Clock::boot_ms().
  std::int64_t boot_ms() const;
  // Wakes the loop so that it reads the clock again. Only tests with a fake clock need it.
  void nudge();

  // --- stepped only, all calls from one thread ---------------------------------------------------
  // Runs one turn of the loop. The turn takes posts, gives a batch to commit() if no batch waits
  // there, and releases the durable batch. It does nothing after a failed commit.
  void turn();
  // Does the work of the store thread: commits the batch that turn() gave, if there is one.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads all facts from `reader` into an engine that must be empty. `saw` gets each fact after the
// checkpoint.
Result<Recovered> recover_engine(StoreReader& reader, Engine& engine,
                                 const std::function<void(const Fact&)>& saw = nullptr);

}  // namespace subak
