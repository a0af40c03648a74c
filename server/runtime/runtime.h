// The runtime: one loop thread that owns the engine, one store thread that makes batches durable.
//
//   post() -> mailbox -> turn: stamp, Tick if due, apply each -> batch
//   store idle: Pass if due, hand the batch over -> store thread: one transaction -> durable
//   release, in order: follower and observers, View, effects, replies
//
// Group commit without a timer: one batch is in flight while the next one fills; load sets the
// size. The engine runs ahead of the store, and nobody sees anything of a batch before it is
// durable. A commit that fails is final: nothing more is accepted or released, `fatal` is called,
// restart is the way back.
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
#include "engine/engine.h"
#include "engine/view.h"
#include "server/runtime/believed_time.h"
#include "server/runtime/effect_stream.h"
#include "server/runtime/fatal.h"
#include "server/runtime/ports.h"

namespace subak {

using ReplyFn = std::function<void(const Reply&)>;
using RepliesFn = std::function<void(const std::vector<Reply>&)>;  // in the order of the inputs

// A durable batch as followers and observers get it.
struct Released {
  std::shared_ptr<const std::vector<Fact>> facts;  // may be empty
  std::uint64_t seq = 0;                           // of the last fact so far
  TimeMs time_ms = 0;
  bool ours = true;                  // false: another process committed it, and this one follows
  std::size_t inputs = 0;            // that were applied in it
  std::int64_t commit_us = 0;        // 0: no facts, nothing was committed
  std::shared_ptr<const View> view;  // of the loop's engine at `seq`; published with this batch
  // Of the loop's engine at `seq`, if asked for.
  std::optional<std::array<std::uint64_t, 2>> digest;
};

struct RuntimeOptions {
  // End each batch with in::Pass when the engine says that one is due. Tests that must agree with a
  // simulation switch it off and post Pass themselves.
  bool auto_pass = true;
  // No threads: the caller runs turn() and commit(),
  // so that a simulation of faults repeats exactly.
  bool stepped = false;
  // Inputs that may wait in the mailbox; more are refused.
  std::size_t most_waiting = limits::kLoopMailbox;
  // Every n-th batch carries a digest, if its last fact was made at its last instant (O(state) on
  // the loop: tests and audits). 0: none.
  std::uint64_t digest_every = 0;
  // All of these run on the loop's thread, and before there is one on that which follows; they must not block.
  std::function<void(const Released&)> on_durable;  // in order, before the replies of that batch
  std::function<void(const Input&)> record;         // every input as stamped, in order
  std::function<void(std::int64_t us)> on_pass;     // duration of one Pass
  // Called once by the store thread when a commit failed; must not call stop(). Unset: log and end
  // the process at once.
  Fatal fatal;
};

// Numbers for metrics and health. Counters only rise.
struct RuntimeStats {
  std::uint64_t inputs = 0;   // posted and applied, and the first one (Restarted)
  std::uint64_t refused = 0;  // posts refused: mailbox full, stopping or failed
  std::uint64_t batches = 0;  // released
  std::uint64_t facts = 0;    // released
  std::size_t mailbox = 0;    // inputs waiting
  ClockStatus clock;          // kWaits: not ready; only AcceptClock and Finalize make sense
  bool has_work = false;      // something waits for its release
  bool failed = false;        // a commit failed
  bool leads = false;         // start() was called; else it follows at most
  DurationMs behind_ms = 0;   // of one that follows: since it last had all that the store has
};

class Runtime {
 public:
  // `store` and `clock` outlive the runtime.
  Runtime(RuntimeOptions options, Store& store, const Clock& clock);
  ~Runtime();  // stop(); a stepped one just ends, as a process that crashes
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // While another process leads, instead of start() and before it: rebuilds the state and publishes it. Nothing runs,
  // post() and subscribe() refuse, and view(), stats() and now_ms() go on. `saw` gets each fact after the checkpoint.
  // Call once; an error: nothing was published.
  Result<Recovered> follow(const std::function<void(const Fact&)>& saw = nullptr);
  // The next facts, which are durable and all that the store has by now, and what is no fact: released like a batch of
  // our own, if any of it is new. Between follow() and start(), by one thread.
  void followed(std::vector<Fact> facts, const KnownAs& known_as = {});
  // Rebuilds the state, unless it followed until now and has all facts; starts both threads, applies in::Restarted and
  // returns when that is durable (stepped: as soon as it waits for the first turn). Call once. An error (damaged
  // store, unknown fact, failed commit): nothing runs.
  Result<Recovered> start();
  // Refuses new posts, works off what was accepted, makes it durable and releases it, closes the
  // effect streams, joins. Idempotent. Not from the loop's own callbacks.
  void stop();

  // --- any thread --------------------------------------------------------------------------------
  // Queues an input (time_ms is stamped here; beside Input::said_at_ms it may be when that was heard, else that is now.
  // AcceptClock learns what the clock shows). `done`, which may be null, runs on the loop's thread when everything the input caused
  // is durable; it must not block. False: the mailbox is full (RuntimeOptions::most_waiting), or
  // the runtime is not running; `done` is not called then.
  bool post(Input input, ReplyFn done);
  // The same for a group: applied back to back in one batch, one completion. Never empty.
  bool post_many(std::vector<Input> inputs, RepliesFn done);
  // Effects of one cluster: first what is outstanding, then each new one, all of it durable.
  // nullptr when not running.
  std::shared_ptr<EffectStream> subscribe(ClusterId cluster, std::function<void()> wake);
  // The last durable picture; never null after start() or follow().
  std::shared_ptr<const View> view() const;
  RuntimeStats stats() const;
  // The time that an input would be stamped with (server/runtime/believed_time.h).
  TimeMs now_ms() const;
  // Clock::boot_ms().
  std::int64_t boot_ms() const;
  // Wakes the loop to look at the clock again (fake clocks; a real one needs none).
  void nudge();

  // --- stepped only, all calls from one thread ---------------------------------------------------
  // One turn of the loop: takes what came, hands a batch over if the store is idle, releases what
  // has become durable. Nothing after a failed commit.
  void turn();
  // What the store thread does: commits the batch that was handed over, if there is one.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Feeds an empty engine with all that `reader` has; `saw` gets the facts after the checkpoint.
Result<Recovered> recover_engine(StoreReader& reader, Engine& engine,
                                 const std::function<void(const Fact&)>& saw = nullptr);

}  // namespace subak
