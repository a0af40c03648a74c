// The ledger: exact, append-only rows that say which account held which GPUs when, and who pays.
// Example: pod 0 of job 1-42 held 4 GPUs from 10:00 to 12:00 UTC, and the account ml pays. The
// engine makes each row once, as the durable fact `charged`, and the store has the rows. The class
// Ledger has only their sums. Nothing in it decays. A row is within one UTC day. Its allocation
// (one pod in one attempt), `from_ms` and `corrects` identify the row.
//
// Units: amounts are exact, in milli-GPU x ms (core/quantity.h). Times are ms since 1970-01-01 UTC.
// Errors: none; broken preconditions are asserted.
// Threads: one at a time; the engine owns the ledger.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// How an allocation used its GPU time. Facts store these values: only append new ones.
enum class UsageState : std::uint8_t {
  // The pod was bound. The row ends with the pod's terminal phase. The account pays.
  kUsed,
  // The pod had a hold and was bound later. The account pays.
  kHeld,
  // The hold was released, and no pod was bound. The platform pays.
  kHeldUnbound,
  // The node was silent: this is time after the node's last good heartbeat. Or the work of this
  // time was lost, and the row charges the platform instead of the account. The platform pays.
  kLost,
  // The GPU pod ran although Subak never admitted it. The account of the pod's namespace pays.
  kForeign,
};
template <>
struct EnumText<UsageState> {
  static constexpr std::array<std::string_view, 5> names{"used", "held", "held_unbound", "lost",
                                                         "foreign"};
};

// The clock that measured the end of a row. Facts store these values: only append new ones.
enum class RowClock : std::uint8_t {
  // The service's own clock.
  kService,
  // The clock of the node or launcher that said when the pod was bound or ended.
  kReported,
  // The clock of the node or launcher, plus the measured time by which that clock is behind.
  kAdjusted,
};
template <>
struct EnumText<RowClock> {
  static constexpr std::array<std::string_view, 3> names{"service", "reported", "adjusted"};
};

// One allocation: one pod of one job in one attempt. An allocation, `from_ms` and
// LedgerRow::corrects together identify one row.
struct AllocationId {
  JobId job;
  // The index of the pod in its job, from 0.
  std::uint32_t rank = 0;
  // The number of the job's attempt, from 1. 0: Subak found the job running.
  std::uint32_t attempt = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "attempt", attempt);
  }
  friend auto operator<=>(const AllocationId&, const AllocationId&) = default;
};

// When UTC months close. Later rows for a closed month count in an open month.
struct MonthClosing {
  // A month closes this many days after its end: 1 to kMostMonthOpenDays. 0: kMonthOpenDays.
  std::uint32_t open_days = 0;
  // Months that end at or before this instant stay closed, whatever `open_days` is. Only the engine
  // sets it, when an edit changes `open_days`.
  TimeMs closed_until_ms = 0;
  // Returns how many days a month stays open after its end.
  std::uint32_t days() const;
  friend bool operator==(const MonthClosing&, const MonthClosing&) = default;
};
inline constexpr std::uint32_t kMonthOpenDays = 3;
// With more days, three months could be open at once.
inline constexpr std::uint32_t kMostMonthOpenDays = 28;
// Returns the first instant that is in an open month at the time `now`: the beginning of this
// month, or of the month before.
TimeMs open_since(TimeMs now, const MonthClosing& months);
// Returns `months` with other `open_days`, for an edit at the time `now`. The months that are
// closed then stay closed.
MonthClosing with_open_days(const MonthClosing& months, std::uint32_t open_days, TimeMs now);

// One row: `milligpu` from from_ms up to, but not including, to_ms.
struct LedgerRow {
  AllocationId allocation;
  // The first instant of the interval.
  TimeMs from_ms = 0;
  // The first instant after the interval. `to_ms` is always after `from_ms`: an empty interval
  // makes no row.
  TimeMs to_ms = 0;
  // The account of the job.
  AccountId holder;
  // The payer of the row: an account, kPlatform or kUnassigned.
  AccountId payer;
  // How the GPU time was used. The state decides who pays.
  UsageState state = UsageState::kUsed;
  // The node whose GPUs were held.
  NodeId node;
  // The GPU product of that node, as NodeSpec::product names it.
  std::string product;
  // The amount held during the interval. The amount is negative in a row that corrects another row.
  MilliGpu milligpu = 0;
  // This row corrects the row of the fact with this number. 0: this row corrects no other row.
  std::uint64_t corrects = 0;
  // The clock by which `to_ms` was read.
  RowClock clock = RowClock::kService;
  // The name of the cluster in which the pod or job ran. This text and the next two are empty in
  // rows that were written before these fields existed.
  std::string cluster;
  // The namespace of the pod. Empty: a job of the API, which has no namespace.
  std::string ns;
  // The profile of the MIG slices, such as "1g.10gb". Empty: whole GPUs or shares of GPUs.
  std::string profile;
  // When the row was made, if its interval is in a closed month (open_since()). The row then counts
  // in the month of this instant, and its interval says for which time it is. 0: the row counts in
  // its interval.
  TimeMs booked_ms = 0;

  template <class V>
  void fields(V& v) {
    v(1, "allocation", allocation);
    v(2, "from_ms", from_ms);
    v(3, "to_ms", to_ms);
    v(4, "holder", holder);
    v(5, "payer", payer);
    v(6, "state", state);
    v(7, "node", node);
    v(8, "product", product);
    v(9, "milligpu", milligpu);
    v(10, "corrects", corrects);
    v(11, "clock", clock);
    v(12, "cluster", cluster);
    v(13, "ns", ns);
    v(14, "profile", profile);
    v(15, "booked_ms", booked_ms);
  }
  // Return the interval in which the row counts: its own, or the last millisecond before
  // `booked_ms`.
  TimeMs counts_from() const { return booked_ms == 0 ? from_ms : booked_ms - 1; }
  TimeMs counts_to() const { return booked_ms == 0 ? to_ms : booked_ms; }
  // Returns milligpu x (to_ms - from_ms).
  GpuTime amount() const { return GpuTime::of(milligpu, to_ms - from_ms); }
  friend bool operator==(const LedgerRow&, const LedgerRow&) = default;
};

// The sums of rows by (payer, holder, state, product), and by node. The engine compares the sums by
// node with the GPU time that the fleet measured on the nodes; the difference, called the residual,
// must be 0. Rows are never removed.
class Ledger {
 public:
  // The rows with these values are in one sum.
  struct Key {
    AccountId payer, holder;
    UsageState state = UsageState::kUsed;
    std::string product;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // Adds a row. Asserts from_ms < to_ms, an amount that is not 0, and a payer. To correct a wrong
  // row, add further rows, for example one with a negative amount.
  void add(const LedgerRow& row);
  // Returns how many rows were ever added, including rows before a restored checkpoint.
  std::uint64_t rows() const { return rows_; }
  // Returns the amount of all rows: the total of sums().
  GpuTime total() const { return total_; }
  // Returns the node's sum; 0 if the node has no rows or was dropped.
  GpuTime of_node(NodeId node) const;
  // Drops the sum of a node that was removed. total() and sums() do not change.
  void drop_node(NodeId node) { by_node_.erase(node); }
  // sums() has the sums by key, for keys with rows. node_sums() has the sums by node, for nodes
  // that were not dropped.
  const std::map<Key, GpuTime>& sums() const { return sums_; }
  const std::map<NodeId, GpuTime>& node_sums() const { return by_node_; }
  // These functions restore the sums by key, the sums by node and the number of rows from a
  // checkpoint, into an empty Ledger.
  void restore_sum(const Key& key, GpuTime amount);
  void restore_node(NodeId node, GpuTime amount);
  void restore_rows(std::uint64_t rows) { rows_ = rows; }

 private:
  std::map<Key, GpuTime> sums_;
  std::map<NodeId, GpuTime> by_node_;
  GpuTime total_;
  std::uint64_t rows_ = 0;
};

}  // namespace subak
