// Settings of an operator for the complete service: modes of clusters and namespaces, and the
// numbers that steer decisions. Plain values in inputs and facts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/order.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// What Subak may do in a cluster or namespace. Values are durable: append only.
enum class Mode : std::uint8_t {
  // Subak writes nothing to the cluster and charges every GPU pod.
  kObserve,
  // The same as kObserve, but admission adds warnings.
  kWarn,
  // Subak gates, queues and places pods.
  kEnforce,
};
template <>
struct EnumText<Mode> {
  static constexpr std::array<std::string_view, 3> names{"observe", "warn", "enforce"};
};

// The mode of one namespace.
struct NamespaceMode {
  // The full name of the namespace.
  std::string ns;
  // The mode that replaces the cluster's mode for pods of this namespace.
  Mode mode = Mode::kObserve;
  template <class V>
  void fields(V& v) {
    v(1, "ns", ns);
    v(2, "mode", mode);
  }
  friend bool operator==(const NamespaceMode&, const NamespaceMode&) = default;
};

// A priority class (docs/design/0085). A job's `subak.gpu/priority` names it.
struct PriorityClass {
  // Letters a-z, digits and "-". No two classes have the same name.
  std::string name;
  // The priority of the class's jobs (PodRecord::priority). No two classes have the same one.
  std::int32_t priority = 0;
  // True: jobs of the class may preempt jobs of their own account that have a lower priority.
  bool preempts = false;
  // The accounts whose jobs may use the class. Accounts below these may use it too. Empty: all.
  std::vector<std::string> accounts;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "priority", priority);
    v(3, "preempts", preempts);
    v(4, "accounts", accounts);
  }
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

// The numbers that steer decisions. One input sets them all at once (in::SetPolicy, which refuses
// numbers out of range). docs/design has a page for most of them.
struct Policy {
  // The order of jobs between accounts (accounting/order.h).
  OrderPolicy order = OrderPolicy::kTargetShare;
  // The half-life of usage; 0: usage does not decay. It cannot change once usage exists.
  DurationMs half_life_ms = 7 * kDayMs;
  // A hold whose pod is not bound after this time is released. At least 1 s.
  DurationMs hold_ms = 10 * kMinuteMs;
  // A job that has waited this long and does not fit in its turn may get reserved nodes; 0 = never.
  DurationMs patience_ms = 2 * kHourMs;
  // `tick_ms` and `tick_charge_end` count only for OrderPolicy::kUsageTick, the model of Slurm.
  // `tick_ms` is Slurm's PriorityCalcPeriod. With `tick_charge_end`, a job is charged at its end
  // for the time since the last tick.
  DurationMs tick_ms = 5 * kMinuteMs;
  bool tick_charge_end = true;
  // The default for accounts that set nothing. True: a job is asked to end after its time limit
  // plus `time_limit_grace_ms`. False: a time limit only predicts when the job's GPUs will be free.
  bool enforce_time_limits = false;
  DurationMs time_limit_grace_ms = 5 * kMinuteMs;
  // The planned run time of a job without a time limit. It doubles each time that the job runs
  // longer than planned. 0 = no run time is planned.
  DurationMs default_time_limit_ms = kDayMs;
  // The most reservations of a cluster at one time; 0 = none.
  std::uint32_t reserve_jobs = 4;
  // Rules for NVLink domains of several nodes (DomainRules of placement/fleet/fleet.h): the number
  // of empty domains of each cluster and product that only large gangs may use.
  std::uint32_t keep_whole = 0;
  // The most gangs with a ComputeDomain in one domain; 0 = any number.
  std::uint32_t clique_gangs = 1;
  // On a GPU node, the CPU and memory that non-GPU pods leave for each free GPU. 0 = nothing is
  // reserved.
  std::int64_t cpu_per_gpu_milli = 0;
  std::int64_t memory_per_gpu_bytes = 0;
  // Whether jobs within quota take GPUs back from jobs that borrow them (docs/design/0084). This
  // works only with OrderPolicy::kTargetShare.
  bool reclaim = true;
  // A job is asked to give GPUs back only after its attempt has run for this long.
  DurationMs reclaim_min_run_ms = 10 * kMinuteMs;
  // A job that gives GPUs back should be gone a minute after its pods' grace period. A longer grace
  // period than this counts as this one, and its job gives GPUs last.
  DurationMs reclaim_max_grace_ms = 10 * kMinuteMs;
  // System namespaces in addition to kSystemNamespaces. Subak does not gate their pods, and the
  // platform pays for these pods unless an account names the namespace. A * at the end matches any
  // text.
  std::vector<std::string> system_namespaces;
  // The priority classes. While there are none, the priority of a job is a number
  // (parse_priority()).
  std::vector<PriorityClass> priority_classes;
  template <class V>
  void fields(V& v) {
    v(1, "order", order);
    v(2, "half_life_ms", half_life_ms);
    v(3, "hold_ms", hold_ms);
    v(4, "patience_ms", patience_ms);
    v(5, "tick_ms", tick_ms);
    v(6, "tick_charge_end", tick_charge_end);
    v(7, "system_namespaces", system_namespaces);
    v(8, "enforce_time_limits", enforce_time_limits);
    v(9, "time_limit_grace_ms", time_limit_grace_ms);
    v(10, "default_time_limit_ms", default_time_limit_ms);
    v(11, "reserve_jobs", reserve_jobs);
    v(12, "keep_whole", keep_whole);
    v(13, "clique_gangs", clique_gangs);
    v(14, "cpu_per_gpu_milli", cpu_per_gpu_milli);
    v(15, "memory_per_gpu_bytes", memory_per_gpu_bytes);
    v(16, "reclaim", reclaim);
    v(17, "reclaim_min_run_ms", reclaim_min_run_ms);
    v(18, "reclaim_max_grace_ms", reclaim_max_grace_ms);
    v(19, "priority_classes", priority_classes);
  }
  friend bool operator==(const Policy&, const Policy&) = default;
};

// System namespaces of every cluster: those of Kubernetes and Subak, and the default namespaces of
// NVIDIA's operators. Only full names match, because a common prefix may belong to any team.
inline constexpr std::array<std::string_view, 9> kSystemNamespaces{"kube-system",
                                                                   "kube-public",
                                                                   "kube-node-lease",
                                                                   "subak-system",
                                                                   "gpu-operator",
                                                                   "nvidia-gpu-operator",
                                                                   "nvidia-network-operator",
                                                                   "nvidia-device-plugin",
                                                                   "nvidia-dra-driver-gpu"};
// True for one of kSystemNamespaces or of the policy's system namespaces.
bool is_system_namespace(const Policy& policy, std::string_view ns);

// The priority of one job.
struct Priority {
  // Among the jobs of one leaf, the job with the highest value comes first.
  std::int32_t value = 0;
  // True: the job named a priority class of the policy, and has the class's priority.
  bool has_class = false;
  friend bool operator==(const Priority&, const Priority&) = default;
};

// Reads a priority while the policy has no classes: low, normal, high or a whole number. nullopt:
// the text is none of these.
std::optional<std::int32_t> parse_priority(std::string_view text);

// True if a priority class may have this name: a-z, 0-9 and -, with a letter first, and at most 63
// bytes. So no name is a number.
bool is_class_name(std::string_view name);
// True if jobs of the account may use the class. `account`: the path of the account or of a user;
// empty: the job has no account yet.
bool may_use(const PriorityClass& priority_class, std::string_view account);
// Returns the class with this priority that jobs of the account may use. nullptr: there is none.
// The pointer is valid as long as the policy.
const PriorityClass* class_with(const Policy& policy, std::int32_t priority,
                                std::string_view account);

// Returns the priority that the text stands for in a job of the account. Without classes it is that
// of parse_priority(). With classes the text must be the name of a class that the account may use.
// kInvalid: it is not. `got` of the error is the text and `want` lists what may be there; the
// caller sets `field`.
Result<Priority> read_priority(const Policy& policy, std::string_view account,
                               std::string_view text);

}  // namespace subak
