#include "server/runtime/forecaster.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "core/must.h"
#include "engine/forecast/growth_run.h"
#include "server/codec/calibration.h"
#include "server/codec/codec.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

void unpack(const PackedFacts& packed, std::vector<Fact>& facts) {
  facts.reserve(packed.size());
  PackedFacts::Cursor cursor(packed);
  for (PackedFacts::Row row; cursor.next(row);) {
    Result<fact::Body> body = codec::decode(row.kind, row.body);
    must(body.ok(), "a packed fact can be read");
    facts.push_back({0, row.time_ms, *std::move(body)});
  }
}

bool is_small(const Engine& engine) { return engine.live_size() <= limits::kForecastAtOnce; }

}  // namespace

Forecaster::Forecaster(Options options) : options_(std::move(options)) {}

Forecaster::~Forecaster() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::optional<ExpectedStart> Forecaster::follow(const Fact& fact) {
  if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) {
    return calibration_.started(started->id, fact.time_ms);
  }
  const auto* moved = std::get_if<fact::JobMoved>(&fact.body);
  if (moved != nullptr && moved->to == JobState::kDone) calibration_.forget(moved->id);
  return std::nullopt;
}

void Forecaster::saw(const Fact& fact) {
  const auto told = follow(fact);
  if (told && options_.on_start) options_.on_start(std::abs(fact.time_ms - told->expected_ms));
}

std::string Forecaster::record(std::uint64_t seq) const {
  CalibrationRecord record = calibration_.record();
  record.seq = seq;
  return codec::encode_calibration(record);
}

std::uint64_t Forecaster::restore(const Result<std::string>& record) {
  if (record.ok() && record->empty()) {
    log::info("no start estimates are stored: intervals are wide until some jobs have started");
    return 0;
  }
  const Result<CalibrationRecord> read =
      record.ok() ? codec::decode_calibration(*record) : record.error();
  const Result<StartCalibration> told = read.ok() ? StartCalibration::from(*read) : read.error();
  if (told.ok()) {
    calibration_ = *told;
    return read->seq;
  }
  log::warn(
      "the data of earlier start estimates are lost: intervals are wide until some jobs have "
      "started",
      {{"error", told.error().message()}});
  return 0;
}

void Forecaster::go_on(const Engine& engine, bool whole) {
  calibration_.forget_unless([&](JobId id) {
    const auto job = whole ? engine.job(id, false) : std::nullopt;
    return job && is_waiting(job->state);
  });
  starts_.odds = calibration_.odds();
}

// A job that the previous forecast did not have gets its first start estimate now. The first
// forecast does not count: it finds jobs that have waited for long. A job that waits for new nodes
// has no estimate.
void Forecaster::take(Forecast forecast, Growth growth) {
  calibration_.look(forecast.time_ms());
  if (made_count_ > 0) {
    for (const Forecast::Start& start : forecast.starts()) {
      if (!starts_.forecast->start(start.job) && growth.find(start.job) == nullptr)
        calibration_.announced(start.job, forecast.time_ms(), start.at_ms);
    }
  }
  starts_ = {std::make_shared<const Forecast>(std::move(forecast)), calibration_.odds(),
             std::make_shared<const Growth>(std::move(growth))};
  ++made_count_;
  made_ms_ = options_.monotonic_ms();
  took_ms_ = made_ms_ - begun_ms_;
}

std::optional<DurationMs> Forecaster::due_in(const Engine& engine) const {
  const bool needed =
      engine.count(JobState::kQueued) > 0 || !engine.policy().queue.node_pools.empty();
  if (options_.stepped || making_ || !needed) return std::nullopt;
  if (made_count_ == 0) return 0;
  const DurationMs every = is_of(engine) ? limits::kForecastIdleMs : limits::kForecastEveryMs;
  const DurationMs rest = std::max(every, limits::kForecastRest * took_ms_);
  return std::max<DurationMs>(0, made_ms_ + rest - options_.monotonic_ms());
}

TimeMs Forecaster::now(const Engine& engine) const {
  return options_.now_ms ? std::max(engine.now(), options_.now_ms()) : engine.now();
}

void Forecaster::turn(Engine& engine, bool may_copy) {
  if (ready_) {
    thread_.join();
    ready_ = false;
    making_ = false;
    take(std::move(result_), std::move(growth_));
  }
  if (copying_) return copy_slice(engine);
  if (due_in(engine) != 0) return;
  if (is_small(engine)) return make_at_once(engine);
  if (may_copy) begin(engine);
}

void Forecaster::make_at_once(const Engine& engine) {
  begun_ms_ = options_.monotonic_ms();
  const ForecastBasis basis = engine.forecast_basis(now(engine));
  take(make_forecast(basis), plan_growth(basis));
}

void Forecaster::begin(Engine& engine) {
  making_ = copying_ = true;
  begun_ms_ = options_.monotonic_ms();
  copy_ = {engine.begin_copy(CopyFor::kForecast, now(engine)), {}, false};
}

void Forecaster::copy_slice(Engine& engine) {
  const bool complete = engine.copy_slice(limits::kCopySlice, [&](Fact&& fact) {
    if (!copy_.facts.add(fact)) copy_.lost = true;
  });
  if (!complete) return;
  copying_ = false;
  if (!copy_.lost) return make_beside();
  log::warn("no forecast: a fact of the state cannot be stored", {{"seq", copy_.basis.seq}});
  making_ = false;
  made_ms_ = options_.monotonic_ms();
}

// The facts go to the thread in encoded form, in large blocks (PackedFacts). As records they are
// millions of small pieces of the follower's memory: once another thread has freed those, the
// follower's next large allocation takes a third of a second.
void Forecaster::make_beside() {
  thread_ = std::thread([this, basis = std::move(copy_.basis),
                         packed = std::move(copy_.facts)]() mutable {
    name_background_thread("forecast");
    const DurationMs until = options_.monotonic_ms() + limits::kForecastMs;
    unpack(packed, basis.facts);
    packed = {};
    const auto go_on = [&] { return !stop_ && options_.monotonic_ms() < until; };
    growth_ = plan_growth(basis, go_on);
    result_ = make_forecast(basis, go_on);
    basis = {};  // the follower joins this thread once `ready_` is set, and freeing takes a second
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
