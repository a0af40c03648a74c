#include "server/notify/notifier.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <span>
#include <utility>

#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/notify/marks.h"
#include "server/notify/notice_limits.h"
#include "server/notify/receiver_thread.h"
#include "server/notify/receivers.h"
#include "threads/mutex.h"

namespace subak {
namespace {

using std::chrono::milliseconds;
using Facts = std::shared_ptr<const std::vector<Fact>>;

// How long to wait after a read that failed.
constexpr milliseconds kRetry{1000};

}  // namespace

struct Notifier::Impl {
  Impl(std::string f, NotifierPorts p) : file(std::move(f)), ports(std::move(p)) {}

  void run();
  bool turn();
  bool read_store(std::uint64_t up_to);
  bool take(std::span<const Fact> facts);
  std::optional<NoticeSubjects> look_up(std::vector<Fact> facts);
  void hand_out(const Notice& notice);
  void write_marks(bool now);
  void complain(const char* what, const std::string& error);
  bool pause(milliseconds most);
  void set_receivers();
  bool stops() {
    const MutexLock lock(mutex);
    return stopping;
  }

  const std::string file;
  // Used only after start().
  const NotifierPorts ports;
  // Set by start().
  Store* store = nullptr;
  std::unique_ptr<StoreReader> reader;
  std::thread thread;

  mutable Mutex mutex;
  CondVar wake;
  // The facts that wait for the notifier's thread.
  struct Feed {
    std::deque<Facts> batches;
    std::size_t queued_facts = 0;
    // The last durable fact. The last fact up to which all notices are in the queues.
    std::uint64_t durable_seq = 0, done_seq = 0;
  };
  Feed feed SUBAK_GUARDED_BY(mutex);
  bool running SUBAK_GUARDED_BY(mutex) = false;
  bool stopping SUBAK_GUARDED_BY(mutex) = false;
  // The receivers of the file.
  std::vector<NoticeReceiver> wanted SUBAK_GUARDED_BY(mutex);
  // The marks of the store; empty after the receivers of the first file have begun.
  NoticeMarks marks SUBAK_GUARDED_BY(mutex);
  std::map<std::string, std::shared_ptr<ReceiverThread>> receivers SUBAK_GUARDED_BY(mutex);

  // The members below belong to the notifier's thread.
  NoticeMaker maker;
  // When the marks were last written, and how many notices were sent or lost by then.
  struct Written {
    std::optional<DurationMs> at_ms;
    std::uint64_t count = 0;
    // The last error in the log, so that a lasting error has one line.
    std::string error;
  };
  Written written;
};

// Receivers that the file no longer names end here, after the lock is released.
void Notifier::Impl::set_receivers() {
  const TimeMs now_ms = ports.now_ms();
  std::map<std::string, std::shared_ptr<ReceiverThread>> old;
  {
    const MutexLock lock(mutex);
    if (stopping) return;
    old.swap(receivers);
    for (const NoticeReceiver& one : wanted) {
      const std::string name = one.name;
      if (const auto known = old.find(name); known != old.end()) {
        known->second->set(one);
        receivers.insert(old.extract(known));
        continue;
      }
      const NoticeMark mark = where_to_begin(marks, name, feed.durable_seq, now_ms);
      log::info("notices begin", {{"receiver", name}, {"after", mark.seq}, {"lost", mark.lost}});
      const ReceiverThread::Clocks clocks{ports.now_ms, ports.monotonic_ms};
      receivers[name] = std::make_shared<ReceiverThread>(one, mark.seq, mark.lost, clocks);
    }
    marks.clear();
  }
  for (const auto& [name, receiver] : old) receiver->ask_stop();
}

std::optional<Error> Notifier::read() {
  Result<std::vector<NoticeReceiver>> read = read_receivers(impl_->file);
  if (!read) return read.error();
  {
    const MutexLock lock(impl_->mutex);
    impl_->wanted = std::move(read).value();
    if (!impl_->running) return std::nullopt;
  }
  impl_->set_receivers();
  return std::nullopt;
}

std::optional<Error> Notifier::start(Store& store, std::uint64_t last_seq) {
  auto opened = store.open_reader();
  if (!opened) return opened.error();
  impl_->store = &store;
  impl_->reader = std::move(*opened);
  const Result<std::string> bytes = store.read_notice_marks();
  Result<NoticeMarks> marks = bytes ? parse_marks(*bytes) : bytes.error();
  if (!marks)
    log::warn("notices begin with the present facts", {{"error", marks.error().message()}});
  {
    const MutexLock lock(impl_->mutex);
    impl_->running = true;
    impl_->feed.durable_seq = std::max(impl_->feed.durable_seq, last_seq);
    if (marks) impl_->marks = std::move(marks).value();
  }
  impl_->set_receivers();
  {
    const MutexLock lock(impl_->mutex);
    impl_->feed.done_seq = impl_->feed.durable_seq;
    for (const auto& [name, receiver] : impl_->receivers) {
      impl_->feed.done_seq = std::min(impl_->feed.done_seq, receiver->mark(0).seq);
    }
  }
  impl_->thread = std::thread([impl = impl_.get()] {
    name_background_thread("notices");
    impl->run();
  });
  return std::nullopt;
}

void Notifier::durable(const Released& batch) {
  if (batch.facts == nullptr || batch.facts->empty()) return;
  {
    const MutexLock lock(impl_->mutex);
    impl_->feed.durable_seq = batch.seq;
    if (!impl_->running || impl_->stopping) return;
    impl_->feed.queued_facts += batch.facts->size();
    impl_->feed.batches.push_back(batch.facts);
    if (impl_->feed.queued_facts > limits::kNotifierFacts) {
      impl_->feed.batches.clear();
      impl_->feed.queued_facts = 0;
    }
  }
  impl_->wake.notify_all();
}

void Notifier::Impl::run() {
  bool done = true;
  while (pause(done ? milliseconds(limits::kNoticeMarkMs) : kRetry)) {
    done = turn();
    write_marks(false);
  }
}

// Waits until there are facts, or for `most`. False: the end.
bool Notifier::Impl::pause(milliseconds most) {
  MutexLock lock(mutex);
  wake.wait_for(lock, most, [this]() SUBAK_REQUIRES(mutex) {
    return stopping || (!feed.batches.empty() && feed.durable_seq > feed.done_seq);
  });
  return !stopping;
}

// Takes all facts that are durable now. Facts that are in no batch come from the store. False: some
// could not be read; the next turn reads them.
bool Notifier::Impl::turn() {
  std::deque<Facts> taken;
  std::uint64_t up_to = 0, done = 0;
  {
    const MutexLock lock(mutex);
    taken.swap(feed.batches);
    feed.queued_facts = 0;
    up_to = feed.durable_seq;
    done = feed.done_seq;
  }
  for (const Facts& facts : taken) {
    if (facts->back().seq <= done) continue;
    if (facts->front().seq > done + 1 && !read_store(facts->front().seq - 1)) return false;
    for (std::span<const Fact> rest(*facts); !rest.empty();) {
      const std::size_t count = std::min(rest.size(), limits::kNoticeFactsPerRead);
      if (!take(rest.first(count))) return false;
      rest = rest.subspan(count);
    }
    done = facts->back().seq;
  }
  return done >= up_to || read_store(up_to);
}

bool Notifier::Impl::read_store(std::uint64_t up_to) {
  std::uint64_t done = 0;
  {
    const MutexLock lock(mutex);
    done = feed.done_seq;
  }
  while (done < up_to && !stops()) {
    const std::size_t most = std::min<std::uint64_t>(up_to - done, limits::kNoticeFactsPerRead);
    const Result<std::vector<Fact>> facts = reader->facts(done, most);
    if (!facts || facts->empty()) {
      complain("notices wait", facts ? "facts are missing" : facts.error().message());
      return false;
    }
    if (!take(*facts)) return false;
    done = facts->back().seq;
  }
  return done >= up_to;
}

// Makes the notices of these facts, which follow the last fact so far or repeat it.
bool Notifier::Impl::take(std::span<const Fact> facts) {
  std::uint64_t done = 0;
  {
    const MutexLock lock(mutex);
    done = feed.done_seq;
  }
  std::vector<Fact> news;
  for (const Fact& fact : facts) {
    if (fact.seq > done && may_give_notice(fact.body)) news.push_back(fact);
  }
  if (!news.empty()) {
    const std::optional<NoticeSubjects> subjects = look_up(news);
    if (!subjects) return false;
    for (const Fact& fact : news) {
      if (const auto notice = maker.make(fact, *subjects)) hand_out(*notice);
    }
  }
  const MutexLock lock(mutex);
  feed.done_seq = std::max(done, facts.back().seq);
  for (const auto& [name, receiver] : receivers) receiver->saw(feed.done_seq);
  return true;
}

void Notifier::Impl::hand_out(const Notice& notice) {
  const MutexLock lock(mutex);
  for (const auto& [name, receiver] : receivers) receiver->add(notice);
}

// nullopt: the follower did not answer in time, or the service stops.
std::optional<NoticeSubjects> Notifier::Impl::look_up(std::vector<Fact> facts) {
  const auto asked = std::make_shared<const std::vector<Fact>>(std::move(facts));
  const auto answer = std::make_shared<std::promise<NoticeSubjects>>();
  std::future<NoticeSubjects> future = answer->get_future();
  const bool queued = ports.read([asked, answer](const Engine& engine) {
    answer->set_value(notice_subjects(*asked, engine));
  });
  if (!queued) return std::nullopt;
  while (future.wait_for(milliseconds(100)) != std::future_status::ready) {
    if (stops()) return std::nullopt;
  }
  return future.get();
}

// Writes soon after a delivery, and seldom if only the last fact is another one.
void Notifier::Impl::write_marks(bool now) {
  const TimeMs now_ms = ports.now_ms();
  NoticeMarks present;
  std::uint64_t count = 0;
  {
    const MutexLock lock(mutex);
    for (const auto& [name, receiver] : receivers) {
      present[name] = receiver->mark(now_ms);
      const NoticeFigures figures = receiver->figures();
      count += 1 + figures.sent + figures.lost;
    }
  }
  const DurationMs wait_ms =
      count == written.count ? limits::kNoticeIdleMarkMs : limits::kNoticeMarkMs;
  const DurationMs monotonic_ms = ports.monotonic_ms();
  if (!now && written.at_ms && monotonic_ms - *written.at_ms < wait_ms) return;
  written.at_ms = monotonic_ms;
  if (const auto error = store->write_notice_marks(marks_text(present))) {
    return complain("the marks of notices are not written", error->message());
  }
  written.count = count;
  written.error.clear();
}

void Notifier::Impl::complain(const char* what, const std::string& error) {
  if (error == written.error) return;
  written.error = error;
  log::warn(what, {{"error", error}});
}

void Notifier::stop() {
  std::map<std::string, std::shared_ptr<ReceiverThread>> receivers;
  {
    const MutexLock lock(impl_->mutex);
    if (!impl_->running || impl_->stopping) return;
    impl_->stopping = true;
    receivers = impl_->receivers;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
  for (const auto& [name, receiver] : receivers) receiver->ask_stop();
  for (const auto& [name, receiver] : receivers) receiver->stop();
  impl_->write_marks(true);
}

ReceiverFigures Notifier::figures() const {
  ReceiverFigures out;
  const MutexLock lock(impl_->mutex);
  for (const auto& [name, receiver] : impl_->receivers) {
    out.emplace_back(name, receiver->figures());
  }
  return out;
}

Notifier::Notifier(std::string file, NotifierPorts ports)
    : impl_(std::make_unique<Impl>(std::move(file), std::move(ports))) {}

Notifier::~Notifier() { stop(); }

std::vector<std::string> notice_warnings(const ReceiverFigures& figures) {
  std::vector<std::string> out;
  for (const auto& [name, one] : figures) {
    if (one.error.empty()) continue;
    out.push_back("the receiver " + name + " of notices does not take them, and " +
                  std::to_string(one.waiting) + " wait: " + one.error);
  }
  return out;
}

}  // namespace subak
