#include "server/runtime/follower.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/runtime/checkpointer.h"
#include "server/runtime/clock/clock.h"
#include "server/runtime/forecaster.h"
#include "threads/mutex.h"

namespace subak {

namespace {

// A cheap read; with start estimates if `of_starts` is set.
struct Cheap {
  Follower::Read read;
  Follower::StartsRead of_starts;
};
// An expensive read: with start estimates if `of_starts` is set, with the order if `of_queue` is.
struct ExpensiveRead {
  Follower::Read read;
  Follower::StartsRead of_starts;
  Follower::QueueRead of_queue;
};
using CallersRead = std::pair<std::string, ExpensiveRead>;  // the caller's name first

}  // namespace

struct Follower::Impl {
  Impl(FollowerOptions o, Store& s) : options(std::move(o)), store(s) {
    if (!options.monotonic_ms) {
      options.monotonic_ms = [clock = SystemClock()] { return clock.monotonic_ms(); };
    }
    Forecaster::Options of_starts;
    of_starts.stepped = options.stepped;
    of_starts.monotonic_ms = options.monotonic_ms;
    of_starts.now_ms = options.now_ms;
    of_starts.wake = [this] { wake_up(); };
    of_starts.on_start = options.on_told_start;
    forecaster = std::make_unique<Forecaster>(std::move(of_starts));
    const auto on_written = [this](std::uint64_t seq, const std::optional<Error>& error) {
      written(seq, error);
    };
    checkpointer = std::make_unique<Checkpointer>(
        Checkpointer::Options{options.stepped, options.checkpoint_every, on_written}, store);
  }

  std::optional<Error> start();
  void stop();
  void durable(const Released& batch);
  bool read(Cheap fn);
  Queued read_expensive(const std::string& caller, ExpensiveRead fn);

  void run();
  bool recover();
  void finish();
  bool wait();  // false: the end
  bool turn();  // false: the end
  bool has_more() const {
    const MutexLock lock(shared.mutex);
    return has_work();
  }
  bool has_failed() const {
    const MutexLock lock(shared.mutex);
    return shared.stats.failed;
  }
  bool has_work() const SUBAK_REQUIRES(shared.mutex) {
    return shared.behind || checkpointer->is_copying() || !shared.batches.empty() ||
           !shared.cheap.empty() || !shared.expensive.empty() || shared.made ||
           !queue.due.empty() || forecaster->is_ready();
  }
  void wake_up() {
    { const MutexLock lock(shared.mutex); }  // not between a check of has_work() and the wait
    shared.wake.notify_all();
  }
  void serve_cheap(const std::vector<Cheap>& asked);
  void serve_expensive(std::optional<CallersRead> turn_of);
  template <class F>
  void timed(const char* part, F run_part);
  void answer(CallersRead one);
  bool has_fresh_snapshot();
  void begin_snapshot();
  void end_snapshot();
  void evolve(const Released& batch);
  bool catch_up();
  void compare(const std::array<std::uint64_t, 2>& digest);
  bool may_write() const { return !options.may_write || options.may_write(); }
  void written(std::uint64_t seq, const std::optional<Error>& error);
  void fail(const Error& error);

  FollowerOptions options;
  Store& store;

  // What other threads read and write.
  struct Shared {
    mutable Mutex mutex;
    CondVar wake;
    std::deque<Released> batches SUBAK_GUARDED_BY(mutex);
    std::size_t queued_facts SUBAK_GUARDED_BY(mutex) = 0;
    std::vector<Cheap> cheap SUBAK_GUARDED_BY(mutex);
    FairQueue<ExpensiveRead> expensive SUBAK_GUARDED_BY(mutex){limits::kMaxExpensiveReads,
                                                               limits::kMaxReadsPerCaller};
    // By the thread that sorts the queue, not taken yet.
    std::shared_ptr<const QueueSnapshot> made SUBAK_GUARDED_BY(mutex);
    FollowerStats stats SUBAK_GUARDED_BY(mutex);
    bool behind SUBAK_GUARDED_BY(mutex) = false;  // batches overflowed: read the store instead
    bool running SUBAK_GUARDED_BY(mutex) = false;
    bool stopping SUBAK_GUARDED_BY(mutex) = false;
  };
  Shared shared;

  // The rest is used by the follower's thread alone.
  std::unique_ptr<StoreReader> reader;
  Engine engine;
  // The queue in order: the newest snapshot, the one that another thread makes, and reads of both.
  struct Queue {
    std::shared_ptr<const QueueSnapshot> newest;
    DurationMs at_ms = 0;            // when its copy was taken
    bool making = false;             // the next one, on `thread`
    std::deque<CallersRead> parked;  // reads that wait for it
    std::deque<CallersRead> due;     // reads that it can answer: one per turn
    QueueCopy copied;                // used by `thread` while it runs
    std::thread thread;
  };
  Queue queue;
  std::unique_ptr<Forecaster> forecaster;
  std::unique_ptr<Checkpointer> checkpointer;
  std::thread thread;
};

Follower::Follower(FollowerOptions options, Store& store)
    : impl_(std::make_unique<Impl>(std::move(options), store)) {}

Follower::~Follower() {
  if (!impl_->options.stepped) stop();
}

std::optional<Error> Follower::start() { return impl_->start(); }

void Follower::stop() { impl_->stop(); }

void Follower::turn() {
  while (impl_->turn() && impl_->has_more()) {
  }
}

void Follower::durable(const Released& batch) { impl_->durable(batch); }

bool Follower::read(Read fn) { return impl_->read({std::move(fn), nullptr}); }

bool Follower::read_starts(StartsRead fn) { return impl_->read({nullptr, std::move(fn)}); }

Queued Follower::read_expensive(const std::string& caller, Read fn) {
  return impl_->read_expensive(caller, {std::move(fn), nullptr, nullptr});
}

Queued Follower::read_expensive_starts(const std::string& caller, StartsRead fn) {
  return impl_->read_expensive(caller, {nullptr, std::move(fn), nullptr});
}

Queued Follower::read_queue(const std::string& caller, QueueRead fn) {
  return impl_->read_expensive(caller, {nullptr, nullptr, std::move(fn)});
}

FollowerStats Follower::stats() const {
  const MutexLock lock(impl_->shared.mutex);
  FollowerStats stats = impl_->shared.stats;
  stats.past = impl_->checkpointer->past();
  stats.reads_waiting = impl_->shared.cheap.size() + impl_->shared.expensive.size();
  return stats;
}

std::optional<Error> Follower::Impl::start() {
  auto opened = store.open_reader();
  if (!opened.ok()) return opened.error();
  reader = std::move(*opened);
  {
    const MutexLock lock(shared.mutex);
    shared.running = true;
  }
  if (!options.stepped) {
    thread = std::thread([this] { run(); });
  } else {
    recover();
  }
  return std::nullopt;
}

void Follower::Impl::stop() {
  {
    const MutexLock lock(shared.mutex);
    if (!shared.running) return;
    shared.running = false;
    shared.stopping = true;
  }
  if (!options.stepped) {
    shared.wake.notify_all();
    thread.join();
  } else if (!has_failed()) {
    while (turn() && has_more()) {
    }
    finish();
  }
}

void Follower::Impl::durable(const Released& batch) {
  {
    const MutexLock lock(shared.mutex);
    shared.stats.durable_seq = batch.seq;
    if (shared.stopping || shared.behind) return;
    shared.queued_facts += batch.facts->size();
    if (shared.queued_facts > options.most_queued_facts) {
      shared.batches.clear();
      shared.queued_facts = 0;
      shared.behind = true;
      ++shared.stats.caught_up_from_store;
    } else if (!batch.facts->empty() || batch.digest) {
      shared.batches.push_back(batch);
    }
  }
  shared.wake.notify_all();
}

bool Follower::Impl::read(Cheap fn) {
  {
    const MutexLock lock(shared.mutex);
    if (!shared.running || shared.stats.failed || shared.cheap.size() >= limits::kMaxCheapReads)
      return false;
    shared.cheap.push_back(std::move(fn));
  }
  shared.wake.notify_all();
  return true;
}

Queued Follower::Impl::read_expensive(const std::string& caller, ExpensiveRead fn) {
  {
    const MutexLock lock(shared.mutex);
    if (!shared.running || shared.stats.failed) return Queued::kStopped;
    const Queued queued = shared.expensive.push(caller, std::move(fn));
    if (queued != Queued::kYes) return queued;
  }
  shared.wake.notify_all();
  return Queued::kYes;
}

void Follower::Impl::run() {
  name_thread("follower");
  if (recover()) {
    while (wait() && turn()) {
    }
  }
  finish();
}

void Follower::Impl::finish() {
  end_snapshot();
  checkpointer->stop_day_sums();
  checkpointer->finish_copy(engine);
  checkpointer->wait();
  const bool is_newer = !has_failed() && engine.seq() > checkpointer->seq();
  if (options.checkpoint_on_stop && is_newer && may_write()) {
    checkpointer->begin(engine, forecaster->record(engine.seq()));
    checkpointer->finish_copy(engine);
    checkpointer->wait();
  }
}

bool Follower::Impl::recover() {
  const std::uint64_t told_seq = forecaster->restore(store.read_calibration());
  const auto saw = [&](const Fact& fact) {
    if (fact.seq > told_seq) forecaster->recovered(fact);
  };
  const Result<Recovered> recovered = recover_engine(*reader, engine, saw);
  if (!recovered.ok()) {
    fail(recovered.error());
    return false;
  }
  const std::uint64_t checkpoint_seq = recovered->checkpoint_seq;
  checkpointer->found(checkpoint_seq, recovered->checkpoint_facts);
  checkpointer->count_past(*reader);
  forecaster->go_on(engine, told_seq >= checkpoint_seq && told_seq <= engine.seq());
  const MutexLock lock(shared.mutex);
  shared.stats.seq = engine.seq();
  shared.stats.checkpoint_seq = checkpoint_seq;
  return true;
}

bool Follower::Impl::wait() {
  MutexLock lock(shared.mutex);
  const auto awake = [&]() SUBAK_REQUIRES(shared.mutex) {
    return shared.stopping || has_work() || forecaster->is_copying();
  };
  const std::optional<DurationMs> forecast_in = forecaster->due_in(engine);
  if (forecast_in) {
    shared.wake.wait_for(lock, std::chrono::milliseconds(*forecast_in), awake);
  } else {
    shared.wake.wait(lock, awake);
  }
  return !shared.stopping || has_work();
}

// Takes reads together with the facts that were released before them, and runs the reads after
// those.
bool Follower::Impl::turn() {
  std::deque<Released> released;
  std::vector<Cheap> asked;
  std::optional<CallersRead> expensive_one;
  bool from_store = false;
  {
    const MutexLock lock(shared.mutex);
    released.swap(shared.batches);
    shared.queued_facts = 0;
    asked.swap(shared.cheap);
    if (shared.made) {
      queue.newest = std::exchange(shared.made, nullptr);
      queue.making = false;
      for (CallersRead& one : queue.parked) queue.due.push_back(std::move(one));
      queue.parked.clear();
    }
    if (queue.due.empty()) expensive_one = shared.expensive.take();
    from_store = shared.behind;
  }
  timed("facts", [&] {
    for (const Released& batch : released) evolve(batch);
  });
  if (from_store && !catch_up()) return false;
  timed("cheap reads", [&] { serve_cheap(asked); });
  timed("an expensive read", [&] { serve_expensive(std::move(expensive_one)); });
  timed("the forecast's copy", [&] { forecaster->turn(engine, !checkpointer->is_copying()); });
  timed("a checkpoint's copy", [&] {
    if (checkpointer->is_copying()) return checkpointer->copy_slice(engine);
    if (checkpointer->are_days_due(engine) && may_write()) checkpointer->add_day_sums(engine);
    if (forecaster->is_copying() || !checkpointer->is_due(engine) || !may_write()) return;
    checkpointer->begin(engine, forecaster->record(engine.seq()));
  });
  const MutexLock lock(shared.mutex);
  shared.stats.seq = engine.seq();
  shared.stats.forecasts = forecaster->made();
  return true;
}

// Logs a part of a turn in which other reads waited for long.
template <class F>
void Follower::Impl::timed(const char* part, F run_part) {
  const DurationMs began_ms = options.monotonic_ms();
  run_part();
  const DurationMs took_ms = options.monotonic_ms() - began_ms;
  if (took_ms < limits::kSlowTurnMs) return;
  log::info("reads waited", {{"for", part}, {"ms", took_ms}, {"seq", engine.seq()}});
}

void Follower::Impl::serve_cheap(const std::vector<Cheap>& asked) {
  if (asked.empty()) return;
  for (const Cheap& one : asked) {
    one.read ? one.read(engine) : one.of_starts(engine, forecaster->newest(engine));
  }
  const MutexLock lock(shared.mutex);
  shared.stats.reads_answered += asked.size();
}

void Follower::Impl::serve_expensive(std::optional<CallersRead> turn_of) {
  if (!queue.due.empty()) {
    CallersRead one = std::move(queue.due.front());
    queue.due.pop_front();
    return answer(std::move(one));
  }
  if (!turn_of) return;
  if (!turn_of->second.of_queue || has_fresh_snapshot()) return answer(*std::move(turn_of));
  queue.parked.push_back(*std::move(turn_of));
  begin_snapshot();
}

void Follower::Impl::answer(CallersRead one) {
  if (one.second.read) one.second.read(engine);
  if (one.second.of_starts) one.second.of_starts(engine, forecaster->starts(engine));
  if (one.second.of_queue) one.second.of_queue(engine, *queue.newest, forecaster->starts(engine));
  one.second = {};  // what it keeps alive is freed before its slot
  const MutexLock lock(shared.mutex);
  ++shared.stats.reads_answered;
  shared.expensive.done(one.first);
}

// True if a snapshot is fresh enough to answer.
bool Follower::Impl::has_fresh_snapshot() {
  if (queue.newest && queue.newest->seq() == engine.seq()) return true;
  if (options.stepped || engine.count(JobState::kQueued) <= limits::kQueueOrderedAtOnce) {
    queue.newest = std::make_shared<const QueueSnapshot>(engine.queue_snapshot());
    queue.at_ms = options.monotonic_ms();
    const MutexLock lock(shared.mutex);
    ++shared.stats.queue_snapshots;
    return true;
  }
  return queue.newest && options.monotonic_ms() - queue.at_ms < limits::kQueueSnapshotMs;
}

// Makes a snapshot from a copy, on a thread that shares no other data.
void Follower::Impl::begin_snapshot() {
  if (queue.making) return;
  queue.making = true;
  if (queue.thread.joinable()) queue.thread.join();  // it has handed its snapshot over
  queue.at_ms = options.monotonic_ms();
  engine.copy_queue(queue.copied);
  queue.thread = std::thread([this] {
    name_thread("queue snapshot");
    auto fresh = std::make_shared<const QueueSnapshot>(queue.copied.make());
    {
      const MutexLock lock(shared.mutex);
      shared.made = std::move(fresh);
      ++shared.stats.queue_snapshots;
    }
    shared.wake.notify_all();
  });
}

// Answers the reads that wait for a snapshot before the end.
void Follower::Impl::end_snapshot() {
  if (queue.thread.joinable()) queue.thread.join();
  {
    const MutexLock lock(shared.mutex);
    if (shared.made) queue.newest = std::exchange(shared.made, nullptr);
  }
  queue.making = false;
  for (CallersRead& one : queue.parked) queue.due.push_back(std::move(one));
  queue.parked.clear();
  while (!queue.due.empty()) serve_expensive(std::nullopt);
}

void Follower::Impl::evolve(const Released& batch) {
  for (const Fact& fact : *batch.facts) {
    if (fact.seq <= engine.seq()) continue;  // recovery has read it already
    engine.evolve(fact);
    forecaster->saw(fact);
  }
  if (batch.digest && batch.seq == engine.seq()) compare(*batch.digest);
}

// Reads the store until all durable facts are there. Only then are batches queued again.
bool Follower::Impl::catch_up() {
  while (true) {
    const auto facts = reader->facts(engine.seq(), limits::kCheckpointChunkFacts);
    if (!facts.ok()) {
      fail(facts.error());
      return false;
    }
    for (const Fact& fact : *facts) {
      engine.evolve(fact);
      forecaster->saw(fact);
    }
    const MutexLock lock(shared.mutex);
    if (shared.stats.durable_seq > engine.seq()) continue;
    shared.behind = false;
    return true;
  }
}

void Follower::Impl::compare(const std::array<std::uint64_t, 2>& digest) {
  const bool equal = engine.digest() == digest;
  {
    const MutexLock lock(shared.mutex);
    ++(equal ? shared.stats.digests_equal : shared.stats.digests_different);
  }
  if (equal) return;
  log::error("the follower's state differs from the loop's", {{"seq", engine.seq()}});
  if (options.on_digest_mismatch) options.on_digest_mismatch();
}

void Follower::Impl::written(std::uint64_t seq, const std::optional<Error>& error) {
  const MutexLock lock(shared.mutex);
  if (error) {
    ++shared.stats.checkpoint_failures;
  } else {
    ++shared.stats.checkpoints;
    shared.stats.checkpoint_seq = seq;
  }
}

void Follower::Impl::fail(const Error& error) {
  {
    const MutexLock lock(shared.mutex);
    shared.stats.failed = true;
    shared.cheap.clear();
    shared.expensive.clear();
    queue.parked.clear();
    queue.due.clear();
  }
  end_process(error, options.fatal);
}

}  // namespace subak
