// Recomputes the balances from the ledger's rows, again and again: the difference, the drift, must
// be zero. A reader of its own and the follower's copy of the balances: the loop notices nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "accounting/ledger.h"
#include "core/error.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"

namespace subak::metrics {

// Balances as of fact `seq`.
struct Balances {
  std::uint64_t seq = 0;
  Ledger ledger;
};

// The largest difference between a balance of `kept` and the sum of the rows up to its seq, in
// GPU-seconds rounded up. Reads pages; `stop` ends it early with nothing.
Result<std::optional<std::int64_t>> measure_drift(const Balances& kept, StoreReader& reader,
                                                  const std::atomic<bool>& stop);

// How long the first run waits, by the rows that it reads: a long one leaves a start what it needs.
DurationMs audit_first_wait_ms(std::uint64_t rows);

// The thread that does it, at a low priority: soon after the start, and then so rarely that it takes at
// most a fiftieth of a core. Logs a drift that is not zero as an error.
class LedgerAudit {
 public:
  // All three outlive the audit.
  LedgerAudit(Follower& follower, Store& store, const Clock& clock);
  ~LedgerAudit();  // stops and joins
  LedgerAudit(const LedgerAudit&) = delete;
  LedgerAudit& operator=(const LedgerAudit&) = delete;

  // Of the last finished run. Threads: any.
  std::optional<std::int64_t> drift_gpu_seconds() const;

 private:
  void run();
  void once(const Balances& kept);
  void wait(DurationMs ms);
  std::shared_ptr<const Balances> balances();

  Follower& follower_;
  Store& store_;
  const Clock& clock_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<std::int64_t> drift_;
  std::thread thread_;
};

}  // namespace subak::metrics
