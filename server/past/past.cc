#include "server/past/past.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/codec/packed_facts.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/runtime/clock/clock.h"

namespace subak {

const QueueSnapshot& PastState::order() {
  if (!order_) order_ = engine_.queue_snapshot();
  return *order_;
}

const ForecastStarts& PastState::starts() {
  if (forecaster_ == nullptr) {
    Forecaster::Options options;
    options.stepped = true;
    options.monotonic_ms = [clock = SystemClock()] { return clock.monotonic_ms(); };
    options.now_ms = [this] { return time_ms_; };
    forecaster_ = std::make_unique<Forecaster>(std::move(options));
  }
  return forecaster_->starts(engine_);
}

void Past::start(Store& store) {
  store_ = &store;
  {
    const MutexLock lock(mutex_);
    running_ = true;
  }
  thread_ = std::thread([this] { work(); });
}

void Past::stop() {
  stopping_ = true;
  {
    const MutexLock lock(mutex_);
    running_ = false;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Queued Past::ask(const std::string& caller, PastRead read) {
  {
    const MutexLock lock(mutex_);
    if (!running_) return Queued::kStopped;
    // A caller without a waiting read may add one beyond the limit of FairQueue: not here.
    if (reads_.size() >= limits::kMaxPastReads) return Queued::kFull;
    const Queued queued = reads_.push(caller, std::move(read));
    if (queued != Queued::kYes) return queued;
  }
  wake_.notify_all();
  return Queued::kYes;
}

std::optional<std::pair<std::string, PastRead>> Past::next() {
  while (true) {
    {
      MutexLock lock(mutex_);
      const auto awake = [&]() SUBAK_REQUIRES(mutex_) { return !running_ || !reads_.empty(); };
      if (keeps_) {
        wake_.wait_for(lock, std::chrono::milliseconds(options_.keep_ms), awake);
      } else {
        wake_.wait(lock, awake);
      }
      if (!reads_.empty()) return reads_.take();
      if (!running_) return std::nullopt;
    }
    drop();
  }
}

void Past::work() {
  name_background_thread("past");
  while (auto read = next()) {
    serve(read->second);
    read->second = {};  // what it keeps alive is freed before its slot
    const MutexLock lock(mutex_);
    reads_.done(read->first);
  }
  drop();
}

std::optional<Error> Past::open() {
  if (kept_.reader != nullptr) return std::nullopt;
  auto reader = store_->open_reader();
  if (!reader.ok()) return reader.error();
  kept_.reader = std::move(*reader);
  kept_.fold = std::make_unique<Fold>(*kept_.reader, [this](const Engine& e) { keep(e); });
  keeps_ = true;
  return std::nullopt;
}

void Past::keep(const Engine& engine) {
  PackedFacts facts;
  const auto packed = [&]() -> const PackedFacts* {
    bool whole = true;
    engine.checkpoint([&](const Fact& fact) { whole = facts.add(fact) && whole; });
    return whole ? &facts : nullptr;
  };
  if (const auto error = store_->add_past_checkpoint(engine.seq(), packed)) {
    log::warn("past checkpoint not written", {{"seq", engine.seq()}, {"error", error->message()}});
  }
}

void Past::drop() {
  if (kept_.reader != nullptr) log::info("the state of an earlier moment was dropped");
  kept_ = {};
  keeps_ = false;
}

void Past::serve(const PastRead& read) {
  const auto is_wanted = [&] { return !stopping_ && (!read.wanted || read.wanted()); };
  if (!is_wanted()) return read.failed(std::nullopt);
  if (auto error = open()) return read.failed(error);
  const auto seq = seq_of_moment(*kept_.reader, read.moment, options_.last_seq(), "at");
  if (!seq.ok()) return read.failed(seq.error());
  // A time may get further facts while it is the present.
  if (kept_.moment != read.moment || kept_.state->engine().seq() != *seq) {
    kept_.moment.reset();
    kept_.state.reset();
    const Result<bool> there = kept_.fold->to(*seq, is_wanted);
    if (!there.ok()) {
      drop();
      return read.failed(there.error());
    }
    if (!*there) return read.failed(std::nullopt);
    const Engine& engine = kept_.fold->engine();
    const auto* const time = std::get_if<MomentTime>(&read.moment);
    const TimeMs time_ms = std::max(engine.now(), time == nullptr ? 0 : time->time_ms);
    kept_.state = std::make_unique<PastState>(engine, time_ms);
    kept_.moment = read.moment;
  }
  read.then(*kept_.state);
}

}  // namespace subak
