#include "server/runtime/forecaster.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "server/codec/told.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

bool is_small(const Engine& engine) { return engine.live_size() <= limits::kForecastAtOnce; }

}  // namespace

Forecaster::Forecaster(Options options) : options_(std::move(options)) {}

Forecaster::~Forecaster() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::optional<ExpectedStart> Forecaster::follow(const Fact& fact) {
  if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) {
    return told_.started(started->id, fact.time_ms);
  }
  const auto* moved = std::get_if<fact::JobMoved>(&fact.body);
  if (moved != nullptr && moved->to == JobState::kDone) told_.forget(moved->id);
  return std::nullopt;
}

void Forecaster::saw(const Fact& fact) {
  const auto told = follow(fact);
  if (told && options_.on_start) options_.on_start(std::abs(fact.time_ms - told->expected_ms));
}

std::string Forecaster::kept(std::uint64_t seq) const {
  ToldKept kept = told_.kept();
  kept.seq = seq;
  return codec::encode_told(kept);
}

std::uint64_t Forecaster::restore(const Result<std::string>& kept) {
  if (kept.ok() && kept->empty()) {
    log::info("no start estimates are stored: intervals are wide until some jobs have started");
    return 0;
  }
  const Result<ToldKept> read = kept.ok() ? codec::decode_told(*kept) : kept.error();
  const Result<ToldStarts> told = read.ok() ? ToldStarts::from(*read) : read.error();
  if (told.ok()) {
    told_ = *told;
    return read->seq;
  }
  log::warn("what was told of starts is lost: their intervals are wide until others have come",
            {{"error", told.error().message()}});
  return 0;
}

void Forecaster::go_on(const Engine& engine, bool whole) {
  told_.forget_unless([&](JobId id) {
    const auto job = whole ? engine.job(id, false) : std::nullopt;
    return job && is_waiting(job->state);
  });
  starts_.odds = told_.odds();
}

// A job that the previous forecast did not have gets its first start estimate now. The first
// forecast does not count: it finds jobs that have waited for long.
void Forecaster::take(Forecast forecast) {
  told_.look(forecast.time_ms());
  if (made_count_ > 0) {
    for (const Forecast::Start& start : forecast.starts()) {
      if (!starts_.forecast->start(start.job))
        told_.told(start.job, forecast.time_ms(), start.at_ms);
    }
  }
  starts_ = {std::make_shared<const Forecast>(std::move(forecast)), told_.odds()};
  ++made_count_;
  made_ms_ = options_.monotonic_ms();
  took_ms_ = made_ms_ - begun_ms_;
}

std::optional<DurationMs> Forecaster::due_in(const Engine& engine) const {
  if (options_.stepped || making_ || engine.count(JobState::kQueued) == 0) return std::nullopt;
  if (made_count_ == 0) return 0;
  const DurationMs every = is_of(engine) ? limits::kForecastIdleMs : limits::kForecastEveryMs;
  const DurationMs rest = std::max(every, limits::kForecastRest * took_ms_);
  return std::max<DurationMs>(0, made_ms_ + rest - options_.monotonic_ms());
}

TimeMs Forecaster::now(const Engine& engine) const {
  return options_.now_ms ? std::max(engine.now(), options_.now_ms()) : engine.now();
}

void Forecaster::turn(Engine& engine) {
  if (ready_) {
    thread_.join();
    ready_ = false;
    making_ = false;
    take(std::move(result_));
  }
  if (copying_) return copy_slice(engine);
  if (due_in(engine) != 0) return;
  is_small(engine) ? make_at_once(engine) : begin(engine);
}

void Forecaster::make_at_once(const Engine& engine) {
  begun_ms_ = options_.monotonic_ms();
  take(make_forecast(engine.forecast_basis(now(engine))));
}

void Forecaster::begin(Engine& engine) {
  making_ = copying_ = true;
  begun_ms_ = options_.monotonic_ms();
  engine.begin_forecast_basis(now(engine));
}

void Forecaster::copy_slice(Engine& engine) {
  auto basis = engine.forecast_basis_slice(limits::kForecastCopySlice);
  if (!basis) return;
  copying_ = false;
  make_beside(*std::move(basis));
}

// The follower joins the thread once `ready_` is set. Freeing a large basis takes a second, so that
// comes first.
void Forecaster::make_beside(ForecastBasis copied) {
  thread_ = std::thread([this, of = std::move(copied)]() mutable {
    name_background_thread("forecast");
    const DurationMs until = options_.monotonic_ms() + limits::kForecastMs;
    {
      const ForecastBasis basis = std::move(of);
      result_ = make_forecast(basis, [&] { return !stop_ && options_.monotonic_ms() < until; });
    }
    ready_ = true;
    options_.wake();
  });
}

const ForecastStarts& Forecaster::starts(const Engine& engine) {
  const DurationMs since = options_.monotonic_ms() - made_ms_;
  const bool may =
      options_.stepped || made_count_ == 0 || since >= limits::kForecastRest * took_ms_;
  if (!making_ && !is_of(engine) && may && is_small(engine)) make_at_once(engine);
  return starts_;
}

}  // namespace subak
