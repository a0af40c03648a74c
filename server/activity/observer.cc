#include "server/activity/observer.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "core/edge_limits.h"
#include "server/activity/samples.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "threads/mutex.h"

namespace subak {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kLoadTries = 5;

}  // namespace

struct ActivityObserver::Impl {
  Impl(ObserverOptions o, ObserverPorts p, ActivityBook& b, Store& s)
      : options(std::move(o)), ports(std::move(p)), book(b), store(s), client(options.access) {}

  void run();
  void turn();
  bool ready_to_observe();
  void observe();
  std::optional<ActivitySamples> samples();
  std::optional<std::pair<HeldGpus, TimeMs>> held();
  void write();
  void complain(const Error& error);
  bool wait(SteadyClock::time_point until);

  const ObserverOptions options;
  const ObserverPorts ports;
  ActivityBook& book;
  Store& store;
  PrometheusClient client;
  std::thread thread;
  Mutex mutex;
  CondVar wake;
  bool stopping SUBAK_GUARDED_BY(mutex) = false;
  // The members below belong to the thread.
  // True: the book is loaded, and this process leads since then.
  bool leads = false;
  int load_tries = 0;
  std::optional<SteadyClock::time_point> written;
  // The last error in the log, so that a lasting error has one line.
  std::string last_error;
};

bool ActivityObserver::Impl::wait(SteadyClock::time_point until) {
  MutexLock lock(mutex);
  const auto left = until - SteadyClock::now();
  return !wake.wait_for(lock, left, [this]() SUBAK_REQUIRES(mutex) { return stopping; });
}

void ActivityObserver::Impl::run() {
  auto next = SteadyClock::now();
  while (wait(next)) {
    turn();
    next = std::max(next + milliseconds(options.every_ms), SteadyClock::now());
  }
  if (leads && ports.leads()) write();
}

void ActivityObserver::Impl::turn() {
  if (!ready_to_observe()) return;
  observe();
  if (SteadyClock::now() - *written >= milliseconds(limits::kActivityWriteMs)) write();
}

// A standby loads the book as often as the leader writes it. A process that begins to lead loads it
// once more. If that fails, it tries again, since the next write would replace the stored sums.
bool ActivityObserver::Impl::ready_to_observe() {
  const auto now = SteadyClock::now();
  if (!ports.leads()) {
    leads = false;
    if (written && now - *written < milliseconds(limits::kActivityWriteMs)) return false;
    if (const auto error = book.load(store, ports.now_ms())) complain(*error);
    written = now;
    return false;
  }
  if (leads) return true;
  if (const auto error = book.load(store, ports.now_ms())) {
    complain(*error);
    if (++load_tries < kLoadTries) return false;
  }
  load_tries = 0;
  leads = true;
  written = now;
  return true;
}

void ActivityObserver::Impl::observe() {
  const std::optional<ActivitySamples> seen = samples();
  const auto holders = held();
  if (!holders) return;
  const auto idle =
      book.add(holders->first, seen ? &*seen : nullptr, holders->second, options.warn_after_ms);
  if (idle.empty()) return;
  for (const IdleJob& job : idle) ports.warn(job);
  write();  // a restart does not warn the same jobs again
}

std::optional<ActivitySamples> ActivityObserver::Impl::samples() {
  const auto read = [&]() -> Result<ActivitySamples> {
    const Result<std::string> body = client.ask(activity_query());
    if (!body) return body.error();
    Result<ActivitySamples> answer = read_samples(*body);
    if (!answer) return answer.error();
    if (answer->time_ms != 0 &&
        std::abs(answer->time_ms - ports.now_ms()) > limits::kActivityClockMs) {
      return Error{ErrorCode::kPrecondition, "prometheus.time", std::to_string(answer->time_ms),
                   "want a server whose clock is right"};
    }
    return answer;
  };
  Result<ActivitySamples> result = read();
  if (result) {
    if (!last_error.empty()) log::info("the Prometheus server answers again", {});
    last_error.clear();
    return std::move(result).value();
  }
  book.failed(result.error());
  complain(result.error());
  return std::nullopt;
}

// The follower has all facts of the time of the samples, since it is asked after the server.
std::optional<std::pair<HeldGpus, TimeMs>> ActivityObserver::Impl::held() {
  const auto answer = std::make_shared<std::promise<std::pair<HeldGpus, TimeMs>>>();
  auto future = answer->get_future();
  const bool queued = ports.read([answer, now = ports.now_ms](const Engine& engine) {
    answer->set_value({held_gpus(engine), std::max(now(), engine.now())});
  });
  if (!queued) return std::nullopt;
  const auto end = SteadyClock::now() + milliseconds(limits::kActivityCallMs);
  while (future.wait_for(milliseconds(100)) != std::future_status::ready) {
    const MutexLock lock(mutex);
    if (stopping || SteadyClock::now() > end) return std::nullopt;
  }
  return future.get();
}

void ActivityObserver::Impl::write() {
  written = SteadyClock::now();
  if (const auto error = book.write(store)) complain(*error);
}

void ActivityObserver::Impl::complain(const Error& error) {
  const std::string text = error.message();
  if (text == last_error) return;
  last_error = text;
  log::warn("activity", {{"error", text}});
}

ActivityObserver::ActivityObserver(ObserverOptions options, ObserverPorts ports, ActivityBook& book,
                                   Store& store)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(ports), book, store)) {
  book.set_configured();
}

ActivityObserver::~ActivityObserver() { stop(); }

void ActivityObserver::start() {
  impl_->thread = std::thread([this] {
    name_background_thread("activity");
    impl_->run();
  });
}

void ActivityObserver::stop() {
  impl_->client.stop();
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace subak
