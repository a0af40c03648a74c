// Recomputes the balances of accounts from the ledger's rows, again and again. The drift, which is
// the largest difference, must be zero. It uses its own store reader and the follower's copy of the
// balances, so it does not slow the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "accounting/ledger.h"
#include "core/error.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak::metrics {

// Balances as of fact `seq`.
struct Balances {
  // The last fact that the balances include.
  std::uint64_t seq = 0;
  // A copy of the follower's ledger.
  Ledger ledger;
};

// Returns the largest difference between a balance of `kept` and the sum of its rows up to
// kept.seq, in GPU-seconds, rounded up. It reads the rows in pages.
// `stop` ends it early with nullopt.
Result<std::optional<std::int64_t>> measure_drift(const Balances& kept, StoreReader& reader,
                                                  const std::atomic<bool>& stop);

// Returns the wait before the first run, by the number of rows to read. A long run begins so late
// that it does not slow the start of the service.
DurationMs audit_first_wait_ms(std::uint64_t rows);

// The auditing thread, at a low priority. Its first run is soon after the start. Later runs are so
// rare that they take at most a fiftieth of a core. It logs a drift that is not zero as an error.
class LedgerAudit {
 public:
  // `follower`, `store` and `clock` outlive the audit.
  LedgerAudit(Follower& follower, Store& store, const Clock& clock);
  // Stops and joins the thread.
  ~LedgerAudit();
  LedgerAudit(const LedgerAudit&) = delete;
  LedgerAudit& operator=(const LedgerAudit&) = delete;

  // Returns the drift of the last finished run. Threads: any.
  std::optional<std::int64_t> drift_gpu_seconds() const;

 private:
  // run(), once(), wait() and balances() run on the audit's thread.
  void run();
  // Does one run: reads all rows and compares their sums with the balances.
  // Logs an error of a read.
  void once(const Balances& kept);
  // Waits for `ms`, or until the audit stops.
  void wait(DurationMs ms);
  // Asks the follower for its balances and waits for them. nullptr: the follower has stopped, or
  // the audit stops.
  std::shared_ptr<const Balances> balances();

  Follower& follower_;
  Store& store_;
  const Clock& clock_;
  // Set once, by the destructor.
  std::atomic<bool> stop_{false};
  mutable Mutex mutex_;
  CondVar wake_;
  // nullopt: no run has finished.
  std::optional<std::int64_t> drift_ SUBAK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace subak::metrics
