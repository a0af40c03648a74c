#include "server/leader/standby.h"

#include <chrono>
#include <string>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "server/codec/codec.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

bool is_same(const Fact& a, const Fact& b) {
  std::string bytes_a, bytes_b;
  return a.seq == b.seq && a.time_ms == b.time_ms && codec::encode(a.body, bytes_a) &&
         codec::encode(b.body, bytes_b) && bytes_a == bytes_b &&
         codec::kind_of(a.body) == codec::kind_of(b.body);
}

}  // namespace

Result<std::unique_ptr<SharedStore>> open_once_there(const PostgresOptions& options,
                                                     const std::function<void()>& away) {
  bool failed = false;
  while (true) {
    auto opened = open_shared_store(options);
    if (opened.ok() || !says_away(opened.error())) return opened;
    if (!std::exchange(failed, true)) {
      log::warn("waits for the database", {{"error", opened.error().message()}});
    }
    if (away) away();
    if (options.stop && options.stop()) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(limits::kMaxDatabaseRetryMs));
  }
}

Result<Recovered> StoreTail::begin(const std::function<void()>& meanwhile) {
  constexpr std::uint64_t kOften = 1000;  // facts
  return runtime_.follow([&](const Fact& fact) {
    last_ = fact;
    if (meanwhile && fact.seq % kOften == 0) meanwhile();
  });
}

// Reads the view's last fact again, to detect another history.
StoreTail::Look StoreTail::look(StoreReader& reader, const KnownAs& known_as) {
  while (true) {
    const std::uint64_t seq = runtime_.view()->seq;
    const bool is_known = seq > 0;
    const std::uint64_t from = seq - (is_known ? 1 : 0);
    auto read = reader.facts(from, limits::kCopiedFactsAtOnce);
    if (!read.ok()) {
      if (says_newer(read.error())) return Look::kNewer;
      if (!failed_)
        log::warn("the standby cannot read the store", {{"error", read.error().message()}});
      failed_ = true;
      return Look::kFailed;
    }
    failed_ = false;
    std::vector<Fact> facts = std::move(read).value();
    if (is_known) {
      if (facts.empty() || (last_ && !is_same(facts.front(), *last_))) return Look::kGone;
      last_ = facts.front();
      facts.erase(facts.begin());
    }
    const bool is_all = facts.empty();
    if (!is_all) last_ = facts.back();
    runtime_.followed(std::move(facts), known_as);
    if (is_all) return Look::kAll;
  }
}

Standby::Standby(Ports ports) : ports_(std::move(ports)), tail_(ports_.runtime) {}

Standby::~Standby() { stop(); }

Result<bool> Standby::begin() {
  while (true) {
    const Result<Begun> begun = try_begin();
    if (!begun.ok()) return begun.error();
    if (*begun != Begun::kNotYet) return *begun == Begun::kLeads;
    if (ports_.stop && ports_.stop()) {
      return Error{ErrorCode::kPrecondition, "state", "asked to stop at the start", ""};
    }
    pause();
  }
}

std::optional<Error> Standby::compare() {
  if (reader_ == nullptr) {
    auto opened = ports_.store.open_reader();
    if (!opened.ok()) return opened.error();
    reader_ = std::move(*opened);
  }
  return ports_.known != nullptr ? ports_.known->compare(*reader_) : std::nullopt;
}

// The database may have been replaced between the look and the lead.
Result<Standby::Begun> Standby::led_at_once() {
  if (auto error = compare()) return *error;
  if (may_lead()) return Begun::kLeads;
  return gone();
}

// While a leader makes the tables there is nothing to read yet. If there is no leader, standbys
// that know the state go first, then this one, unless the database lacks facts that it knows.
Result<Standby::Begun> Standby::try_begin() {
  std::optional<Error> unread;
  if (!compared_) unread = compare();
  compared_ = !unread;
  // Without tables the reader cannot be opened; any other refusal is an error.
  if (unread && reader_ != nullptr && !says_away(*unread)) return *unread;
  const Result<bool> led = ports_.store.try_lead();
  const bool is_away = !led.ok() && !ports_.store.leads() && says_away(led.error());
  if (!led.ok() && !is_away) return led.error();
  if (!is_away && *led) return led_at_once();
  const bool is_free = may_lead() && ports_.store.lead().holder.empty();
  if (!unread && !is_free && !is_away) return follow();
  if ((is_away || !is_free) && !std::exchange(failed_, true)) {
    log::warn("the standby cannot read the store yet",
              {{"error", is_away ? led.error().message() : unread->message()}});
  }
  if (is_away && ports_.away) ports_.away();
  return Begun::kNotYet;
}

Result<Standby::Begun> Standby::follow() {
  failed_ = false;
  const Result<Recovered> followed = tail_.begin([this] { ports_.store.watch(); });
  if (!followed.ok()) return followed.error();
  known_as_ = ports_.store.lead().known_as;
  ports_.runtime.followed({}, known_as_);
  log::info("a standby", {{"store", ports_.store.describe()},
                          {"leader", ports_.store.lead().holder},
                          {"seq", followed->seq},
                          {"checkpoint", followed->checkpoint_seq}});
  if (const auto missing = ports_.known != nullptr ? ports_.known->missing() : std::nullopt) {
    log::error(
        "the database lacks facts that this replica knows; it serves reads and does not lead",
        {{"store", ports_.store.describe()},
         {"known", missing->seq},
         {"known_at", format_time(missing->time_ms)},
         {"database_ends_with", followed->seq},
         {"missing", missing->seq > followed->seq ? missing->seq - followed->seq : 1},
         {"want", "the database that has them; or subak admin accept-loss --until " +
                      std::to_string(followed->seq)}});
  }
  return Begun::kFollows;
}

Error Standby::gone() const {
  return {ErrorCode::kPrecondition, "store.facts",
          "a fact that this replica knows is no longer in " + ports_.store.describe(),
          "want a database that loses no facts: this process ends and starts again"};
}

void Standby::start() {
  thread_ = std::thread([this] { run(); });
}

void Standby::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Standby::run() {
  name_thread("standby");
  if (const auto error = wait_and_lead()) end_process(*error, ports_.fatal);
}

std::optional<Error> Standby::wait_and_lead() {
  while (true) {
    const Result<bool> leads = look();
    if (!leads.ok()) return leads.error();
    if (*leads) return ports_.take_over();
    if (!pause()) return std::nullopt;
  }
}

Result<bool> Standby::look() {
  const Result<bool> led = ports_.store.try_lead();
  if (!led.ok() && ports_.store.leads()) return led.error();
  if (!led.ok() && !failed_) {
    log::warn("the leader cannot be determined", {{"error", led.error().message()}});
  }
  failed_ = !led.ok();
  const bool leads = led.ok() && *led;
  if (!leads) known_as_ = ports_.store.lead().known_as;
  const std::uint64_t before = ports_.runtime.view()->seq;
  const StoreTail::Look look = tail_.look(*reader_, known_as_);
  if (look == StoreTail::Look::kGone) {
    if (ports_.known != nullptr) ports_.known->write();
    return gone();
  }
  if (look == StoreTail::Look::kNewer) {
    return Error{ErrorCode::kPrecondition, "store.facts",
                 ports_.store.describe() +
                     " was finalized to a version of facts that is newer than this program",
                 "want the newer subakd on this machine too: this process ends"};
  }
  // Facts that arrived since the last look are a sign of life. Facts that a late reader still had
  // to read are not.
  if (has_all_ && ports_.runtime.view()->seq > before) ports_.store.note_alive();
  has_all_ = look == StoreTail::Look::kAll;
  // The previous leader may have committed until the lead was taken. Only a look after that has all
  // facts.
  return leads && has_all_;
}

bool Standby::pause() {
  MutexLock lock(mutex_);
  wake_.wait_for(lock, std::chrono::milliseconds(limits::kLeadLookMs),
                 [&]() SUBAK_REQUIRES(mutex_) { return stopping_; });
  return !stopping_;
}

}  // namespace subak
