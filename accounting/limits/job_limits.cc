#include "accounting/limits/job_limits.h"

#include <charconv>
#include <utility>

#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"

namespace subak {
namespace {

constexpr std::string_view kJobs = "jobs", kQueued = "queued", kTime = "time",
                           kGpuMinutes = "gpu-minutes";
constexpr std::string_view kForm =
    "want a list such as jobs=20,queued=500,time=2d,gpu-minutes=6000, with each name once";

Error invalid(std::string_view field, std::string_view got, std::string want) {
  return {ErrorCode::kInvalid, std::string(field), std::string(got), std::move(want)};
}

Result<std::int64_t> parse_count(std::string_view item, std::string_view text,
                                 std::string_view field, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
    return invalid(field, item, "want a whole number from 0 to " + std::to_string(most));
  }
  return value;
}

// Sets one limit. nullopt: it is set.
std::optional<Error> set_count(std::optional<std::int64_t>& limit, std::string_view item,
                               std::string_view text, std::string_view field, std::int64_t most) {
  if (limit) return invalid(field, item, std::string(kForm));
  auto value = parse_count(item, text, field, most);
  if (!value) return value.error();
  limit = *value;
  return std::nullopt;
}

std::optional<Error> set_time(std::optional<DurationMs>& limit, std::string_view item,
                              std::string_view text, std::string_view field) {
  if (limit) return invalid(field, item, std::string(kForm));
  auto value = parse_duration(text, field);
  if (!value) return invalid(field, item, value.error().want);
  if (*value == 0 || *value > limits::kMaxTimeLimitMs) {
    return invalid(
        field, item,
        "want a duration above 0 and at most " + format_duration(limits::kMaxTimeLimitMs));
  }
  limit = *value;
  return std::nullopt;
}

// Reads one "name=value". `gpus` gets the items of other names; nullptr: there are none.
std::optional<Error> parse_item(std::string_view item, std::string_view field, JobLimits& jobs,
                                std::string* gpus) {
  const std::size_t sign = item.find('=');
  const std::string_view name = item.substr(0, sign);
  if (gpus != nullptr && !is_job_limit(name)) {
    *gpus += (gpus->empty() ? "" : ",") + std::string(item);
    return std::nullopt;
  }
  if (sign == std::string_view::npos) return invalid(field, item, std::string(kForm));
  const std::string_view value = item.substr(sign + 1);
  if (name == kJobs) return set_count(jobs.jobs, item, value, field, limits::kMaxJobLimit);
  if (name == kQueued) return set_count(jobs.queued, item, value, field, limits::kMaxJobLimit);
  if (name == kTime) return set_time(jobs.time_ms, item, value, field);
  if (name == kGpuMinutes)
    return set_count(jobs.gpu_minutes, item, value, field, limits::kMaxGpuMinutes);
  return invalid(field, item, std::string(kForm));
}

std::optional<Error> parse_items(std::string_view text, std::string_view field, JobLimits& jobs,
                                 std::string* gpus) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (auto error = parse_item(text.substr(0, comma), field, jobs, gpus)) return error;
    if (comma == std::string_view::npos) return std::nullopt;
    text.remove_prefix(comma + 1);
    if (text.empty()) return invalid(field, ",", std::string(kForm));
  }
  return std::nullopt;
}

void append(std::string& out, std::string_view name, const std::string& value) {
  if (!out.empty()) out += ',';
  out.append(name).append("=").append(value);
}

}  // namespace

std::int64_t whole_gpu_minutes(GpuTime amount) {
  const GpuTime::Raw minute = gpu_minutes(1).raw();
  return static_cast<std::int64_t>((amount.raw() + minute - 1) / minute);
}

bool is_job_limit(std::string_view name) {
  return name == kJobs || name == kQueued || name == kTime || name == kGpuMinutes;
}

Result<JobLimits> parse_job_limits(std::string_view text, std::string_view field) {
  JobLimits out;
  if (auto error = parse_items(text, field, out, nullptr)) return *error;
  return out;
}

std::string job_limits_text(const JobLimits& limits) {
  std::string out;
  if (limits.gpu_minutes) append(out, kGpuMinutes, std::to_string(*limits.gpu_minutes));
  if (limits.jobs) append(out, kJobs, std::to_string(*limits.jobs));
  if (limits.queued) append(out, kQueued, std::to_string(*limits.queued));
  if (limits.time_ms) append(out, kTime, format_duration(*limits.time_ms));
  return out;
}

Result<UserLimits> parse_user_limits(std::string_view text, std::string_view field) {
  UserLimits out;
  std::string gpus;
  if (auto error = parse_items(text, field, out.jobs, &gpus)) return *error;
  auto amounts = parse_amounts(gpus, field);
  if (!amounts) return amounts.error();
  out.gpus = *std::move(amounts);
  return out;
}

std::string user_limits_text(const UserLimits& limits) {
  std::string out = limits.gpus.empty() ? "" : format_amounts(limits.gpus);
  const std::string jobs = job_limits_text(limits.jobs);
  if (!out.empty() && !jobs.empty()) out += ',';
  return out + jobs;
}

}  // namespace subak
