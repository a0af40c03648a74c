#include "server/api/queue_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/limits.h"
#include "server/api/convert.h"
#include "server/api/first_reasons.h"

namespace subak::api {
namespace {

// The index in the order at which the page begins.
std::size_t begin_of(const std::vector<JobId>& ids, const QueuePage& page) {
  const auto at = page.job ? std::find(ids.begin(), ids.end(), page.job) : ids.end();
  if (at != ids.end()) return static_cast<std::size_t>(at - ids.begin()) + 1;
  const auto after = static_cast<std::size_t>(page.page.after);
  return std::min(after == 0 ? 0 : after - 1, ids.size());  // what was behind it has moved up
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

void list_queue(const Engine& engine, QueueOrder& order, TimeMs now, const v1::ListQueueRequest& in,
                const QueuePage& page, v1::ListQueueResponse* out) {
  // Of one account's jobs nobody knows how far apart they are.
  const std::size_t all = engine.count(JobState::kQueued);
  const std::size_t wanted = in.account().empty() ? page.page.size : all;
  const std::size_t least = std::min(static_cast<std::size_t>(page.page.after), all) + wanted + 1;
  const auto& [ids, whole] = order.first(engine, least);
  put(now, out->mutable_time());
  FirstReasons reasons(engine, limits::kMaxNodesLookedAtForQueue);
  PageMeter meter(page.page);
  for (std::size_t i = begin_of(ids, page); i < ids.size(); ++i) {
    if (!engine.is_queued_below(ids[i], in.account())) continue;
    const JobRow job = *engine.job(ids[i], false);
    v1::QueueRow* row = out->add_rows();
    row->set_position(static_cast<std::int64_t>(i) + 1);
    put(job, engine, row->mutable_job());
    row->set_shape(shape_text(job.request));
    put_duration(std::max<TimeMs>(0, now - job.submit_ms), row->mutable_wait());
    if (const Reason* reason = reasons.of(job, i + 1)) put(*reason, row->mutable_waits_for());
    if (meter.add(row->ByteSizeLong())) continue;
    if (i + 1 < ids.size() || !whole)
      out->set_next_page_token(std::to_string(i + 1) + "." + text_of(ids[i]));
    return;
  }
  // A page that jobs have left meanwhile may be short, and is still not the last.
  if (!ids.empty() && !whole) {
    out->set_next_page_token(std::to_string(ids.size()) + "." + text_of(ids.back()));
  }
}

}  // namespace subak::api
