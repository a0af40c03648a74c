#include "server/runtime/loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {

void Runtime::Impl::run() {
  name_thread("loop");
  while (wait()) turn();
}

void Runtime::Impl::turn() {
  fill();
  if (in_flight == nullptr) hand_over();
  if (durable != nullptr) release(*std::exchange(durable, nullptr));
}

bool Runtime::Impl::wait() {
  std::unique_lock lock(mutex);
  stats.has_work = has_work();
  const auto ready = [&] {
    return stats.failed || nudged || store_done.has_value() ||
           (can_fill() && !(mailbox.empty() && mails.empty())) ||
           (in_flight == nullptr && (stopping || wants_pass()));
  };
  wake.wait_for(lock, std::chrono::milliseconds(patience()), ready);
  return collect();
}

// Takes new posts and the store's answer. The answer makes room to hand over the next batch before
// the old one is released. So the store never waits for replies to be sent. Once another process
// leads, durable facts may be shown, but no conclusions from them. So an answer that is too old is
// requested again.
bool Runtime::Impl::collect() {
  nudged = false;
  if (stats.failed) return false;
  if (const auto done = std::exchange(store_done, std::nullopt)) {
    in_flight->released.commit_us += done->commit_us;
    if (clock.boot_ms() > done->owned_until_ms) {
      give_to_store(std::make_shared<std::vector<Fact>>());
    } else {
      durable = std::move(in_flight);
    }
  }
  mailbox.take(mails);
  return !stopping || has_work();
}

void Runtime::Impl::give_to_store(std::shared_ptr<const std::vector<Fact>> facts) {
  if (store_thread != nullptr) return store_thread->commit(std::move(facts));
  to_commit = std::move(facts);
}

bool Runtime::Impl::has_work() const {
  return !mailbox.empty() || !mails.empty() || !filling->empty() || in_flight != nullptr ||
         durable != nullptr;
}

// Returns the time until the engine needs a Tick, within bounds: the wall clock may be set
// meanwhile.
DurationMs Runtime::Impl::patience() const {
  const auto deadline = engine.next_deadline();
  if (!deadline || !can_fill()) return limits::kLoopMaxWaitMs;
  const TimeMs now = std::max(last_stamp, time.at(clock.boot_ms()));
  return std::clamp<DurationMs>(*deadline - now, 0, limits::kLoopMaxWaitMs);
}

bool Runtime::Impl::can_fill() const { return filling->released.inputs < limits::kMaxBatchInputs; }

bool Runtime::Impl::wants_pass() const { return options.auto_pass && engine.pass_due(); }

void Runtime::Impl::fill() {
  stamp();
  const std::size_t before = filling->released.inputs;
  const bool room = can_fill();
  for (; can_fill() && !mails.empty(); mails.pop_front()) take_mail(mails.front());
  say_clock_wrong();
  if (room) tick_if_due();
  const std::lock_guard lock(mutex);
  mailbox.applied(filling->released.inputs - before);
  stats.inputs += filling->released.inputs - before;
}

// Applies waiting inputs before a Tick: an input that arrived in time is not late because the loop
// was slow. At most as many as the mailbox holds.
void Runtime::Impl::tick_if_due() {
  constexpr std::size_t kMostPutOff = limits::kLoopMailbox / limits::kMaxBatchInputs;
  const auto deadline = engine.next_deadline();
  const bool due = deadline && *deadline <= last_stamp;
  if (due && !mails.empty() && tick_put_off < kMostPutOff) {
    ++tick_put_off;
    return;
  }
  tick_put_off = 0;
  if (due) apply(Input{0, "", "", in::Tick{}});
}

void Runtime::Impl::take_mail(Mail& mail) {
  if (mail.stream != nullptr) return subscribe(mail);
  Batch::Completion& completion = filling->completions.emplace_back();
  completion.one = std::move(mail.done);
  completion.all = std::move(mail.done_all);
  for (Input& input : mail.inputs) {
    const bool clock_edit = std::holds_alternative<in::AcceptClock>(input.body);
    completion.replies.push_back(clock_edit ? accept_clock(std::move(input))
                                            : apply(std::move(input)));
  }
  filling->released.inputs += mail.inputs.size();
}

Reply Runtime::Impl::apply(Input input) {
  // The wait in the mailbox does not count as an error of the sender's clock.
  if (input.said_at_ms != 0) {
    input.said_at_ms = std::max<TimeMs>(input.said_at_ms + last_stamp - input.time_ms, 1);
  }
  input.time_ms = last_stamp;
  if (options.record) options.record(input);
  ApplyOutcome outcome = engine.apply(input);
  std::move(outcome.facts.begin(), outcome.facts.end(), std::back_inserter(*filling->facts));
  for (const Effect& effect : outcome.effects) {
    for (const auto& [cluster, stream] : streams) {
      if (cluster == effect.cluster) delivery(stream).push_back(effect);
    }
  }
  return std::move(outcome.reply);
}

// The engine decides first, at the old time. Later inputs get the new time.
Reply Runtime::Impl::accept_clock(Input input) {
  const ClockReading now = read_clock();
  in::AcceptClock& asked = std::get<in::AcceptClock>(input.body);
  asked.wall_ms = now.wall_ms;
  asked.believed = time.status().state == ClockState::kBelieved;
  const bool validate_only = asked.validate_only;
  Reply reply = apply(std::move(input));
  if (reply.error || reply.repeated || validate_only) return reply;
  const std::lock_guard lock(mutex);
  const ClockStatus before = time.status();
  last_stamp = time.accept(now);
  stats.clock = time.status();
  tell_clock(before);
  return reply;
}

// The outstanding effects rest on facts of this batch at most, and are delivered with it.
void Runtime::Impl::subscribe(Mail& mail) {
  delivery(mail.stream) = engine.outstanding(mail.cluster);
  streams.emplace_back(mail.cluster, std::move(mail.stream));
}

std::vector<Effect>& Runtime::Impl::delivery(const std::shared_ptr<EffectStream>& stream) {
  for (auto& [known, effects] : filling->deliveries) {
    if (known == stream) return effects;
  }
  return filling->deliveries.emplace_back(stream, std::vector<Effect>()).second;
}

void Runtime::Impl::pass_if_due() {
  if (!wants_pass()) return;
  const std::int64_t begin = clock.monotonic_us();
  apply(Input{0, "", "", in::Pass{}});
  if (options.on_pass) options.on_pass(clock.monotonic_us() - begin);
}

void Runtime::Impl::hand_over() {
  pass_if_due();
  if (filling->empty()) return;
  Batch& batch = *filling;
  batch.released.view = engine.view();
  batch.released.seq = engine.seq();
  batch.released.time_ms = last_stamp;
  batch.released.facts = batch.facts;
  ++handed_over;
  if (wants_digest(*batch.facts)) batch.released.digest = engine.digest();
  in_flight = std::exchange(filling, std::make_unique<Batch>());
  give_to_store(in_flight->facts);
}

// The digest covers the engine's time, which a follower knows only from facts. So only a batch
// whose last fact was made now can be compared.
bool Runtime::Impl::wants_digest(const std::vector<Fact>& facts) const {
  return options.digest_every != 0 && handed_over % options.digest_every == 0 && !facts.empty() &&
         facts.back().time_ms == engine.now();
}

void Runtime::Impl::release(Batch& batch) {
  if (options.on_durable) options.on_durable(batch.released);
  {
    const std::lock_guard lock(mutex);
    view = batch.released.view;
  }
  for (auto& [stream, effects] : batch.deliveries) {
    if (stream->push(effects)) continue;
    std::erase_if(streams,
                  [&closed = stream](const auto& entry) { return entry.second == closed; });
  }
  for (Batch::Completion& completion : batch.completions) {
    if (completion.one) completion.one(completion.replies.front());
    if (completion.all) completion.all(completion.replies);
  }
  {
    const std::lock_guard lock(mutex);
    ++stats.batches;
    stats.facts += batch.facts->size();
  }
  started.notify_all();
}

// Once per turn: all inputs of a turn have the same time.
void Runtime::Impl::stamp() {
  const std::lock_guard lock(mutex);
  const ClockStatus before = time.status();
  last_stamp = time.look(read_clock());
  stats.clock = time.status();
  tell_clock(before);
}

// A clock that was believed at the start and then steps back was wrong at the start. The engine
// knows whether time leapt at that start.
void Runtime::Impl::say_clock_wrong() {
  const ClockStatus& now = time.status();
  const bool behind = now.state == ClockState::kStepped && now.offset_ms < -limits::kMaxClockStepMs;
  if (behind && !said_wrong) apply(Input{0, "", "", in::ClockWrong{-now.offset_ms}});
  said_wrong = behind;
}

void Runtime::Impl::tell_clock(const ClockStatus& before) const {
  const ClockStatus& now = time.status();
  if (now.state == before.state) return;
  if (now.state == ClockState::kBelieved) {
    return log::info("the wall clock is believed",
                     {{"offset_ms", now.offset_ms}, {"time", format_time(last_stamp)}});
  }
  log::error(now.state == ClockState::kWaits
                 ? why_not_ready(now)
                 : "the wall clock is not believed: time runs on without it",
             {{"offset_ms", now.offset_ms}, {"time", format_time(last_stamp)}});
}

}  // namespace subak
