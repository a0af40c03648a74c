// Groups that pods name by a mark: the PodGroups of schedulers, and the Workload. A group has no
// template. It says how many of its pods, with GPUs or without, start together at least. Every
// field is optional: without a number, each pod starts by itself, as in the scheduler.
#include <algorithm>
#include <vector>

#include "core/limits.h"
#include "kube/owners/reader.h"

namespace subak {
namespace {

// Returns the size that a scheduling policy {basic: {}} or {gang: {minCount: N}} asks for.
std::uint32_t size_of(std::optional<json::Value> policy) {
  const auto gang = policy ? json::member(*policy, "gang") : std::nullopt;
  return gang ? count_of(*gang, "minCount") : 1;
}

// Returns the least number of pods in the leaves of the subgroups; 0: there are no subgroups. A
// subgroup that another names as its parent has no pods of its own. `minSubGroup` subgroups are
// enough.
std::uint64_t least_of_subgroups(json::Value spec) {
  const auto groups = json::member(spec, "subGroups");
  std::vector<std::string_view> parents;
  std::vector<std::uint32_t> leaves;
  if (!groups) return 0;
  json::each_item(*groups, [&](std::size_t, json::Value group) {
    if (parents.size() == limits::kMaxTemplates) return;
    parents.push_back(json::text(group, "parent"));
  });
  std::sort(parents.begin(), parents.end());
  json::each_item(*groups, [&](std::size_t, json::Value group) {
    const bool is_parent =
        std::binary_search(parents.begin(), parents.end(), json::text(group, "name"));
    if (!is_parent) leaves.push_back(count_of(group, "minMember"));
  });
  std::sort(leaves.begin(), leaves.end());
  const std::size_t enough = std::min<std::size_t>(
      leaves.size(), count_of(spec, "minSubGroup", static_cast<std::int64_t>(leaves.size())));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < enough; ++i) sum += leaves[i];
  return sum;
}

}  // namespace

void OwnerReader::add_group(std::string_view name, std::int64_t size) {
  if (out_.roles.size() == limits::kMaxTemplates) {
    more_ = true;
    return;
  }
  OwnerRole& role = out_.roles.emplace_back();
  role.name = name;
  role.stated =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(size, 1, limits::kMaxPodsPerJob + 1));
  role.pods = role.stated;
  out_.together = Together::kAll;
  out_.replaced_alone = true;  // no scheduler ends the others when one pod is lost
}

void OwnerReader::min_member(json::Value spec, Status) {
  add_group("", count_of(spec, "minMember"));
}

void OwnerReader::kai_group(json::Value spec, Status) {
  const auto least = static_cast<std::int64_t>(least_of_subgroups(spec));
  add_group("", std::max<std::int64_t>(count_of(spec, "minMember"), least));
}

void OwnerReader::pod_group(json::Value spec, Status) {
  add_group("", size_of(json::member(spec, "schedulingPolicy")));
}

void OwnerReader::workload(json::Value spec, Status) {
  const auto groups = json::member(spec, "podGroups");
  if (!groups) return;
  json::each_item(*groups, [&](std::size_t, json::Value group) {
    if (!full()) add_group(json::text(group, "name"), size_of(json::member(group, "policy")));
  });
}

}  // namespace subak
