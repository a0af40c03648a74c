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
  if (batches.at_store == nullptr) hand_over();
  if (batches.durable != nullptr) release(*std::exchange(batches.durable, nullptr));
}

bool Runtime::Impl::wait() {
  MutexLock lock(shared.mutex);
  shared.stats.has_work = has_work();
  const auto ready = [&]() SUBAK_REQUIRES(shared.mutex) {
    return shared.stats.failed || shared.nudged || shared.store_done.has_value() ||
           (can_fill() && !(shared.mailbox.empty() && mails.empty())) ||
           (batches.at_store == nullptr && (shared.stopping || wants_pass()));
  };
  shared.wake.wait_for(lock, std::chrono::milliseconds(patience()), ready);
  return collect();
}

// Takes new posts and the store's answer. The answer makes room to hand over the next batch before
// the old one is released. So the store never waits for replies to be sent. Once another process
// leads, durable facts may be shown, but no conclusions from them. So an answer that is too old is
// requested again.
bool Runtime::Impl::collect() {
  shared.nudged = false;
  if (shared.stats.failed) return false;
  if (const auto done = std::exchange(shared.store_done, std::nullopt)) {
    batches.at_store->released.commit_us += done->commit_us;
    if (clock.boot_ms() > done->owned_until_ms) {
      give_to_store(std::make_shared<std::vector<Fact>>());
    } else {
      batches.durable = std::move(batches.at_store);
    }
  }
  shared.mailbox.take(mails);
  return !shared.stopping || has_work();
}

void Runtime::Impl::give_to_store(std::shared_ptr<const std::vector<Fact>> facts) {
  if (store_thread != nullptr) return store_thread->commit(std::move(facts));
  batches.to_commit = std::move(facts);
}

bool Runtime::Impl::has_work() const {
  return !shared.mailbox.empty() || !mails.empty() || !batches.filling->empty() ||
         batches.at_store != nullptr || batches.durable != nullptr;
}

// Returns the time until the engine needs a Tick, within bounds: the wall clock may be set
// meanwhile.
DurationMs Runtime::Impl::patience() const {
  const auto deadline = engine.next_deadline();
  if (!deadline || !can_fill()) return limits::kLoopMaxWaitMs;
  const TimeMs now = std::max(stamps.last, stamps.time.at(clock.boot_ms()));
  return std::clamp<DurationMs>(*deadline - now, 0, limits::kLoopMaxWaitMs);
}

bool Runtime::Impl::can_fill() const {
  return batches.filling->released.inputs < limits::kMaxBatchInputs;
}

bool Runtime::Impl::wants_pass() const { return options.auto_pass && engine.pass_due(); }

void Runtime::Impl::fill() {
  stamp();
  const std::size_t before = batches.filling->released.inputs;
  const bool room = can_fill();
  for (; can_fill() && !mails.empty(); mails.pop_front()) take_mail(mails.front());
  say_clock_wrong();
  tell_civil_ends();
  if (room) tick_if_due();
  const MutexLock lock(shared.mutex);
  shared.mailbox.applied(batches.filling->released.inputs - before);
  shared.stats.inputs += batches.filling->released.inputs - before;
}

// Applies waiting inputs before a Tick: an input that arrived in time is not late because the loop
// was slow. At most as many as the mailbox holds.
void Runtime::Impl::tick_if_due() {
  constexpr std::size_t kMostPutOff = limits::kLoopMailbox / limits::kMaxBatchInputs;
  const auto deadline = engine.next_deadline();
  const bool due = deadline && *deadline <= stamps.last;
  if (due && !mails.empty() && tick_put_off < kMostPutOff) {
    ++tick_put_off;
    return;
  }
  tick_put_off = 0;
  if (due) apply(Input{0, "", "", in::Tick{}});
}

void Runtime::Impl::take_mail(Mail& mail) {
  if (mail.stream != nullptr) return subscribe(mail);
  Batch::Completion& completion = batches.filling->completions.emplace_back();
  completion.one = std::move(mail.done);
  completion.all = std::move(mail.done_all);
  for (Input& input : mail.inputs) {
    const bool clock_edit = std::holds_alternative<in::AcceptClock>(input.body);
    completion.replies.push_back(clock_edit ? accept_clock(std::move(input))
                                            : apply(std::move(input)));
  }
  batches.filling->released.inputs += mail.inputs.size();
}

Reply Runtime::Impl::apply(Input input) {
  // The wait in the mailbox does not count as an error of the sender's clock.
  if (input.said_at_ms != 0) {
    input.said_at_ms = std::max<TimeMs>(input.said_at_ms + stamps.last - input.time_ms, 1);
  }
  input.time_ms = stamps.last;
  if (options.record) options.record(input);
  ApplyOutcome outcome = engine.apply(input);
  std::move(outcome.facts.begin(), outcome.facts.end(),
            std::back_inserter(*batches.filling->facts));
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
  asked.believed = stamps.time.status().state == ClockState::kBelieved;
  const bool validate_only = asked.validate_only;
  Reply reply = apply(std::move(input));
  if (reply.error || reply.repeated || validate_only) return reply;
  const MutexLock lock(shared.mutex);
  const ClockStatus before = stamps.time.status();
  stamps.last = stamps.time.accept(now);
  shared.stats.clock = stamps.time.status();
  tell_clock(before);
  return reply;
}

// The outstanding effects rest on facts of this batch at most, and are delivered with it.
void Runtime::Impl::subscribe(Mail& mail) {
  delivery(mail.stream) = engine.outstanding(mail.cluster);
  streams.emplace_back(mail.cluster, std::move(mail.stream));
}

std::vector<Effect>& Runtime::Impl::delivery(const std::shared_ptr<EffectStream>& stream) {
  for (auto& [known, effects] : batches.filling->deliveries) {
    if (known == stream) return effects;
  }
  return batches.filling->deliveries.emplace_back(stream, std::vector<Effect>()).second;
}

void Runtime::Impl::pass_if_due() {
  if (!wants_pass()) return;
  const std::int64_t begin = clock.monotonic_us();
  apply(Input{0, "", "", in::Pass{}});
  if (options.on_pass) options.on_pass(clock.monotonic_us() - begin);
}

void Runtime::Impl::hand_over() {
  pass_if_due();
  if (batches.filling->empty()) return;
  Batch& batch = *batches.filling;
  batch.released.view = engine.view();
  batch.released.seq = engine.seq();
  batch.released.time_ms = stamps.last;
  batch.released.facts = batch.facts;
  ++batches.handed_over;
  if (wants_digest(*batch.facts)) batch.released.digest = engine.digest();
  batches.at_store = std::exchange(batches.filling, std::make_unique<Batch>());
  give_to_store(batches.at_store->facts);
}

// The digest covers the engine's time, which a follower knows only from facts. So only a batch
// whose last fact was made now can be compared.
bool Runtime::Impl::wants_digest(const std::vector<Fact>& facts) const {
  return options.digest_every != 0 && batches.handed_over % options.digest_every == 0 &&
         !facts.empty() && facts.back().time_ms == engine.now();
}

void Runtime::Impl::release(Batch& batch) {
  if (options.on_durable) options.on_durable(batch.released);
  {
    const MutexLock lock(shared.mutex);
    shared.view = batch.released.view;
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
    const MutexLock lock(shared.mutex);
    ++shared.stats.batches;
    shared.stats.facts += batch.facts->size();
  }
  shared.started.notify_all();
}

// Once per turn: all inputs of a turn have the same time.
void Runtime::Impl::stamp() {
  const MutexLock lock(shared.mutex);
  const ClockStatus before = stamps.time.status();
  stamps.last = stamps.time.look(read_clock());
  shared.stats.clock = stamps.time.status();
  tell_clock(before);
}

// A clock that was believed at the start and then steps back was wrong at the start. The engine
// knows whether time leapt at that start.
void Runtime::Impl::say_clock_wrong() {
  const ClockStatus& now = stamps.time.status();
  const bool behind = now.state == ClockState::kStepped && now.offset_ms < -limits::kMaxClockStepMs;
  if (behind && !stamps.said_wrong) apply(Input{0, "", "", in::ClockWrong{-now.offset_ms}});
  stamps.said_wrong = behind;
}

void Runtime::Impl::tell_civil_ends() {
  if (!options.civil_ends) return;
  auto ends = options.civil_ends(engine.policy().books.budget_zone, stamps.last);
  if (ends) apply(Input{0, "", "", *std::move(ends)});
}

void Runtime::Impl::tell_clock(const ClockStatus& before) const {
  const ClockStatus& now = stamps.time.status();
  if (now.state == before.state) return;
  if (now.state == ClockState::kBelieved) {
    return log::info("the wall clock is believed",
                     {{"offset_ms", now.offset_ms}, {"time", format_time(stamps.last)}});
  }
  log::error(now.state == ClockState::kWaits
                 ? why_not_ready(now)
                 : "the wall clock is not believed: the service's time continues without it",
             {{"offset_ms", now.offset_ms}, {"time", format_time(stamps.last)}});
}

}  // namespace subak
