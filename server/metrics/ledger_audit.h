// Recomputes the balances of accounts from the ledger's rows, at intervals, to prove that the
// balances are right. The drift is the largest difference between a balance and the recomputed one,
// and must be zero. The audit uses its own store reader and the balances of the follower, the
// engine that serves reads. So it does not slow the loop, the thread that decides.
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

// The balances of all accounts, as of one fact.
struct Balances {
  // The last fact that the balances include.
  std::uint64_t seq = 0;
  // A copy of the follower's ledger.
  Ledger ledger;
};

// Returns the drift: the largest difference between a balance in `kept` and the sum of the
// account's rows up to kept.seq. The unit is GPU-seconds, rounded up. It reads the rows in pages.
// nullopt: `stop` became true before the end.
Result<std::optional<std::int64_t>> measure_drift(const Balances& kept, StoreReader& reader,
                                                  const std::atomic<bool>& stop);

// Returns how long to wait before the first run. The wait depends on the number of rows that the
// run must read: a long run begins later, so that it does not slow the start of the service.
DurationMs audit_first_wait_ms(std::uint64_t rows);

// The auditing thread, which has a low priority. The thread makes the first run after
// audit_first_wait_ms(). Later runs are so rare that they take at most a fiftieth of the time of
// one core. If the drift is not zero, the thread logs an error.
class LedgerAudit {
 public:
  // `follower`, `store` and `clock` must outlive the audit.
  LedgerAudit(Follower& follower, Store& store, const Clock& clock);
  // Stops and joins the thread.
  ~LedgerAudit();
  LedgerAudit(const LedgerAudit&) = delete;
  LedgerAudit& operator=(const LedgerAudit&) = delete;

  // Returns the drift that the last finished run found; nullopt: no run has finished. Threads: any.
  std::optional<std::int64_t> drift_gpu_seconds() const;

 private:
  // run(), once(), wait() and balances() run on the audit's thread. run() is the main function of
  // that thread.
  void run();
  // Does one run: reads all rows and compares their sums with the balances. If a read fails, it
  // logs the error.
  void once(const Balances& kept);
  // Waits for `ms` ms, or until the destructor stops the audit.
  void wait(DurationMs ms);
  // Requests the follower's balances and waits for them. nullptr: the follower has stopped, or the
  // destructor stops the audit.
  std::shared_ptr<const Balances> balances();

  Follower& follower_;
  Store& store_;
  const Clock& clock_;
  // True: the destructor stops the audit.
  std::atomic<bool> stop_{false};
  mutable Mutex mutex_;
  CondVar wake_;
  // nullopt: no run has finished.
  std::optional<std::int64_t> drift_ SUBAK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace subak::metrics
