#include "server/api/usage/usage_sums.h"

#include <algorithm>
#include <utility>

#include "core/account_path.h"
#include "model/product.h"
#include "server/codec/day_sums.h"

namespace subak::api {
namespace {

UsagePeriod period_of(const v1::ReportUsageRequest& in) {
  switch (in.period()) {
    case v1::PERIOD_WEEK:
      return UsagePeriod::kWeek;
    case v1::PERIOD_MONTH:
      return UsagePeriod::kMonth;
    case v1::PERIOD_DAY:
      return UsagePeriod::kDay;
    default:
      return in.by_day() ? UsagePeriod::kDay : UsagePeriod::kAll;
  }
}

// Returns the part of the sums that lies in `ms` of an hour.
ActivitySums part_of_hour(const ActivitySums& sums, DurationMs ms) {
  if (ms == kHourMs) return sums;
  const double part = static_cast<double>(ms) / kHourMs;
  const auto of = [&](std::int64_t sum) {
    return static_cast<std::int64_t>(static_cast<double>(sum) * part);
  };
  return {of(sums.idle), of(sums.low), of(sums.active), of(sums.energy_mj)};
}

// Returns the profile of the slices that the pod holds, as its row will have it.
std::string profile_of(const Engine& engine, const OpenUsage& open) {
  if (open.gpus == 0) {
    const auto job = engine.job(open.job, false);
    for (std::size_t i = 0; job && i < job->request.groups.size(); ++i) {
      const PodShape& shape = job->request.groups[i].shape;
      if (shape.kind == GpuKind::kMig) return shape.profile;
    }
  }
  return std::string(product_profile(open.product));
}

const std::string kNone;

}  // namespace

std::vector<RunningUsage> running_usage(const Engine& engine, const UsageColumns& columns) {
  std::vector<RunningUsage> out;
  for (OpenUsage& open : engine.open_usage()) {
    RunningUsage usage{std::move(open), {}, {}, {}};
    const OpenUsage& of = usage.open;
    if (columns.cluster) usage.cluster = engine.cluster_name(of.job.cluster());
    const auto slash = of.pod.find('/');
    if (columns.ns && slash != std::string::npos) usage.ns = of.pod.substr(0, slash);
    if (columns.profile) usage.profile = profile_of(engine, of);
    out.push_back(std::move(usage));
  }
  return out;
}

UsageColumns columns_of(const v1::ReportUsageRequest& in) {
  return {period_of(in),   in.by_product(),   in.by_profile(),
          in.by_cluster(), in.by_namespace(), in.by_job()};
}

std::optional<Error> find_payers(const Engine& engine, const std::string& account,
                                 std::vector<AccountId>* payers) {
  if (account.empty()) return std::nullopt;
  const AccountTree& tree = engine.accounts();
  for (std::uint32_t i = 1; i < tree.next_id().value; ++i) {
    const AccountId id(i);
    if (tree.exists(id) && is_path_within(tree.node(id).spec.path, account)) {
      payers->push_back(id);
    }
  }
  if (!payers->empty()) return std::nullopt;
  return Error{ErrorCode::kNotFound, "account", account, "there is no such account"};
}

void UsageSums::add_booked(const DailyUsage& row) {
  const Texts texts{row.product, row.profile, row.cluster, row.ns};
  first_day_ = std::min(first_day_, row.day);
  const bool by_platform = row.payer == kPlatform && row.holder != kUnassigned;
  if (by_platform && (query_.payers.empty() || is_payer(row.holder))) {
    sums_[key_of(row.holder, texts, row.job, row.day, row.state)].platform += row.amount;
    total_.platform += row.amount;
  }
  if (!query_.payers.empty() && !is_payer(row.payer)) return;
  rows_ += row.rows;
  const auto add = [&](Sums& sum) {
    sum.booked += row.amount;
    if (row.payer == kPlatform) return;
    (row.state == UsageState::kHeld ? sum.held : sum.used) += row.amount;
  };
  add(sums_[key_of(row.payer, texts, row.job, row.day, row.state)]);
  add(total_);
}

void UsageSums::add_running(const RunningUsage& usage, TimeMs now) {
  const OpenUsage& open = usage.open;
  if (!query_.payers.empty() && !is_payer(open.payer)) return;
  const Texts texts{open.product, usage.profile, usage.cluster, usage.ns};
  const auto add = [&](std::int64_t day, DurationMs duration) {
    const GpuTime amount = GpuTime::of(open.milligpu, duration);
    sums_[key_of(open.payer, texts, open.job, day, open.state)].running += amount;
    total_.running += amount;
    first_day_ = std::min(first_day_, day);
  };
  const TimeMs open_from = std::max(open.since_ms, open_since(now, engine_.policy().books.months));
  if (open.since_ms < open_from && query_.from_ms < now && now <= query_.to_ms) {
    add((now - 1) / kDayMs, open_from - open.since_ms);
  }
  TimeMs from = std::max(open_from, query_.from_ms);
  const TimeMs to = std::min(now, query_.to_ms);
  while (from < to) {
    const std::int64_t day = from / kDayMs;
    const TimeMs end = std::min(to, (day + 1) * kDayMs);
    add(day, end - from);
    from = end;
  }
}

void UsageSums::add_activity(const ActivityDay& day) {
  for (const HourActivity& row : day.hours) {
    if (!query_.payers.empty() && !is_payer(row.payer)) continue;
    const TimeMs begin = day.day * kDayMs + row.hour * kHourMs;
    const DurationMs ms = std::min(begin + kHourMs, query_.to_ms) - std::max(begin, query_.from_ms);
    const Texts texts{row.product, kNone, kNone, kNone};
    const auto at = sums_.find(key_of(row.payer, texts, JobId(), day.day, row.state));
    if (ms <= 0 || at == sums_.end()) continue;
    const ActivitySums sums = part_of_hour(row.sums, ms);
    at->second.activity += sums;
    total_.activity += sums;
  }
}

void UsageSums::put_into(v1::ReportUsageResponse* out, bool observed) const {
  for (const auto& [key, sum] : sums_) {
    const auto& [account, user, product, profile, cluster, ns, job, day, state] = key;
    v1::UsageRow* row = out->add_rows();
    row->set_account(account);
    row->set_user(user);
    row->set_product(product);
    row->set_profile(profile);
    row->set_cluster(cluster);
    row->set_namespace_(ns);
    row->set_job_id(text_of(job));
    if (day >= 0) put(day * kDayMs, row->mutable_day());
    row->set_state(static_cast<v1::UsageState>(state));
    put(sum.booked, row->mutable_amount());
    row->set_gpu_hours(sum.booked.gpu_hours());
    put(sum.used, row->mutable_used());
    put(sum.held, row->mutable_held());
    put(sum.platform, row->mutable_platform());
    put(sum.running, row->mutable_running());
    if (observed) put(sum.activity, unknown(sum), row->mutable_activity());
  }
  if (observed) put(total_.activity, unknown(total_), out->mutable_activity());
  put(total_.booked, out->mutable_total());
  put(total_.running, out->mutable_running());
  out->set_rows_added(rows_);
  const UsagePeriod period = period_of(in_);
  const bool by_days = period == UsagePeriod::kAll || period == UsagePeriod::kDay;
  if (by_days && first_day_ != INT64_MAX) put(first_day_ * kDayMs, out->mutable_first_day());
}

GpuTime UsageSums::unknown(const Sums& sum) {
  return std::max(GpuTime(),
                  sum.booked + sum.running - GpuTime::from_parts(0, sum.activity.observed()));
}

UsageSums::Key UsageSums::key_of(AccountId payer, const Texts& texts, JobId job, std::int64_t day,
                                 UsageState state) {
  const auto [path, fresh] = paths_.try_emplace(payer);
  if (fresh) path->second = split_path(path_of(engine_.accounts(), payer));
  const UsagePeriod period = period_of(in_);
  return {path->second.account,
          in_.by_user() ? path->second.user : "",
          in_.by_product() ? texts.product : "",
          in_.by_profile() ? texts.profile : "",
          in_.by_cluster() ? texts.cluster : "",
          in_.by_namespace() ? texts.ns : "",
          in_.by_job() ? job : JobId(),
          period == UsagePeriod::kAll ? -1 : first_day_of(period, day),
          in_.by_state() ? to_proto(state) : 0};
}

bool UsageSums::is_payer(AccountId id) const {
  return std::binary_search(query_.payers.begin(), query_.payers.end(), id);
}

}  // namespace subak::api
