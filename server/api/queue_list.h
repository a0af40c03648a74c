// ListQueue: one page of the order.
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/queue_picture.h"
#include "engine/told_starts.h"
#include "server/api/check.h"
#include "server/api/paging.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// Where a page begins: behind the job that the last one ended with, or, if that has left the queue,
// at the position that it had.
struct QueuePage {
  Page page;  // `after`: the position
  JobId job;
};
// The token is "POSITION.JOB".
QueuePage read_queue_page(Check& check, std::int32_t size, const std::string& token);

// On the follower's thread. Behind the order come jobs that wait and have no place in it. Of what is in the picture, jobs that have left the queue are passed
// over, and looked at are at most limits::kMaxQueueLookedAt.
void list_queue(const Engine& engine, const QueuePicture& order, const ForecastStarts& starts,
                TimeMs now, const v1::ListQueueRequest& in, const QueuePage& page,
                v1::ListQueueResponse* out);

// The same with `would`: the queue as it would be if every namespace were enforced. `view`: of a moment
// that the engine has seen. kExhausted: limits::kMaxWouldQueue is exceeded.
std::optional<Error> list_would(const Engine& engine, const View& view, TimeMs now,
                                const v1::ListQueueRequest& in, const Page& page,
                                v1::ListQueueResponse* out);

}  // namespace subak::api
