#include "server/whatif/what_if_run.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/duration.h"
#include "engine/forecast/half_life_fold.h"
#include "server/api/convert/check.h"
#include "server/past/fact_times.h"
#include "server/past/fold.h"
#include "server/whatif/change_request.h"
#include "server/whatif/what_if_report.h"
#include "sim/history/history_limits.h"

namespace subak::whatif {
namespace {

constexpr DurationMs kUsualWindowMs = 14 * kDayMs;

// The facts of the window are first + 1 to last. `first` is the last fact before it; 0: none.
struct Window {
  std::uint64_t first = 0, last = 0;
  TimeMs from_ms = 0, to_ms = 0;
};

Error from_error(ErrorCode code, TimeMs from_ms, std::string want) {
  return {code, "from", format_time(from_ms), std::move(want)};
}

Result<TimeMs> time_of_fact(StoreReader& reader, std::uint64_t seq) {
  const auto fact = fact_after(reader, seq - 1);
  if (!fact.ok()) return fact.error();
  return fact->time_ms;
}

Result<Window> window_of(StoreReader& reader, std::uint64_t last_seq,
                         const v1::WhatIfRequest& request) {
  if (last_seq == 0) {
    return Error{ErrorCode::kPrecondition, "from", "", "want a store with facts"};
  }
  Window out{0, last_seq, 0, 0};
  const auto last_ms = time_of_fact(reader, last_seq);
  if (!last_ms.ok()) return last_ms.error();
  out.to_ms = *last_ms + 1;
  out.from_ms = std::max<TimeMs>(0, out.to_ms - kUsualWindowMs);
  if (request.has_from()) {
    api::Check check;
    out.from_ms = check.time("from", request.from());
    if (!check.ok()) return check.error();
    if (out.from_ms >= *last_ms) {
      return from_error(ErrorCode::kInvalid, out.from_ms,
                        "want a time before the last fact, " + format_time(*last_ms));
    }
  }
  if (out.to_ms - out.from_ms > limits::kMaxHistoryMs) {
    return from_error(ErrorCode::kInvalid, out.from_ms,
                      "want a window of at most " + format_duration(limits::kMaxHistoryMs));
  }
  const auto first = last_fact_before(reader, out.from_ms, last_seq);
  if (!first.ok()) return first.error();
  out.first = *first;
  if (out.first > 0) return out;
  const auto begin = fact_after(reader, 0);
  if (!begin.ok()) return begin.error();
  if (begin->seq != 1) {
    return from_error(
        ErrorCode::kPrecondition, out.from_ms,
        "want a later time: the store's first fact is of " + format_time(begin->time_ms));
  }
  out.from_ms = begin->time_ms;
  return out;
}

// Reports the progress to the caller. False: the caller no longer waits.
class Steps {
 public:
  explicit Steps(const Caller& caller) : caller_(caller) {}
  bool at(const char* what, double part) {
    const int percent = static_cast<int>(100 * std::clamp(part, 0.0, 1.0));
    if (what_ != what || percent_ != percent) {
      what_ = what;
      percent_ = percent;
      if (caller_.progress) caller_.progress(what, percent);
    }
    return go_on();
  }
  bool go_on() const { return !caller_.wanted || caller_.wanted(); }

 private:
  const Caller& caller_;
  std::string_view what_;
  int percent_ = 0;
};

// Passes the facts after `from` up to `to` on to `each`. False: the work stops.
Result<bool> read_each(StoreReader& reader, std::uint64_t from, std::uint64_t to, Steps& steps,
                       const std::function<std::optional<Error>(Fact&&)>& each) {
  const auto take = [&](std::vector<Fact>&& part) -> Result<bool> {
    const std::uint64_t last = part.back().seq;
    for (Fact& fact : part) {
      if (auto error = each(std::move(fact))) return *std::move(error);
    }
    return steps.at("reading", static_cast<double>(last - from) / static_cast<double>(to - from));
  };
  const Result<bool> all = read_facts(reader, from, to, take);
  if (all.ok() || all.error().code != ErrorCode::kNotFound) return all;
  return Error{ErrorCode::kPrecondition, "from", "fact " + all.error().got,
               "want a later time: the store no longer has this fact"};
}

// Reads the history of the window. nullopt: the work stops.
Result<std::optional<sim::History>> read_history(StoreReader& reader, const Window& window,
                                                 Steps& steps) {
  Fold fold(reader);
  if (window.first > 0) {
    const auto there = fold.to(window.first, [&] { return steps.go_on(); });
    if (!there.ok() && there.error().code == ErrorCode::kPrecondition) {
      return from_error(ErrorCode::kPrecondition, window.from_ms, there.error().want);
    }
    if (!there.ok()) return there.error();
    if (!*there) return std::optional<sim::History>();
  }
  sim::HistoryReader history(fold.engine(), window.from_ms);
  const auto whole = read_each(reader, window.first, window.last, steps,
                               [&](Fact&& fact) { return history.add(fact); });
  if (!whole.ok()) return whole.error();
  if (!*whole) return std::optional<sim::History>();
  return std::optional(history.finish(window.to_ms));
}

// Sets the meters of another half-life. They follow from all facts. False: the work stops.
Result<bool> read_meters(StoreReader& reader, const Window& window, const sim::History& history,
                         Steps& steps, sim::Change& change) {
  if (!change.policy) return true;
  const DurationMs half_life_ms = change.policy(history.start_policy).half_life_ms;
  if (half_life_ms == history.start_policy.half_life_ms) return true;
  HalfLifeFold fold(half_life_ms);
  const auto each = [&](Fact&& fact) -> std::optional<Error> {
    fold.fold(std::move(fact));
    return std::nullopt;
  };
  const auto before = read_each(reader, 0, window.first, steps, each);
  if (!before.ok() || !*before) return before;
  if (window.first > 0) change.start_meters = fold.values();
  const auto after = read_each(reader, window.first, window.last, steps, each);
  if (!after.ok() || !*after) return after;
  change.end_meters = fold.values();
  return true;
}

// Makes the report. nullopt: the work stops.
Result<std::optional<v1::WhatIfReport>> report_of(const sim::History& history,
                                                  const sim::Change& change, Steps& steps) {
  const auto workload = sim::changed(history, change);
  if (!workload.ok()) return workload.error();
  const auto replay = [&](const char* what, const sim::Workload& of) {
    sim::HistoryOptions options;
    options.progress = [&steps, what](double done) { return steps.at(what, done); };
    return sim::replay_history(history, of, options);
  };
  const std::optional<v1::WhatIfReport> none;
  const auto before = replay("replay", history.workload);
  if (!before) return none;
  const auto after = replay("replay with the change", *workload);
  if (!after || !steps.at("forecast", 0)) return none;
  const auto present = present_difference(history, change, [&] { return steps.go_on(); });
  if (!present.ok()) return present.error();
  if (!steps.at("forecast", 1)) return none;
  v1::WhatIfReport report;
  put(history, *before, *workload, *after, &report);
  put(*present, report.mutable_present());
  return std::optional(std::move(report));
}

}  // namespace

Result<std::optional<v1::WhatIfReport>> run_what_if(StoreReader& reader, std::uint64_t last_seq,
                                                    const v1::WhatIfRequest& request,
                                                    const Caller& caller) {
  auto change = read_change(request);
  if (!change.ok()) return change.error();
  const auto window = window_of(reader, last_seq, request);
  if (!window.ok()) return window.error();
  Steps steps(caller);
  const auto history = read_history(reader, *window, steps);
  if (!history.ok()) return history.error();
  if (!*history) return std::optional<v1::WhatIfReport>();
  const auto meters = read_meters(reader, *window, **history, steps, *change);
  if (!meters.ok()) return meters.error();
  if (!*meters) return std::optional<v1::WhatIfReport>();
  return report_of(**history, *change, steps);
}

}  // namespace subak::whatif
