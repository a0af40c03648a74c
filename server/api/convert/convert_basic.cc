#include <algorithm>

#include "core/limits.h"
#include "server/api/convert/check.h"
#include "server/api/convert/convert.h"

namespace subak::api {

void put(TimeMs time, google::protobuf::Timestamp* out) {
  out->set_seconds(time / kSecondMs);
  out->set_nanos(static_cast<std::int32_t>(time % kSecondMs) * kNanosPerMs);
}

void put_duration(DurationMs duration, google::protobuf::Duration* out) {
  out->set_seconds(duration / kSecondMs);
  out->set_nanos(static_cast<std::int32_t>(duration % kSecondMs) * kNanosPerMs);
}

void put(GpuTime amount, v1::GpuTime* out) {
  out->set_gpu_seconds(amount.gpu_seconds());
  out->set_rest_milligpu_ms(amount.rest());
}

void put(const ActivitySums& sums, GpuTime unknown, v1::Activity* out) {
  put(GpuTime::from_parts(0, sums.idle), out->mutable_idle());
  put(GpuTime::from_parts(0, sums.low), out->mutable_low());
  put(GpuTime::from_parts(0, sums.active), out->mutable_active());
  put(unknown, out->mutable_unknown());
  out->set_energy_joules(sums.energy_mj / 1000);
}

void put(const ProductAmounts& amounts, Amounts* out) {
  for (const ProductAmount& amount : amounts) {
    auto* row = out->Add();
    row->set_product(amount.product);
    row->set_milligpu(amount.milligpu);
  }
}

ProductAmounts get_amounts(Check& check, const char* field, const Amounts& in) {
  ProductAmounts out;
  for (int i = 0; i < in.size(); ++i) {
    const auto scope = check.in(field, i);
    out.push_back({check.name("product", in[i].product(), true),
                   check.number("milligpu", in[i].milligpu(), 0, limits::kMaxMilliGpu)});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.product < b.product; });
  const auto twice = std::adjacent_find(
      out.begin(), out.end(), [](const auto& a, const auto& b) { return a.product == b.product; });
  if (twice != out.end()) check.fail(field, twice->product, "want each product once");
  return out;
}

std::string get_reason(Check& check, const std::string& reason, bool required) {
  if (required && reason.empty()) check.fail("reason", "", "is required; it goes to the audit log");
  return check.sentence("reason", reason, limits::kMaxReasonBytes);
}

JobId get_job_id(Check& check, std::string_view field, const std::string& text) {
  const auto id = text::parse_job_id(text);
  if (!id || !*id) check.fail(field, text, "want a job id such as 1-42");
  return id.value_or(JobId());
}

PathParts split_path(const std::string& path) {
  const auto slash = path.find('/');
  if (slash == std::string::npos) return {path, ""};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string path_of(const AccountTree& tree, AccountId id) {
  if (id == kPlatform) return "(platform)";
  if (id == kUnassigned || !tree.exists(id)) return "(unassigned)";
  return tree.node(id).spec.path;
}

}  // namespace subak::api
