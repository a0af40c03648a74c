// GetPlan: the fleet by time.
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/told_starts.h"
#include "server/api/check.h"
#include "subak/v1/plan.pb.h"

namespace subak::api {

// Its numbers, with defaults where they are 0; the cluster is not looked up, and there is no end yet.
PlanAsked read_plan_asked(Check& check, const v1::GetPlanRequest& in);

// On the follower's thread. kInvalid: it ends before `now` or beyond limits::kForecastAheadMs; kNotFound: there is
// no such cluster, or no such domain in it.
std::optional<Error> put_plan(const Engine& engine, const ForecastStarts& starts, TimeMs now,
                              const v1::GetPlanRequest& in, PlanAsked asked, v1::Plan* out);

}  // namespace subak::api
