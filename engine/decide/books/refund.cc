// Refunds ledger rows: the platform pays instead of the account.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/must.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// True if the work of a pod that ended with `cause` is lost, and the platform is the reason.
bool loses_work(const state::Job& job, Cause cause) {
  if (cause == Cause::kFinished) return false;
  if (cause == Cause::kNodeLost || job.stop == Cause::kPreempted) return true;
  return job.stop == Cause::kMemberLost && job.cause == Cause::kNodeLost;
}

}  // namespace

void refund(Decision& d, std::uint64_t charged, const LedgerRow& whole, TimeMs from, TimeMs to) {
  LedgerRow row = whole;
  row.from_ms = std::max(row.from_ms, from);
  row.to_ms = std::min(row.to_ms, to);
  if (row.from_ms >= row.to_ms || row.payer == kPlatform) return;
  must(charged != 0 && charged <= d.s.seq(), "a refund names a charge that was made");
  row.clock = RowClock::kService;
  row.booked_ms = row.from_ms < open_since(d.s.now(), d.s.policy().books.months) ? d.s.now() : 0;
  row.corrects = charged;
  row.milligpu = -whole.milligpu;
  d.emit(fact::Charged{row});
  row.corrects = d.s.seq();
  row.milligpu = whole.milligpu;
  must(row.milligpu > 0, "the platform pays for GPUs that were used");
  row.payer = kPlatform;
  row.state = UsageState::kLost;
  d.emit(fact::Charged{row});
}

void refund_lost_work(Decision& d, const state::Job& job, std::uint32_t rank, Cause cause) {
  const DurationMs most = d.s.policy().books.refund_lost_work_ms;
  if (most == 0 || !loses_work(job, cause)) return;
  const AllocationId allocation{job.id, rank, job.attempt};
  std::vector<std::pair<std::uint64_t, LedgerRow>> rows;
  TimeMs to = 0;
  for (const Fact& fact : d.out.facts) {
    const auto* const charged = std::get_if<fact::Charged>(&fact.body);
    if (charged == nullptr || charged->row.allocation != allocation) continue;
    if (charged->row.state != UsageState::kUsed) continue;
    rows.emplace_back(fact.seq, charged->row);
    to = std::max(to, charged->row.to_ms);
  }
  for (const auto& [charged, row] : rows) refund(d, charged, row, to - most, to);
}

}  // namespace subak::decide
