#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

// Which accounts have series: not the root, whose empty path is no label value.
bool shown(const AccountRow& row, bool users) {
  return !row.spec.path.empty() && (users || !row.spec.user);
}

// One value per account; a parent's includes all below it, so add up one level, not all of them.
template <class Value>
void per_account(Exposition& out, const std::vector<AccountRow>& rows, bool users, Value value) {
  for (const AccountRow& row : rows) {
    if (shown(row, users)) out.sample({{"account", row.spec.path}}, value(row));
  }
}

double gpu_seconds(GpuTime time) {
  return static_cast<double>(time.gpu_seconds()) +
         static_cast<double>(time.rest()) / static_cast<double>(GpuTime::kRawPerGpuSecond);
}

void write_limits(Exposition& out, const std::vector<AccountRow>& rows, bool users) {
  out.gauge("account_limit_milligpu",
            "Most at once, of a product or of any (gpu); none if unlimited.");
  for (const AccountRow& row : rows) {
    if (!shown(row, users)) continue;
    for (const ProductAmount& limit : row.spec.limit) {
      out.sample({{"account", row.spec.path}, {"product", limit.product}}, limit.milligpu);
    }
  }
}

}  // namespace

void write_accounts(Exposition& out, const Engine& engine, TimeMs now, bool users) {
  const std::vector<AccountRow> rows = engine.account_rows(now);
  out.gauge("jobs_pending", "Jobs that wait at the account or below it.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.jobs_queued; });
  out.gauge("account_shares", "Configured shares, relative to the siblings'.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.spec.shares; });
  out.counter("account_usage_gpu_seconds_total", "GPU time reserved and used, never decayed.");
  per_account(out, rows, users, [](const AccountRow& r) { return gpu_seconds(r.usage_total); });
  out.gauge("account_decayed_usage", "Decayed usage in GPU-seconds: what priority reads.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.usage_gpu_seconds; });
  out.gauge("account_share_factor", "2^-(usage share / share): 1 unused, 0.5 exactly served.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.share_factor; });
  out.gauge("account_norm_shares", "Shares as a part of the siblings' sum.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.norm_shares; });
  out.gauge("account_effective_usage", "Decayed usage as a part of the parent's.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.effective_usage; });
  out.gauge("account_running_milligpu", "Bound now.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.running; });
  out.gauge("account_held_milligpu", "Reserved now and not yet bound.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.held; });
  out.gauge("account_queued_milligpu", "The least that the waiting jobs need.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.queued; });
  out.gauge("account_quota_milligpu", "Guaranteed.");
  per_account(out, rows, users, [](const AccountRow& r) { return r.quota; });
  write_limits(out, rows, users);
}

}  // namespace subak::metrics
