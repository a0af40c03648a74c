#include "cli/text/words.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "cli/text/failure.h"
#include "cli/text/local_time.h"
#include "core/decimal.h"
#include "core/duration.h"
#include "server/api/convert/gang_terms.h"

namespace subak::cli {
namespace {

constexpr char kAmountHelp[] =
    "write GPUs as 16, 0.5, gpu=16 or PRODUCT=16,PRODUCT=8; none for none";
constexpr char kTimeHelp[] =
    "write 2026-03-01 (from 00:00 UTC), \"2026-03-01 12:00\" (local time), 2026-03-01T12:00:00Z, "
    "or 7d for seven days ago";

constexpr char kTimeToComeHelp[] =
    "write \"2026-03-01 12:00\" (local time), 2026-03-01T12:00:00Z, 2026-03-01 (from 00:00 UTC), "
    "or 4h for so long from now";

Timestamp named_instant(const std::string& text, const std::string& flag, const char* help) {
  if (const auto local = parse_local_time(text)) return to_timestamp(*local);
  const bool is_day = text.size() == 10;
  return to_timestamp(value_or_usage(parse_time(is_day ? text + "T00:00:00Z" : text, flag), help));
}

// Turns "JOB_STATE_QUEUED" with the prefix "JOB_STATE_" into "queued".
std::string enum_word(const std::string& name, std::size_t prefix) {
  std::string word = name.substr(prefix);
  for (char& c : word) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return word == "unspecified" ? "-" : word;
}

std::string pods_text(const v1::PodGroup& group) {
  const v1::PodShape& shape = group.shape();
  std::string gpus = shape.kind() == v1::GPU_KIND_FRACTION ? gpus_text(shape.fraction_milligpu())
                                                           : std::to_string(shape.gpus());
  std::string text = std::to_string(group.count()) + "x" + gpus;
  if (shape.kind() == v1::GPU_KIND_MIG) text += " mig-" + shape.mig_profile();
  if (shape.kind() == v1::GPU_KIND_SHARED) text += " shared";
  return text;
}

}  // namespace

std::string amounts_text(const Amounts& amounts) {
  ProductAmounts list;
  for (const auto& a : amounts) list.push_back({a.product(), a.milligpu()});
  return list.empty() ? "" : format_amounts(list);
}

void set_amounts(const std::string& text, const std::string& flag, Amounts* out) {
  out->Clear();
  for (const ProductAmount& amount : value_or_usage(parse_amounts(text, flag), kAmountHelp)) {
    auto* added = out->Add();
    added->set_product(amount.product);
    added->set_milligpu(amount.milligpu);
  }
}

std::string gpus_text(std::int64_t milligpu) { return format_milligpu(milligpu); }

std::string in_use_text(std::int64_t allocated, std::int64_t overcommitted) {
  const std::string text = gpus_text(allocated);
  return overcommitted > 0 ? text + " (" + gpus_text(overcommitted) + " over)" : text;
}

std::int64_t milligpu_of(const std::string& text, const std::string& flag) {
  return value_or_usage(parse_milligpu(text, flag), kAmountHelp);
}

TimeMs to_ms(const Timestamp& time) { return time.seconds() * 1000 + time.nanos() / 1'000'000; }
DurationMs to_ms(const Duration& d) { return d.seconds() * 1000 + d.nanos() / 1'000'000; }

Timestamp to_timestamp(TimeMs ms) {
  Timestamp out;
  out.set_seconds(ms / 1000);
  out.set_nanos(static_cast<int>(ms % 1000) * 1'000'000);
  return out;
}

Duration to_duration(DurationMs ms) {
  Duration out;
  out.set_seconds(ms / 1000);
  out.set_nanos(static_cast<int>(ms % 1000) * 1'000'000);
  return out;
}

std::string time_text(const Timestamp& time) {
  if (to_ms(time) <= 0) return "-";
  return local_time_text(to_ms(time)) + " " + zone_name(to_ms(time));
}

std::string exact_time_text(const Timestamp& time) { return format_time(to_ms(time)); }

Column time_column(const std::string& header, Room room) {
  return {header, Align::kLeft, room, zone_name(now_ms())};
}

Cell time_cell(const Timestamp& time) {
  if (to_ms(time) <= 0) return {"-", ""};
  const bool usual = zone_name(to_ms(time)) == zone_name(now_ms());
  return {usual ? local_time_text(to_ms(time)) : time_text(time), exact_time_text(time)};
}

std::string age_text(DurationMs ms) {
  if (ms < 0) ms = 0;
  const std::pair<DurationMs, const char*> units[] = {
      {kDayMs, "d"}, {kHourMs, "h"}, {kMinuteMs, "m"}, {kSecondMs, "s"}};
  std::string text;
  for (std::size_t i = 0; i < std::size(units); ++i) {
    const auto [unit, letter] = units[i];
    if (text.empty() && ms < unit && unit != kSecondMs) continue;
    const bool second_term = !text.empty();
    if (!second_term || ms / unit > 0) text += std::to_string(ms / unit) + letter;
    ms %= unit;
    if (second_term) break;
  }
  return text;
}

TimeMs now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Timestamp instant_of(const std::string& text, const std::string& flag, TimeMs now) {
  if (const auto ago = parse_duration(text, flag); ago.ok()) return to_timestamp(now - *ago);
  return named_instant(text, flag, kTimeHelp);
}

Timestamp instant_to_come(const std::string& text, const std::string& flag, TimeMs now) {
  if (const auto in = parse_duration(text, flag); in.ok()) return to_timestamp(now + *in);
  return named_instant(text, flag, kTimeToComeHelp);
}

std::string gpu_hours_text(const v1::GpuTime& time) {
  const double seconds =
      static_cast<double>(time.gpu_seconds()) + static_cast<double>(time.rest_milligpu_ms()) / 1e6;
  return fixed_text(seconds / 3600, 2);
}

std::string seconds_text(const v1::GpuTime& time) {
  std::int64_t seconds = time.gpu_seconds();
  std::int64_t rest = time.rest_milligpu_ms();
  const bool negative = seconds < 0;
  if (negative) {  // the seconds are rounded down, and the rest is added to them
    seconds = -seconds - (rest > 0 ? 1 : 0);
    if (rest > 0) rest = GpuTime::kRawPerGpuSecond - rest;
  }
  char text[16];
  std::snprintf(text, sizeof text, "%06d", static_cast<int>(rest));
  return (negative ? "-" : "") + std::to_string(seconds) + "." + text;
}

bool is_zero(const v1::GpuTime& time) {
  return time.gpu_seconds() == 0 && time.rest_milligpu_ms() == 0;
}

std::string fixed_text(double value, int decimals) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string significant_text(double value) {
  if (!std::isfinite(value)) return fixed_text(value, 0);
  const double size = std::fabs(value);
  if (size >= 1e7) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", value);
    return text;
  }
  return fixed_text(value, size >= 1000 ? 0 : size >= 10 ? 2 : 4);
}

std::string word(v1::JobState s) { return enum_word(v1::JobState_Name(s), 10); }
std::string word(v1::JobOrigin o) { return enum_word(v1::JobOrigin_Name(o), 11); }
std::string word(v1::Cause c) { return enum_word(v1::Cause_Name(c), 6); }
std::string word(v1::JobEventKind k) { return enum_word(v1::JobEventKind_Name(k), 15); }
std::string word(v1::PodGate g) { return enum_word(v1::PodGate_Name(g), 9); }
std::string word(v1::PodState s) { return enum_word(v1::PodState_Name(s), 10); }
std::string word(v1::Mode m) { return enum_word(v1::Mode_Name(m), 5); }
std::string word(v1::UsageState s) { return enum_word(v1::UsageState_Name(s), 12); }
std::string word(v1::RowClock c) { return enum_word(v1::RowClock_Name(c), 10); }

v1::JobState job_state_of(const std::string& text) {
  for (int i = v1::JobState_MIN; i <= v1::JobState_MAX; ++i) {
    if (word(static_cast<v1::JobState>(i)) == text) return static_cast<v1::JobState>(i);
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::Mode mode_of(const std::string& text) {
  for (int i = v1::MODE_OBSERVE; i <= v1::Mode_MAX; ++i) {
    if (word(static_cast<v1::Mode>(i)) == text) return static_cast<v1::Mode>(i);
  }
  throw usage_failure(
      "MODE: was \"" + text + "\", want observe, warn or enforce",
      "observe writes nothing, warn adds warnings, enforce gates, queues and places");
}

std::string workload_text(const v1::Workload& workload) {
  return std::to_string(workload.running()) + " of " + std::to_string(workload.jobs()) + " run, " +
         workload.kind() + " " + workload.name();
}

std::string siblings_text(const v1::Job& job) {
  const v1::Workload& of = job.workload();
  const auto with_verb = [](std::int32_t n, const char* one, const char* many) {
    return std::to_string(n) + (n == 1 ? one : many);
  };
  std::string text = "one of " + std::to_string(of.jobs()) +
                     (job.gang_size() == 1 ? " pods of " : " gangs of ") + of.kind() + " " +
                     of.name() + ": " + with_verb(of.running(), " runs, ", " run, ") +
                     with_verb(of.waiting(), " waits", " wait");
  if (const std::int32_t rest = of.jobs() - of.running() - of.waiting(); rest > 0)
    text += ", " + with_verb(rest, " starts or ends", " start or end");
  return text;
}

std::string distrust_text(const v1::Job& job) {
  return job.overruns() > 0
             ? "the job ran beyond its time limit, so Subak does not trust this limit"
             : "similar jobs ran longer lately, so Subak does not trust this limit";
}

std::string priority_text(const v1::JobSpec& spec) {
  return spec.priority_class().empty() ? std::to_string(spec.priority())
                                       : printable(spec.priority_class());
}

std::string preemption_text(const v1::Job& job) {
  const v1::Preemption& last = job.preemption();
  std::string text;
  if (!last.claimant().empty()) text += "for " + last.claimant() + " ";
  if (last.right() == v1::CLAIM_RIGHT_CLASS) {
    text += "of its own account, of higher priority, ";
  } else if (!last.claimant_account().empty()) {
    text += "of " + last.claimant_account() + " ";
  }
  text += "at " + time_text(last.asked());
  if (last.times() > 1) text += ", " + std::to_string(last.times()) + " times in all";
  if (last.has_by()) return text + "; it should end by " + time_text(last.by());
  const bool waits = job.state() == v1::JOB_STATE_QUEUED || job.state() == v1::JOB_STATE_INCOMPLETE;
  return waits ? text + "; its submit time stays" : text;
}

std::string rejection_text(const v1::JobRejection& rejection) {
  return printable("node " + rejection.node() + ": " + rejection.explanation());
}

std::string compute_domain_text(const v1::ComputeDomain& domain) {
  std::string text = domain.name() + ", ";
  if (domain.state() == "waiting")
    return text + "waiting for its ResourceClaimTemplate; no gate opens";
  if (domain.state() == "joining") return text + "no node has joined yet";
  if (domain.state() == "ending") return text + "is being deleted";
  text += std::to_string(domain.ready_nodes()) + " of " + std::to_string(domain.nodes()) +
          " joined nodes ready";
  std::string late;
  for (const std::string& node : domain.not_ready()) late += (late.empty() ? "" : ", ") + node;
  return late.empty() ? text : text + "; not ready: " + late;
}

std::string loan_text(const v1::Loan& loan) {
  const std::string gpus =
      gpus_text(loan.milligpu()) + (loan.milligpu() == 1000 ? " GPU" : " GPUs");
  if (!loan.has_preemptible_from()) return gpus + ", never preempted";
  return gpus + ", may be preempted from " + time_text(loan.preemptible_from()) + " on";
}

std::string not_recallable_text(const v1::ShareRow& row) {
  std::string text;
  for (const v1::NotRecallable& one : row.not_recallable()) {
    text += (text.empty() ? "" : ", ") + gpus_text(one.milligpu()) + " " + printable(one.why());
  }
  return text.empty() ? "-" : text;
}

std::string shape_text(const v1::GangRequest& request) {
  std::string text;
  for (const auto& group : request.groups()) text += (text.empty() ? "" : "+") + pods_text(group);
  const GangTerms terms = api::known_terms(request);
  const std::string topology = topology_text(terms);
  if (topology != "any") text += " " + topology;
  each_wish_beside_topology(terms, [&]<class T>(const Wish<T>& wish, T value) {
    text += " " + std::string(wish.short_name());
    if constexpr (!std::is_same_v<T, bool>) text += "=" + std::to_string(value);
  });
  return printable(text);
}

std::string payer_text(const std::string& account, const std::string& user) {
  return user.empty() ? account : account + "/" + user;
}

}  // namespace subak::cli
