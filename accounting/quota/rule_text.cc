#include "accounting/quota/rule_text.h"

#include "core/decimal.h"
#include "core/duration.h"
#include "core/must.h"

namespace subak {
namespace {

std::string counted(std::int64_t number, std::string_view one, std::string_view more) {
  return std::to_string(number) + " " + std::string(number == 1 ? one : more);
}

std::string most_text(const Binding& binding, std::string_view product) {
  switch (binding.kind) {
    case BindingKind::kJobs:
      return "at most " + counted(binding.most, "job", "jobs") + " that hold GPUs at once";
    case BindingKind::kQueued:
      return "at most " + counted(binding.most, "waiting job", "waiting jobs");
    case BindingKind::kTime:
      return "time limits of at most " + format_duration(binding.most);
    case BindingKind::kMinutes:
      return "at most " + counted(binding.most, "GPU-minute", "GPU-minutes") + " in flight";
    case BindingKind::kBudget:
      return "at most the GPU-hours of its budget " + budgets_text({*binding.budget});
    default:
      return "at most " + gpus_text(binding.most, product) + " at once";
  }
}

// What a budget has left, and what the job would hold.
std::string budget_text(const Binding& binding) {
  const std::string until =
      binding.period_end_ms < kEndless ? " until " + format_time(binding.period_end_ms) : "";
  const std::string needs =
      binding.need == 0 ? "the job has no time limit"
                        : "the job needs " + gpu_hours_text(gpu_minutes(binding.need)) + " of it";
  if (binding.period_end_ms == 0) return needs;
  return gpu_hours_text(gpu_minutes(binding.have)) + " are left" + until + " and " + needs;
}

}  // namespace

std::string gpus_text(MilliGpu amount, std::string_view product) {
  const std::string text = format_milligpu(amount) + (amount == kMilliPerGpu ? " GPU" : " GPUs");
  return product.empty() ? text : text + " of " + std::string(product);
}

bool is_extra_limit(const Binding& binding) {
  switch (binding.kind) {
    case BindingKind::kJobs:
    case BindingKind::kQueued:
    case BindingKind::kTime:
    case BindingKind::kMinutes:
    case BindingKind::kBudget:
      return true;
    default:
      return binding.per_user;
  }
}

std::string rule_text(const Binding& binding, std::string_view account, std::string_view product) {
  must(is_extra_limit(binding), "the rule limits jobs or users");
  return std::string(account) + (binding.per_user ? " allows each user " : " allows ") +
         most_text(binding, product);
}

std::string present_text(const Binding& binding) {
  switch (binding.kind) {
    case BindingKind::kJobs:
      return binding.used == 1 ? "1 holds GPUs now"
                               : std::to_string(binding.used) + " hold GPUs now";
    case BindingKind::kQueued:
      return binding.used == 1 ? "1 waits" : std::to_string(binding.used) + " wait";
    case BindingKind::kTime:
      return binding.need == 0 ? "the job has no time limit"
                               : "the job's time limit is " + format_duration(binding.need);
    case BindingKind::kMinutes:
      if (binding.need == 0) return "the job has no time limit";
      return std::to_string(binding.used) + " are in flight and the job needs " +
             std::to_string(binding.need);
    case BindingKind::kBudget:
      return budget_text(binding);
    default:
      return "the user holds " + format_milligpu(binding.used) + " and the job needs " +
             format_milligpu(binding.need);
  }
}

}  // namespace subak
