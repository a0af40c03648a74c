#include "server/metrics/ledger_audit.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak::metrics {
namespace {

// After a run of t, the thread rests for kRest t, at least kLeastRestMs.
constexpr DurationMs kRest = 50;
constexpr DurationMs kLeastRestMs = kMinuteMs;

GpuTime::Raw distance(GpuTime a, GpuTime b) {
  const GpuTime::Raw d = (a - b).raw();
  return d < 0 ? -d : d;
}

// Returns the largest difference of two sums under the same key; a missing one counts as zero.
GpuTime::Raw largest(const std::map<Ledger::Key, GpuTime>& a,
                     const std::map<Ledger::Key, GpuTime>& b) {
  GpuTime::Raw most = 0;
  const auto other = [](const std::map<Ledger::Key, GpuTime>& sums, const Ledger::Key& key) {
    const auto at = sums.find(key);
    return at == sums.end() ? GpuTime() : at->second;
  };
  for (const auto& [key, sum] : a) most = std::max(most, distance(sum, other(b, key)));
  for (const auto& [key, sum] : b) most = std::max(most, distance(sum, other(a, key)));
  return most;
}

// Compares existing nodes only: a removed node's sum is dropped, but its rows stay. Any other lost
// sum shows in the residual.
GpuTime::Raw largest_of_nodes(const Ledger& kept, const Ledger& computed) {
  GpuTime::Raw most = 0;
  for (const auto& [node, sum] : kept.node_sums()) {
    most = std::max(most, distance(sum, computed.of_node(node)));
  }
  return most;
}

}  // namespace

Result<std::optional<std::int64_t>> measure_drift(const Balances& kept, StoreReader& reader,
                                                  const std::atomic<bool>& stop) {
  Ledger computed;
  LedgerQuery page;
  page.most = limits::kLedgerAuditPageRows;
  bool more = true;
  while (more) {
    if (stop.load(std::memory_order_relaxed)) return std::optional<std::int64_t>();
    const Result<std::vector<LedgerEntry>> rows = reader.ledger(page);
    if (!rows) return rows.error();
    for (const LedgerEntry& entry : *rows) {
      if (entry.seq <= kept.seq) computed.add(entry.row);
    }
    more = rows->size() == page.most && rows->back().seq <= kept.seq;
    if (more) page.after_seq = rows->back().seq;
  }
  const GpuTime::Raw drift = std::max({largest(kept.ledger.sums(), computed.sums()),
                                       largest_of_nodes(kept.ledger, computed),
                                       distance(kept.ledger.total(), computed.total())});
  const GpuTime::Raw up = (drift + GpuTime::kRawPerGpuSecond - 1) / GpuTime::kRawPerGpuSecond;
  return std::optional<std::int64_t>(static_cast<std::int64_t>(up));
}

DurationMs audit_first_wait_ms(std::uint64_t rows) {
  return rows <= limits::kLedgerAuditAtOnceRows ? 0 : limits::kLedgerAuditWaitMs;
}

LedgerAudit::LedgerAudit(Follower& follower, Store& store, const Clock& clock)
    : follower_(follower), store_(store), clock_(clock), thread_([this] { run(); }) {}

LedgerAudit::~LedgerAudit() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::optional<std::int64_t> LedgerAudit::drift_gpu_seconds() const {
  const MutexLock lock(mutex_);
  return drift_;
}

void LedgerAudit::run() {
  name_background_thread("audit");
  for (bool first = true; !stop_; first = false) {
    const std::shared_ptr<const Balances> kept = balances();
    if (kept && first) wait(audit_first_wait_ms(kept->ledger.rows()));
    const DurationMs begin = clock_.monotonic_ms();
    if (kept) once(*kept);
    wait(std::max(kLeastRestMs, kRest * (clock_.monotonic_ms() - begin)));
  }
}

void LedgerAudit::wait(DurationMs ms) {
  MutexLock lock(mutex_);
  wake_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stop_.load(); });
}

void LedgerAudit::once(const Balances& kept) {
  Result<std::unique_ptr<StoreReader>> reader = store_.open_reader();
  if (!reader) {
    log::warn("ledger audit: no reader", {{"error", reader.error().message()}});
    return;
  }
  const auto drift = measure_drift(kept, **reader, stop_);
  if (!drift) {
    log::warn("ledger audit: cannot read", {{"error", drift.error().message()}});
    return;
  }
  if (!*drift) return;
  if (**drift != 0) {
    log::error("ledger audit: balances differ from their rows",
               {{"drift_gpu_seconds", **drift}, {"seq", kept.seq}});
  }
  const MutexLock lock(mutex_);
  drift_ = **drift;
}

// Returns the follower's balances; nothing if it refuses, or if a stop comes meanwhile.
std::shared_ptr<const Balances> LedgerAudit::balances() {
  struct Answer {
    Mutex mutex;
    CondVar there;
    std::shared_ptr<const Balances> balances;
  };
  const auto answer = std::make_shared<Answer>();
  const Queued queued = follower_.read_expensive("audit", [answer](const Engine& engine) {
    auto copy = std::make_shared<const Balances>(Balances{engine.seq(), engine.ledger()});
    const MutexLock lock(answer->mutex);
    answer->balances = std::move(copy);
    answer->there.notify_all();
  });
  if (queued != Queued::kYes) return nullptr;
  MutexLock lock(answer->mutex);
  while (!answer->balances && !stop_) {
    answer->there.wait_for(lock, std::chrono::milliseconds(100));
  }
  return answer->balances;
}

}  // namespace subak::metrics
