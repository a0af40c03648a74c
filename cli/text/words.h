// Converts values of the API to texts for people, and back. Threads: any; no shared state.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/repeated_ptr_field.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "cli/text/table.h"
#include "core/quantity.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/common.pb.h"
#include "subak/v1/job_service.pb.h"
#include "subak/v1/request.pb.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {

// GPU amounts by product.
using Amounts = google::protobuf::RepeatedPtrField<v1::ProductAmount>;
using google::protobuf::Duration;
using google::protobuf::Timestamp;

// Returns "gpu=16"; "" if there are no amounts.
std::string amounts_text(const Amounts& amounts);
// Parses `text` and replaces the amounts in `out`. Here and in the functions below, a usage failure
// names `flag`.
void set_amounts(const std::string& text, const std::string& flag, Amounts* out);
// Returns "16", "0.5".
std::string gpus_text(std::int64_t milligpu);
// Returns the GPUs in use: "12", or "12 (4 over)" if jobs hold 4 GPUs more than exist.
std::string in_use_text(std::int64_t allocated, std::int64_t overcommitted);
// Returns milli-GPUs: 500 for "0.5". Throws Failure (usage).
std::int64_t milligpu_of(const std::string& text, const std::string& flag);

// Convert times and durations. These functions drop parts of a millisecond.
TimeMs to_ms(const Timestamp& time);
DurationMs to_ms(const Duration& duration);
Timestamp to_timestamp(TimeMs ms);
Duration to_duration(DurationMs ms);
// Returns the local time: "2026-03-01 13:00:00 CET"; "-" if the time is unset (0).
std::string time_text(const Timestamp& time);
// Returns the time as RFC 3339 with milliseconds, in UTC.
std::string exact_time_text(const Timestamp& time);
// Return a column of times, and a cell of such a column, in local time. The header names the
// present zone. A cell names its own zone if it differs from the header's zone (summer and winter
// time). Spreadsheets get exact_time_text().
Column time_column(const std::string& header, Room room = Room::kUsual);
Cell time_cell(const Timestamp& time);
// Returns the duration in its two largest units: "3d4h", "12m5s", "0s".
std::string age_text(DurationMs ms);
// Reads an instant in one of these forms:
// - RFC 3339;
// - "2026-03-01 13:00" in the local zone, the form in which output shows times;
// - a day "2026-03-01", which begins at 00:00 UTC as in the ledger;
// - "7d": the time seven days before `now`.
// Throws Failure (usage) that lists these forms.
Timestamp instant_of(const std::string& text, const std::string& flag, TimeMs now);
// Does the same as instant_of(), but "4h" is the time four hours after `now`.
Timestamp instant_to_come(const std::string& text, const std::string& flag, TimeMs now);
// Returns the time of the wall clock.
TimeMs now_ms();

// Returns GPU-hours without separators: "1234.56".
std::string gpu_hours_text(const v1::GpuTime& time);
// Returns GPU-seconds exactly: "12.000345".
std::string seconds_text(const v1::GpuTime& time);
bool is_zero(const v1::GpuTime& time);
// Returns the value with as many decimals as `decimals` says. Infinity becomes "inf", and NaN
// becomes "-".
std::string fixed_text(double value, int decimals);
// Returns 4 significant digits, without an exponent up to 10^12.
std::string significant_text(double value);

// Returns how many jobs of the workload run, and its name: "3 of 5 run, Deployment serving/llm".
std::string workload_text(const v1::Workload& workload);
// Returns how the jobs of the job's workload are: "one of 5 pods of Deployment serving/llm: 3 run,
// 2 wait". The job must have a workload.
std::string siblings_text(const v1::Job& job);

// Returns why Subak promises no start that depends on this job's time limit. The job's
// `limit_distrusted` must be set.
std::string distrust_text(const v1::Job& job);

// Returns for which job the job was preempted last, when, and how often: "for 1-43 of ml.audio at
// 12:30, 2 times in all; it has its first submit time, 11:00". The job must have been preempted.
std::string preemption_text(const v1::Job& job);
// Returns the node that rejected a pod of the job last, and why: "node n1: OutOfcpu: ...".
std::string rejection_text(const v1::JobRejection& rejection);
// Returns the name and the state of a ComputeDomain: "ml/subak-train-0f, 3 of 4 joined nodes ready;
// not ready: n2".
std::string compute_domain_text(const v1::ComputeDomain& domain);
// Returns the job's priority class, or its priority if it has no class.
std::string priority_text(const v1::JobSpec& spec);
// Returns "4 GPUs, may be preempted from 12:30 on". The job must have a loan.
std::string loan_text(const v1::Loan& loan);

// Returns the GPUs that cannot be reclaimed, by the reason why: "4 bare, 2 adopted"; "-": none.
std::string not_recallable_text(const v1::ShareRow& row);

// Return the value's name in lower case with "-" between words. For UNSPECIFIED these functions
// return "-".
std::string word(v1::JobState state);
std::string word(v1::JobOrigin origin);
std::string word(v1::Cause cause);
std::string word(v1::JobEventKind kind);
std::string word(v1::PodState state);
std::string word(v1::PodGate gate);
std::string word(v1::Mode mode);
std::string word(v1::UsageState state);
std::string word(v1::RowClock clock);
// Returns the state whose word() is this text. The parser has already checked the text.
v1::JobState job_state_of(const std::string& text);
// Returns the mode whose word() is this text. Throws Failure (usage) for any other text.
v1::Mode mode_of(const std::string& text);
// Returns the gang in short form: "4x8 nvlink", "1x2 mig-1g.10gb". The text is printable().
std::string shape_text(const v1::GangRequest& request);

// Returns "ml.vision", or "ml.vision/ana".
std::string payer_text(const std::string& account, const std::string& user);

}  // namespace subak::cli
