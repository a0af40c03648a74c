// Handles the gRPC call GetPlan, which shows the fleet over time: which jobs use the nodes, now and
// by the forecast.
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/api/convert/check.h"
#include "subak/v1/plan.pb.h"

namespace subak::api {

// Reads the numbers of a request for a plan. 0 means the default: 48 columns, 48 rows, 3 lanes, 20
// jobs, as in the proto file.
// A number beyond its limit, or below 0, is a mistake. The function does not look up the cluster
// and does not set the end of the plan.
PlanAsked read_plan_asked(Check& check, const v1::GetPlanRequest& in);

// Fills in the plan, by an expensive read. `asked`: the result of read_plan_asked(). If the plan
// ends before `now` or more than limits::kForecastAheadMs after `now`, the error is kInvalid. If
// there is no such cluster, or if the cluster has no such domain, the error is kNotFound. Threads:
// only the follower's thread.
std::optional<Error> put_plan(const Engine& engine, const ForecastStarts& starts, TimeMs now,
                              const v1::GetPlanRequest& in, PlanAsked asked, v1::Plan* out);

}  // namespace subak::api
