// The bounds of the fields of inputs, for model/bounds/bounds.cc alone. A row has the name of a
// field, the field that contains its record (or ""), the least and the most. These two bound the
// value of a number, the bytes of a text, or the items of a list. Threads: constants.
#pragma once

#include <array>
#include <cstdint>

#include "core/account_limits.h"
#include "core/limits.h"
#include "model/bounds/bounds.h"

namespace subak::bounds {

// Limits of core/limits.h that several rows use, as numbers with a sign.
constexpr auto kName = static_cast<std::int64_t>(limits::kMaxNameBytes);
constexpr auto kText = static_cast<std::int64_t>(limits::kMaxTextBytes);
constexpr auto kPodList = static_cast<std::int64_t>(limits::kMaxPodListItems);
constexpr auto kNodeList = static_cast<std::int64_t>(limits::kMaxNodeListItems);
constexpr auto kTerms = static_cast<std::int64_t>(limits::kMaxSelectorTerms);
constexpr auto kNodeGpus = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
constexpr std::int64_t kSlicesPerGpu = 7, kMaxPort = 65'535, kPods = limits::kMaxPodsPerJob;
// The most accounts of in::HalfLifeRead. Removed accounts have meters too, so there may be more
// than kMaxAccounts.
constexpr std::int64_t kMeters = 20 * static_cast<std::int64_t>(limits::kMaxAccounts);
constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX, kMost32 = UINT32_MAX;

// All fields except a gang's wishes, such as its topology (model/gang_terms.h). kLeast: no lower
// bound. Another check, which some rows name, then refuses values that are too small.
constexpr std::array kOwnRows{
    Row{"account", "", 0, kName},
    Row{"accounts", "", 0, static_cast<std::int64_t>(limits::kMaxPriorityClasses)},  // of a class
    Row{"actor", "", 0, kName},
    Row{"affinity", "", 0, kTerms},
    Row{"ahead_ms", "", 0, limits::kMaxTimeMs},
    Row{"as_cluster", "", 0, static_cast<std::int64_t>(limits::kMaxNamespaceModes)},
    Row{"at_ms", "", 0, limits::kMaxTimeMs},
    Row{"attempt", "", 0, kMost32},
    Row{"borrow", "", 0, kName},
    Row{"bound_at_ms", "", 0, limits::kMaxTimeMs},
    Row{"budget_zone", "", 0, kName},
    Row{"budgets", "", 0, limits::kMaxLimitsBytes},
    Row{"changes", "", 0, static_cast<std::int64_t>(limits::kMaxAccounts)},
    Row{"clique", "", 0, kName},
    Row{"clique_gangs", "", 0, limits::kMaxCliqueGangs},
    Row{"clique_lost_ms", "", 0, limits::kMaxTimeMs},
    Row{"clock_behind_ms", "", -limits::kMaxTimeMs, limits::kMaxTimeMs},
    Row{"cluster", "", 0, kName},
    Row{"container_gpus", "", 0, limits::kMaxGpusPerPod},
    Row{"count", "extended", 0, limits::kMaxResourceCount},
    Row{"count", "groups", 0, kPods},
    Row{"count", "mig", 0, kNodeGpus* kSlicesPerGpu},
    Row{"cpu_milli", "", 0, limits::kMaxCpuMilli},
    Row{"cpu_per_gpu_milli", "", 0, limits::kMaxCpuMilli},
    Row{"created_at_ms", "", 0, limits::kMaxTimeMs},
    Row{"days", "", 0, limits::kMaxCivilEnds},
    Row{"default_time_limit_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"each", "", 0, kPods},
    Row{"effect", "", 0, kName},
    Row{"ended_at_ms", "", 0, limits::kMaxTimeMs},
    Row{"error", "", 0, kName},
    Row{"extended", "", 0, kNodeList},
    Row{"extended", "shape", 0, kPodList},
    Row{"fabric", "", 0, kName},
    Row{"former_clique", "", 0, kName},
    Row{"from_ms", "", 0, limits::kMaxTimeMs},
    Row{"gang", "", 0, kName},
    Row{"gang_size", "", 0, kPods},
    Row{"gpus", "", 0, kNodeGpus},
    Row{"gpus", "shape", 0, limits::kMaxGpusPerPod},
    Row{"gpus_per_domain", "", 0, kNodeGpus},
    Row{"gpus_unknown_ms", "", 0, limits::kMaxTimeMs},
    Row{"grace_ms", "", 0, limits::kMaxTimeLimitMs},
    Row{"group", "", 0, kMost},
    Row{"groups", "", 0, kPods},
    Row{"half_life_change_seq", "", 0, kMost - 1},
    Row{"half_life_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"hold_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"host_ip", "", 0, kName},
    Row{"host_ports", "", 0, kPodList},
    Row{"job_limits", "", 0, limits::kMaxLimitsBytes},
    Row{"keep_whole", "", 0, limits::kMaxKeepWhole},
    Row{"key", "", 0, kText},
    Row{"kind", "", 0, kName},
    Row{"known_as", "", 0, kText},
    Row{"labels", "", 0, kNodeList},
    Row{"least", "", 0, kPods},
    Row{"least", "node_pools", 0, limits::kMaxPoolNodes},
    Row{"lend", "", 0, kName},
    Row{"let_go_to", "", 0, kName},
    Row{"levels_above", "", 0, kNodeList},  // check_levels()
    Row{"limit", "", 0, static_cast<std::int64_t>(limits::kMaxProductsPerAccount)},
    Row{"managed_by", "", 0, kName},
    Row{"max_skew", "", 0, kMost32},
    Row{"memory_bytes", "", 0, limits::kMaxMemoryBytes},
    Row{"memory_per_gpu_bytes", "", 0, limits::kMaxMemoryBytes},
    Row{"message", "", 0, static_cast<std::int64_t>(limits::kMaxMessageBytes)},
    Row{"meters", "", 0, kMeters},
    Row{"mig", "", 0, kNodeList},
    Row{"mig_gpus", "", 0, kNodeGpus},
    Row{"milligpu", "", kLeast, kMost},  // amounts: accounting/tree_check.cc
    Row{"milligpu", "shape", 0, kMilliPerGpu - 1},
    Row{"min_domains", "", 0, kMost32},
    Row{"month_open_days", "", 0, kMost32},  // engine/decide/service.cc
    Row{"most", "", 0, limits::kMaxPoolNodes},
    Row{"months", "", 0, limits::kMaxCivilEnds},
    Row{"months_closed_until_ms", "", -limits::kMaxTimeMs, limits::kMaxTimeMs},
    Row{"name", "", 0, kName},
    Row{"namespaces", "", 0, static_cast<std::int64_t>(limits::kMaxNamespaceModes)},
    Row{"namespaces", "spec", 0, static_cast<std::int64_t>(limits::kMaxNamespacesPerAccount)},
    Row{"near", "", 0, kPodList},
    Row{"node", "", 0, kName},
    Row{"node_pools", "", 0, static_cast<std::int64_t>(limits::kMaxNodePools)},
    Row{"node_selector", "", 0, kTerms},
    Row{"next_half_life_ms", "", 0, limits::kMaxTimeLimitMs},
    Row{"nodes", "", 0, static_cast<std::int64_t>(limits::kMaxNodes)},
    Row{"not_ready_since_ms", "", 0, limits::kMaxTimeMs},
    Row{"ns", "", 0, kName},
    Row{"numa_cpu_milli", "", 0, limits::kMaxCpuMilli},
    Row{"numa_gpus", "", 0, kNodeGpus},
    Row{"op", "", 0, kName},
    Row{"owner", "", 0, kName},
    Row{"park_after", "", 0, limits::kMaxParkAfter},
    Row{"path", "", 0, kName},
    Row{"patience_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"pod_slots", "", 0, limits::kMaxResourceCount},
    Row{"port", "", 0, kMaxPort},
    Row{"priority", "", INT32_MIN, INT32_MAX},
    Row{"priority_class", "", 0, kName},
    Row{"priority_classes", "", 0, static_cast<std::int64_t>(limits::kMaxPriorityClasses)},
    Row{"product", "", 0, kName},
    Row{"products", "", 0, kPodList},
    Row{"profile", "", 0, kName},
    Row{"protocol", "", 0, kName},
    Row{"provisioning_class", "", 0, kName},
    Row{"quarters", "", 0, limits::kMaxCivilEnds},
    Row{"quota", "", 0, static_cast<std::int64_t>(limits::kMaxProductsPerAccount)},
    Row{"rack", "", 0, kName},
    Row{"rank", "", -1, kPods - 1},
    Row{"rank", "pod", -1, INT32_MAX},  // a rank only gives an order
    Row{"ready_within_ms", "", 0, limits::kMaxTimeLimitMs},
    Row{"reason", "", 0, static_cast<std::int64_t>(limits::kMaxReasonBytes)},
    Row{"reclaim_max_grace_ms", "", 0, limits::kMaxTimeLimitMs},
    Row{"reclaim_min_run_ms", "", 0, limits::kMaxTimeLimitMs},
    Row{"refund_lost_work_ms", "", 0, limits::kMaxTimeLimitMs},
    Row{"replaces", "", 0, kName},
    Row{"replicas", "", 0, kMilliPerGpu},
    Row{"reported_unfit", "", 0, kText},
    Row{"request_id", "", 0, kName},
    Row{"requirements", "", 0, kTerms},
    Row{"reserve_jobs", "", 0, limits::kMaxReserveJobs},
    Row{"revision", "", kLeast, kMost - 1},  // any but the current one is a conflict
    Row{"running_at_ms", "", 0, limits::kMaxTimeMs},
    Row{"seq", "", 0, kMost - 1},
    Row{"shares", "", kLeast, kMost},  // accounting/tree_check.cc
    Row{"spread", "", 0, kPodList},
    Row{"subject", "", 0, kName},
    Row{"system_namespaces", "", 0, static_cast<std::int64_t>(limits::kMaxNamespaceModes)},
    Row{"taints", "", 0, kNodeList},
    Row{"target_floor_milli", "", 0, 1000},
    Row{"target_gain_milli", "", 0, limits::kMaxTargetGainMilli},
    Row{"tick_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"time_limit_grace_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"time_limit_ms", "", kLeast, limits::kMaxTimeLimitMs},
    Row{"to", "", 0, kName},
    Row{"tolerations", "", 0, kTerms},
    Row{"uid", "", 0, kName},
    Row{"unfit", "", 0, kText},
    Row{"unhealthy_gpus", "", 0, kNodeGpus},
    Row{"until_ms", "", 0, limits::kMaxTimeMs},
    Row{"user", "", 0, kName},
    Row{"user_limits", "", 0, limits::kMaxLimitsBytes},
    Row{"value", "", 0, kText},
    Row{"values", "", 0, static_cast<std::int64_t>(limits::kMaxTermValues)},
    Row{"version", "", 0, kMost32},
    Row{"wall_ms", "", 0, limits::kMaxTimeMs},
    Row{"weeks", "", 0, limits::kMaxCivilEnds},
    Row{"words", "", 0, static_cast<std::int64_t>(limits::kMaxRefusalBytes)},
    Row{"years", "", 0, limits::kMaxCivilEnds},
    Row{"zone", "", 0, kName},
};

}  // namespace subak::bounds
