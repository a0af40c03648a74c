// ListQueue: one page of the order.
#pragma once

#include <optional>

#include "engine/answers/queue_snapshot.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/api/common/paging.h"
#include "server/api/convert/check.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// The start of a page: behind the last job of the previous page. If that job has left the queue,
// the page starts at the position that the job had.
struct QueuePage {
  Page page;  // `after`: the position
  JobId job;
};
// Reads the token "POSITION.JOB".
QueuePage read_queue_page(Check& check, std::int32_t size, const std::string& token);

// Lists one page: the jobs in order, then waiting jobs without a position. It skips jobs that left
// the queue after the snapshot `order` was taken. It examines at most limits::kMaxQueueLookedAt
// jobs. Threads: the follower's.
void list_queue(const Engine& engine, const QueueSnapshot& order, const ForecastStarts& starts,
                TimeMs now, const v1::ListQueueRequest& in, const QueuePage& page,
                v1::ListQueueResponse* out);

// Lists one page of shadow mode: the queue if every namespace were enforced. `view` is of a moment
// that the engine has seen. kExhausted: there are more than limits::kMaxShadowQueue.
std::optional<Error> list_shadow_queue(const Engine& engine, const View& view, TimeMs now,
                                       const v1::ListQueueRequest& in, const Page& page,
                                       v1::ListQueueResponse* out);

}  // namespace subak::api
