// GetPlan: the fleet by time.
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/api/convert/check.h"
#include "subak/v1/plan.pb.h"

namespace subak::api {

// Reads the numbers of a plan request, with defaults where they are 0. It does not look the cluster
// up and sets no end.
// The defaults are those of the proto file: 48 columns, 48 rows, 3 lanes, 20 jobs. A number beyond
// its limit, or a negative one, is refused by its field.
PlanAsked read_plan_asked(Check& check, const v1::GetPlanRequest& in);

// Fills in the plan. Threads: the follower's. kInvalid: the plan ends before `now` or beyond
// limits::kForecastAheadMs. kNotFound: there is no such cluster, or no such domain in it.
// `asked`: from read_plan_asked(). An expensive read.
std::optional<Error> put_plan(const Engine& engine, const ForecastStarts& starts, TimeMs now,
                              const v1::GetPlanRequest& in, PlanAsked asked, v1::Plan* out);

}  // namespace subak::api
