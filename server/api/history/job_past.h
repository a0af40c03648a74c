// Reads the history of one job from the store, for the call GetJobHistory. The store has no index
// of facts by job. But the jobs of a cluster have ascending numbers, in the order of their
// creation. So a binary search over the facts finds the fact that created the job. From there on,
// JobPast reads all facts up to the end of the job (docs/design/0128).
//
// Threads: one at a time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/derive/history/job_history.h"
#include "server/runtime/ports.h"

namespace subak::api {

// The history of one job, read in parts. Call read() until it returns true.
class JobPast {
 public:
  struct Asked {
    JobId job;
    // From the page token: only later facts are read. 0: first find the fact that created the job.
    std::uint64_t after = 0;
    // The last fact to read.
    std::uint64_t last_seq = 0;
    // The job was created between these times, as far as the caller knows.
    TimeMs from_ms = 0, until_ms = INT64_MAX;
    // read() stops once there are this many events.
    std::size_t most_events = 1;
  };
  explicit JobPast(const Asked& asked);

  // Reads the next part, of about limits::kHistoryFactsPerTurn facts. True: there is nothing more
  // to read for this page. An error of the store is final.
  Result<bool> read(StoreReader& store);
  // True: no job ever had this id. Known once read() has returned true.
  bool missing() const { return step_ == Step::kMissing; }
  // Returns the fact after which the next page begins; 0: there is no further page.
  std::uint64_t next() const { return next_; }
  const std::vector<derive::JobEvent>& events() const { return history_.events(); }
  std::uint64_t facts_read() const { return facts_read_; }

 private:
  enum class Step : unsigned char { kNarrow, kFind, kScan, kDone, kMissing };
  // Says whether the job that this fact creates is an earlier one of the cluster (less), the job in
  // question (equal) or a later one (greater). nullopt: the fact creates no job of the cluster.
  std::optional<std::strong_ordering> order_of(const Fact& fact) const;
  Result<std::vector<Fact>> facts(StoreReader& store, std::uint64_t after, std::uint64_t most);
  std::optional<Error> narrow(StoreReader& store);
  std::optional<Error> find(StoreReader& store);
  std::optional<Error> scan(StoreReader& store);
  void begin_scan(std::uint64_t created);

  const Asked asked_;
  derive::JobHistory history_;
  Step step_;
  // The range of the search: facts up to low_ create only earlier jobs, and high_ is after the job.
  std::uint64_t low_ = 0, high_;
  // The search looks at facts after middle_, and has looked at those up to at_. kScan: the last
  // fact that was read.
  std::uint64_t middle_ = 0, at_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t facts_read_ = 0;
};

}  // namespace subak::api
