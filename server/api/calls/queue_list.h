// ListQueue: returns one page of the queue's order.
#pragma once

#include <optional>

#include "engine/answers/queue_snapshot.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/api/common/paging.h"
#include "server/api/convert/check.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// The start of a page: after the last job of the previous page. If that job has left the queue, the
// page starts at the position that the job had.
struct QueuePage {
  // `after`: the position in the queue.
  Page page;
  // The last job of the previous page; 0: the page is the first.
  JobId job;
};
// Reads the token "POSITION.JOB".
// `size` as in read_page(). A token of another form makes `check` fail for `page_token`; then do
// not use the result.
QueuePage read_queue_page(Check& check, std::int32_t size, const std::string& token);

// Lists one page: the jobs in order, then waiting jobs without a position. It skips jobs that left
// the queue after the snapshot `order` was taken. It examines at most limits::kMaxQueueLookedAt
// jobs. Threads: the follower's.
// `now`: the instant for waits and estimates. `order` may be older than `engine`; the answer has
// the times of both (`order_time`, `time`). Positions count from 1; a job without a position has 0.
// A page can be shorter than its size, even empty, and still have a next page.
void list_queue(const Engine& engine, const QueueSnapshot& order, const ForecastStarts& starts,
                TimeMs now, const v1::ListQueueRequest& in, const QueuePage& page,
                v1::ListQueueResponse* out);

// Lists one page of shadow mode: the queue if every namespace were enforced. `view` is not newer
// than `engine`. Fails with kExhausted if there are more than limits::kMaxShadowQueue jobs, nodes
// and pending pods together.
// The page token is an index in the shadow queue. `in.account` selects jobs at or below it. Only
// the first page names the clusters in mode observe, and the clusters whose pods are not all known.
// Threads: the follower's.
std::optional<Error> list_shadow_queue(const Engine& engine, const View& view, TimeMs now,
                                       const v1::ListQueueRequest& in, const Page& page,
                                       v1::ListQueueResponse* out);

}  // namespace subak::api
