#include "server/service/prober.h"

#include <chrono>
#include <utility>

#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
void ProbeJudge::take(const ProbeResult& result, DurationMs now_ms) {
  if (result.kind == ProbeResult::Kind::kNotAsked) return;
  serves_ = result.kind == ProbeResult::Kind::kServes;
  if (result.kind != ProbeResult::Kind::kShut) {
    shut_since_ms_.reset();
    return;
  }
  if (!shut_since_ms_) shut_since_ms_ = now_ms;
  dead_ = now_ms - *shut_since_ms_ > patience_ms_;
}

Prober::Prober(std::vector<Probed> probed, const Clock& clock,
               std::function<void(const Error&)> dead, DurationMs every_ms, DurationMs patience_ms)
    : clock_(clock), dead_(std::move(dead)), every_ms_(every_ms) {
  for (Probed& one : probed) asked_.emplace_back(std::move(one), patience_ms);
}

Prober::~Prober() { stop(); }

void Prober::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Prober::start() {
  for (Asked& asked : asked_) look(asked);
  thread_ = std::thread([this] { run(); });
}

void Prober::run() {
  name_thread("prober");
  MutexLock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(every_ms_),
                         [&]() SUBAK_REQUIRES(mutex_) { return stopping_; })) {
    lock.unlock();
    for (Asked& asked : asked_) look(asked);
    lock.lock();
  }
}

void Prober::look(Asked& asked) {
  const ProbeResult result = asked.what.ask(limits::kProbeAnswerMs);
  asked.judge.take(result, clock_.monotonic_ms());
  if (result.kind == ProbeResult::Kind::kNotAsked) {
    log::warn("a listener could not be probed",
              {{"listener", asked.what.name}, {"error", result.detail}});
  }
  const bool serves = asked.judge.serves();
  if (asked.serves.exchange(serves) != serves) {
    if (serves) {
      log::info("a listener answers", {{"listener", asked.what.name}});
    } else {
      log::error("a listener does not answer",
                 {{"listener", asked.what.name}, {"error", result.detail}});
    }
  }
  if (!asked.judge.dead()) return;
  const Error error{ErrorCode::kPrecondition, asked.what.name, result.detail,
                    "want a listener that accepts"};
  log::error("a listener accepts no connections; the service ends", {{"error", error.message()}});
  if (dead_) dead_(error);
}

}  // namespace subak
