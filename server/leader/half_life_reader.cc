#include "server/leader/half_life_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "model/input.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

constexpr DurationMs kLookMs = 200;     // between two looks for a change
constexpr DurationMs kRetryMs = 5'000;  // after an error of the store

}  // namespace

HalfLifeReader::~HalfLifeReader() { stop(); }

void HalfLifeReader::start() {
  thread_ = std::thread([this] { run(); });
}

void HalfLifeReader::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool HalfLifeReader::pause(DurationMs ms) {
  MutexLock lock(mutex_);
  const auto stopped = [this]() SUBAK_REQUIRES(mutex_) { return stopping_; };
  if (ms > 0) wake_.wait_for(lock, std::chrono::milliseconds(ms), stopped);
  return !stopping_;
}

void HalfLifeReader::run() {
  name_background_thread("half-life");
  while (pause(look())) {
  }
}

DurationMs HalfLifeReader::look() {
  const HalfLifeChange change = runtime_.view()->policy.fair_share.change;
  if (change.seq == 0) {
    fold_.reset();
    reader_.reset();
    facts_read_ = 0;
    return kLookMs;
  }
  if (!fold_ || fold_->half_life_ms() != change.half_life_ms || fold_->seq() > change.seq) {
    fold_ = std::make_unique<HalfLifeFold>(change.half_life_ms);
    log::info("the half-life changes",
              {{"half_life_ms", change.half_life_ms}, {"facts", change.seq}});
  }
  if (fold_->seq() < change.seq) return read(change);
  post(change);
  return kLookMs;
}

DurationMs HalfLifeReader::read(const HalfLifeChange& change) {
  if (!reader_) {
    Result<std::unique_ptr<StoreReader>> opened = store_.open_reader();
    if (!opened) {
      log::warn("half-life: no reader", {{"error", opened.error().message()}});
      return kRetryMs;
    }
    reader_ = std::move(opened).value();
  }
  const std::size_t most =
      std::min<std::uint64_t>(limits::kDatabasePageRows, change.seq - fold_->seq());
  Result<std::vector<Fact>> facts = reader_->facts(fold_->seq(), most);
  if (!facts || facts->empty()) {
    const std::string error = facts ? "the store lacks facts" : facts.error().message();
    log::warn("half-life: cannot read", {{"after", fold_->seq()}, {"error", error}});
    reader_.reset();
    return kRetryMs;
  }
  for (Fact& fact : *facts) fold_->fold(std::move(fact));
  facts_read_ = fold_->seq();
  return 0;
}

void HalfLifeReader::post(const HalfLifeChange& change) {
  struct Answer {
    Mutex mutex;
    CondVar there;
    bool done SUBAK_GUARDED_BY(mutex) = false;
  };
  const auto answer = std::make_shared<Answer>();
  Input input;
  input.body = in::HalfLifeRead{change.seq, fold_->values()};
  const auto replied = [answer](const Reply& reply) {
    if (reply.error) log::warn("half-life: refused", {{"error", reply.error->message()}});
    const MutexLock lock(answer->mutex);
    answer->done = true;
    answer->there.notify_all();
  };
  if (!runtime_.post(std::move(input), replied)) return;  // the mailbox is full: post it again
  while (pause(0)) {
    MutexLock lock(answer->mutex);
    const auto done = [&answer]() SUBAK_REQUIRES(answer->mutex) { return answer->done; };
    answer->there.wait_for(lock, std::chrono::milliseconds(kLookMs), done);
    if (answer->done) return;
  }
}

}  // namespace subak
