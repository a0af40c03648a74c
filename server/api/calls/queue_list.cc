#include "server/api/calls/queue_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/limits.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// In a page token: marks rows behind the order, which continue after the token's job.
constexpr std::uint64_t kBesideOrder = std::uint64_t{1} << 40;

// Returns the index in the order at which the page begins.
std::size_t begin_of(const QueueSnapshot& order, const QueuePage& page) {
  if (const std::size_t at = page.job ? order.position(page.job) : 0; at != 0) return at;
  const auto after = static_cast<std::size_t>(page.page.after);
  // Later jobs have moved up.
  return std::min(after == 0 ? 0 : after - 1, order.order().size());
}

bool has_observed(const ClusterView& cluster) {
  return cluster.mode != Mode::kEnforce ||
         std::any_of(cluster.namespaces.begin(), cluster.namespaces.end(),
                     [](const NamespaceMode& ns) { return ns.mode != Mode::kEnforce; });
}

// True if the row of an earlier job stands for the job at this index too: both are of one workload
// and account, and the earlier job still waits.
bool is_folded(const Engine& engine, const QueueSnapshot& order, std::size_t at) {
  auto before = order.sibling_before(at);
  while (before && !engine.is_queued_below(order.order()[*before], ""))
    before = order.sibling_before(*before);
  return before.has_value();
}

void put_row(const JobRow& job, std::size_t position, const Engine& engine,
             const ForecastStarts& starts, TimeMs now, v1::QueueRow* row) {
  row->set_position(static_cast<std::int64_t>(position));
  row->set_jobs(1);
  put(job, engine, row->mutable_job());
  row->set_shape(shape_text(job.request));
  put_duration(std::max<TimeMs>(0, now - job.submit_ms), row->mutable_wait());
  if (auto start = expected_start(job, starts, now)) {
    *row->mutable_expected_start() = *std::move(start);
  }
  row->set_no_estimate(no_estimate(job, starts, now));
  if (const auto reason = engine.first_reason(job.id, position, starts.growth.get())) {
    put(*reason, row->mutable_waits_for());
  }
}

// Lists waiting jobs without a position in the order.
void list_beside(const Engine& engine, const ForecastStarts& starts, TimeMs now,
                 const v1::ListQueueRequest& in, JobId after, PageMeter& meter, std::size_t most,
                 v1::ListQueueResponse* out) {
  const std::vector<JobRow> jobs = engine.beside_queue(after, most + 1, in.account());
  bool more = true;
  for (const JobRow& job : jobs) {
    if (!more) {
      out->set_next_page_token(std::to_string(kBesideOrder) + "." + text_of(after));
      return;
    }
    v1::QueueRow* const row = out->add_rows();
    put_row(job, 0, engine, starts, now, row);
    more = meter.add(row->ByteSizeLong());
    after = job.id;
  }
}

void put_observed(const View& view, v1::ListQueueResponse* out) {
  if (!view.clusters) return;
  for (const ClusterView& cluster : *view.clusters) {
    if (!has_observed(cluster)) continue;
    out->add_observed_clusters(cluster.name);
    const bool all = cluster.synced && !(cluster.unmanaged_pods && cluster.unmanaged_pods->more);
    if (!all) out->add_partial_clusters(cluster.name);
  }
}

void put_row(const ShadowRow& would, const Engine& engine, TimeMs now, v1::QueueRow* row) {
  row->set_position(static_cast<std::int64_t>(would.position));
  row->set_jobs(1);
  put(would.job, engine, row->mutable_job());
  if (would.pending) row->mutable_job()->clear_id();
  row->set_shape(shape_text(would.job.request));
  put_duration(std::max<TimeMs>(0, now - would.job.submit_ms), row->mutable_wait());
  row->set_pending(would.pending);
  row->set_would_start(!would.waits_for);
  if (would.waits_for) put(*would.waits_for, row->mutable_waits_for());
}

}  // namespace

QueuePage read_queue_page(Check& check, std::int32_t size, const std::string& token) {
  QueuePage out;
  const std::size_t dot = token.find('.');
  out.page = read_page(check, size, token.substr(0, dot));
  if (token.empty()) return out;
  const std::string job = dot == std::string::npos ? "" : token.substr(dot + 1);
  Check inner;
  out.job = get_job_id(inner, "page_token", job);
  if (!inner.ok() || out.page.after == 0) {
    check.fail("page_token", token, "want the next_page_token of the previous answer");
  }
  return out;
}

void list_queue(const Engine& engine, const QueueSnapshot& order, const ForecastStarts& starts,
                TimeMs now, const v1::ListQueueRequest& in, const QueuePage& page,
                v1::ListQueueResponse* out) {
  const std::vector<JobId>& ids = order.order();
  put(now, out->mutable_time());
  put(order.time_ms(), out->mutable_order_time());
  if (starts.is_made()) put(starts.forecast->time_ms(), out->mutable_forecast_time());
  out->set_unsettled_jobs(static_cast<std::int64_t>(engine.count(JobState::kStarting) +
                                                    engine.count(JobState::kEnding)));
  PageMeter meter(page.page);
  if (page.page.after >= kBesideOrder) {
    return list_beside(engine, starts, now, in, page.job, meter, page.page.size, out);
  }
  const std::size_t begin = begin_of(order, page);
  const std::size_t end = std::min(ids.size(), begin + limits::kMaxQueueLookedAt);
  std::size_t i = begin;
  bool more = true;
  for (; more && i < end; ++i) {
    if (!engine.is_queued_below(ids[i], in.account())) continue;
    if (!in.expand() && is_folded(engine, order, i)) continue;
    v1::QueueRow* row = out->add_rows();
    const JobRow job = *engine.job(ids[i], false);
    put_row(job, i + 1, engine, starts, now, row);
    if (!in.expand() && job.owners.siblings)
      row->set_jobs(static_cast<std::int32_t>(job.owners.siblings->queued));
    more = meter.add(row->ByteSizeLong());
  }
  // If jobs have left meanwhile, a page may be short without being the last.
  const bool left =
      i < ids.size() || (!more && !engine.beside_queue(JobId(), 1, in.account()).empty());
  if (left) {
    out->set_next_page_token(std::to_string(i) + "." + text_of(ids[i - 1]));
  } else if (more) {
    list_beside(engine, starts, now, in, JobId(), meter,
                page.page.size - static_cast<std::size_t>(out->rows_size()), out);
  }
}

std::optional<Error> list_shadow_queue(const Engine& engine, const View& view, TimeMs now,
                                       const v1::ListQueueRequest& in, const Page& page,
                                       v1::ListQueueResponse* out) {
  const auto begin = static_cast<std::size_t>(page.after);
  const auto rows = engine.shadow_queue(view, in.account(), begin, page.size + 1);
  if (!rows) {
    return Error{ErrorCode::kExhausted, "would", "true",
                 "want at most " + std::to_string(limits::kMaxShadowQueue) +
                     " jobs, nodes and pending pods together; the service has more"};
  }
  put(now, out->mutable_time());
  put(view.time_ms, out->mutable_order_time());
  if (begin == 0) put_observed(view, out);
  PageMeter meter(page);
  bool more = true;
  for (const ShadowRow& would : *rows) {
    if (!more) {
      out->set_next_page_token(std::to_string(would.index));
      break;
    }
    v1::QueueRow* const row = out->add_rows();
    put_row(would, engine, now, row);
    more = meter.add(row->ByteSizeLong());
  }
  return std::nullopt;
}

}  // namespace subak::api
