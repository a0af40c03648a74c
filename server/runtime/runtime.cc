#include "server/runtime/runtime.h"

#include <utility>

#include "server/runtime/fatal.h"
#include "server/runtime/loop.h"

namespace subak {

Runtime::Runtime(RuntimeOptions options, Store& store, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), store, clock)) {}

Runtime::~Runtime() {
  if (!impl_->options.stepped) stop();
}

Result<Recovered> Runtime::follow(const std::function<void(const Fact&)>& saw) {
  return impl_->follow(saw);
}

void Runtime::followed(std::vector<Fact> facts, const KnownAs& known_as) {
  impl_->followed(std::move(facts), known_as);
}

Result<Recovered> Runtime::start() { return impl_->start(); }

void Runtime::stop() { impl_->stop(); }

bool Runtime::post(Input input, ReplyFn done) {
  // By then the clock of said_at_ms has been compared with the service's.
  if (input.said_at_ms != 0 && input.time_ms == 0) input.time_ms = now_ms();
  Mail mail;
  mail.inputs.push_back(std::move(input));
  mail.done = std::move(done);
  return impl_->post(std::move(mail));
}

bool Runtime::post_many(std::vector<Input> inputs, RepliesFn done) {
  Mail mail;
  mail.inputs = std::move(inputs);
  mail.done_all = std::move(done);
  return impl_->post(std::move(mail));
}

std::shared_ptr<EffectStream> Runtime::subscribe(ClusterId cluster, std::function<void()> wake) {
  Mail mail;
  mail.stream = std::make_shared<EffectStream>(std::move(wake));
  mail.cluster = cluster;
  auto stream = mail.stream;
  return impl_->post(std::move(mail)) ? stream : nullptr;
}

std::shared_ptr<const View> Runtime::view() const {
  const MutexLock lock(impl_->shared.mutex);
  return impl_->shared.view;
}

RuntimeStats Runtime::stats() const {
  const MutexLock lock(impl_->shared.mutex);
  RuntimeStats stats = impl_->shared.stats;
  stats.mailbox = impl_->shared.mailbox.waiting();
  if (!stats.leads) stats.behind_ms = impl_->clock.boot_ms() - impl_->shared.followed_at_ms;
  return stats;
}

TimeMs Runtime::now_ms() const {
  const MutexLock lock(impl_->shared.mutex);
  return impl_->stamps.time.at(impl_->clock.boot_ms());
}

std::int64_t Runtime::boot_ms() const { return impl_->clock.boot_ms(); }

void Runtime::turn() { impl_->step(); }

void Runtime::commit() { impl_->commit(); }

void Runtime::nudge() {
  {
    const MutexLock lock(impl_->shared.mutex);
    impl_->shared.nudged = true;
  }
  impl_->shared.wake.notify_all();
}

Result<Recovered> Runtime::Impl::recover(const std::function<void(const Fact&)>& saw) {
  auto reader = store.open_reader();
  if (!reader.ok()) return reader.error();
  return recover_engine(**reader, engine, saw);
}

Result<Recovered> Runtime::Impl::follow(const std::function<void(const Fact&)>& saw) {
  const std::int64_t began_ms = clock.boot_ms();
  const Result<Recovered> recovered = recover(saw);
  if (!recovered.ok()) return recovered;
  of_leader.is_known = true;
  {
    const MutexLock lock(shared.mutex);
    stamps.time.start(engine.now(), read_clock());
    shared.stats.clock = stamps.time.status();
    shared.followed_at_ms = began_ms;
  }
  show({});
  return recovered;
}

void Runtime::Impl::followed(std::vector<Fact> facts, const KnownAs& now_known_as) {
  for (const Fact& fact : facts) engine.evolve(fact);
  const bool is_new = !facts.empty();
  const bool is_told = of_leader.known_as != now_known_as;
  of_leader.known_as = now_known_as;
  if (is_new || is_told) show(std::move(facts));
  const MutexLock lock(shared.mutex);
  shared.followed_at_ms = clock.boot_ms();
  if (is_new && stamps.time.status().state != ClockState::kBelieved) {
    stamps.time.start(engine.now(), read_clock());  // the leader may have accepted it
  } else {
    stamps.time.look(read_clock());
  }
  shared.stats.clock = stamps.time.status();
}

void Runtime::Impl::show(std::vector<Fact> facts) {
  Batch batch;
  *batch.facts = std::move(facts);
  batch.released.facts = batch.facts;
  batch.released.ours = false;
  batch.released.seq = engine.seq();
  batch.released.time_ms = engine.now();
  batch.released.view = followed_view();
  release(batch);
}

std::shared_ptr<const View> Runtime::Impl::followed_view() const {
  std::shared_ptr<const View> own = engine.view();
  if (of_leader.known_as.empty()) return own;
  auto clusters = std::make_shared<std::vector<ClusterView>>(*own->clusters);
  for (ClusterView& cluster : *clusters) {
    const auto it = of_leader.known_as.find(cluster.name);
    if (it != of_leader.known_as.end()) cluster.known_as = it->second;
  }
  auto told = std::make_shared<View>(*own);
  told->clusters = std::move(clusters);
  return told;
}

Result<Recovered> Runtime::Impl::start() {
  Result<Recovered> recovered = Recovered{engine.seq(), 0, 0, 0};
  if (!of_leader.is_known) recovered = recover(nullptr);
  if (!recovered.ok()) return recovered;
  stamps.last = engine.now();
  Mail restarted;
  restarted.inputs.push_back(Input{0, "", "", in::Restarted{}});
  MutexLock lock(shared.mutex);
  stamps.time.start(stamps.last, read_clock());
  shared.stats.clock = stamps.time.status();
  tell_clock({});
  shared.accepting = shared.running = shared.stats.leads = true;
  const std::uint64_t before = shared.stats.batches;
  shared.mailbox.put(std::move(restarted));
  shared.stats.has_work = true;
  if (options.stepped) return recovered;
  start_threads();
  shared.started.wait(lock, [&]() SUBAK_REQUIRES(shared.mutex) {
    return shared.stats.batches > before || shared.stats.failed;
  });
  if (shared.failure) return *shared.failure;
  return recovered;
}

void Runtime::Impl::start_threads() {
  store_thread = std::make_unique<StoreThread>(
      store, clock, [this](StoreThread::Done done) { committed(std::move(done)); });
  thread = std::thread([this] { run(); });
}

void Runtime::Impl::stop_threads() {
  shared.wake.notify_all();
  thread.join();
  store_thread.reset();
}

void Runtime::Impl::step() {
  {
    const MutexLock lock(shared.mutex);
    if (!collect()) return;
  }
  turn();
  const MutexLock lock(shared.mutex);
  shared.stats.has_work = has_work();
}

void Runtime::Impl::commit() {
  const auto facts = std::exchange(batches.to_commit, nullptr);
  if (facts != nullptr) committed(StoreThread::commit_now(store, clock, *facts));
}

void Runtime::Impl::stop() {
  {
    const MutexLock lock(shared.mutex);
    if (!shared.running) return;
    shared.running = false;
    shared.accepting = false;
    shared.stopping = true;
  }
  if (!options.stepped) {
    stop_threads();
  } else {
    for (; has_more(); step()) commit();
  }
  for (const auto& [cluster, stream] : streams) stream->stop();
  streams.clear();
}

bool Runtime::Impl::post(Mail mail) {
  {
    const MutexLock lock(shared.mutex);
    if (!shared.accepting || !shared.mailbox.put(std::move(mail))) {
      ++shared.stats.refused;
      return false;
    }
    shared.stats.has_work = true;
  }
  shared.wake.notify_all();
  return true;
}

// Runs on the store thread. After a failure the loop ends and releases no more.
void Runtime::Impl::committed(StoreThread::Done done) {
  const std::optional<Error> error = done.error;
  {
    const MutexLock lock(shared.mutex);
    shared.store_done = std::move(done);
    if (error) {
      shared.stats.failed = true;
      shared.failure = error;
      shared.accepting = false;
    }
  }
  shared.wake.notify_all();
  shared.started.notify_all();
  if (error) end_process(*error, options.fatal);
}

}  // namespace subak
