// GetPlan: the fleet by time.
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/api/convert/check.h"
#include "subak/v1/plan.pb.h"

namespace subak::api {

// Reads the numbers of a plan request; 0 means the default. It does not look up the cluster, and
// does not set the end.
// The defaults are those of the proto file: 48 columns, 48 rows, 3 lanes, 20 jobs. A number beyond
// its limit, or below 0, is a mistake of its field.
PlanAsked read_plan_asked(Check& check, const v1::GetPlanRequest& in);

// Fills in the plan. This is an expensive read. Threads: the follower's. Fails with kInvalid if the
// plan ends before `now` or beyond limits::kForecastAheadMs. Fails with kNotFound if there is no
// such cluster, or no such domain in it.
// `asked`: the result of read_plan_asked().
std::optional<Error> put_plan(const Engine& engine, const ForecastStarts& starts, TimeMs now,
                              const v1::GetPlanRequest& in, PlanAsked asked, v1::Plan* out);

}  // namespace subak::api
