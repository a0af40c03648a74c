// Handles the gRPC call ListQueue, which returns one page of the waiting jobs in the order in which
// they would start. JobService uses it.
#pragma once

#include <optional>

#include "engine/answers/queue_snapshot.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/api/common/paging.h"
#include "server/api/convert/check.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// Where a page begins: after the last job of the previous page. If that job has left the queue, the
// page begins at the position that the job had.
struct QueuePage {
  // The size of the page. Page::after is the position of the last job of the previous page.
  Page page;
  // The last job of the previous page; 0: the page is the first.
  JobId job;
};
// Reads the size of a page, as read_page() does, and its token "POSITION.JOB". A token of another
// form is a mistake in the field `page_token`; do not use the result after that.
QueuePage read_queue_page(Check& check, std::int32_t size, const std::string& token);

// Lists one page: first the jobs in the order of the queue, then the waiting jobs without a
// position. Positions count from 1; a job without a position has 0. Unless `in.expand` is set, the
// jobs of one workload (such as a Deployment) and one account share one row, which has their
// number. `order` may be older than `engine`, and the answer has the times of both (`order_time`
// and `time`). Jobs that have left the queue since the snapshot `order` are left out. `now`: the
// instant for waits and estimates. The function examines at most limits::kMaxQueueLookedAt jobs. So
// a page can be shorter than its size, even empty, although a next page follows.
// Threads: only the follower's thread.
void list_queue(const Engine& engine, const QueueSnapshot& order, const ForecastStarts& starts,
                TimeMs now, const v1::ListQueueRequest& in, const QueuePage& page,
                v1::ListQueueResponse* out);

// Lists one page of shadow mode: the queue as it would be if every namespace had the mode enforce.
// `view` must not be newer than `engine`. The page token is an index in this queue. `in.account`:
// only jobs of this account and of those below it. Only the first page names the clusters in mode
// observe, and the clusters whose pods are not all known. It fails with kExhausted if there are
// more than limits::kMaxShadowQueue jobs, nodes and pending pods together. Threads: only the
// follower's thread.
std::optional<Error> list_shadow_queue(const Engine& engine, const View& view, TimeMs now,
                                       const v1::ListQueueRequest& in, const Page& page,
                                       v1::ListQueueResponse* out);

}  // namespace subak::api
