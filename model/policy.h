// Settings of an operator. The mode of a cluster or namespace says whether Subak only observes it.
// The policy applies to the whole service, and all decisions use it. Inputs (requests to the
// engine) and facts (its durable records) contain these values.
// Threads: any; plain values, pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/ledger.h"
#include "accounting/order.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "model/node.h"

namespace subak {

// The mode of a cluster or namespace: what Subak may do there. Values are durable: append only.
enum class Mode : std::uint8_t {
  // Subak writes nothing to the cluster and charges every GPU pod.
  kObserve,
  // The same as kObserve, but the webhook also adds warnings to its answers.
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
  // The priority of the class's jobs (PodRecord::priority). No two classes have the same priority.
  std::int32_t priority = 0;
  // True: jobs of the class may preempt jobs of their own account that have a lower priority.
  bool preempts = false;
  // The accounts whose jobs may use the class. Accounts below these may use the class too. Empty:
  // all accounts may use it.
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

// The settings of OrderPolicy::kUsageTick, which models Slurm.
struct TickSettings {
  // Slurm's PriorityCalcPeriod.
  DurationMs ms = 5 * kMinuteMs;
  // True: Subak charges a job at its end for the time since the last tick (UsageTick).
  bool charge_end = true;
  friend bool operator==(const TickSettings&, const TickSettings&) = default;
};

// A change of the half-life that is under way (docs/design/0108).
struct HalfLifeChange {
  // The new half-life; 0: usage will not decay.
  DurationMs half_life_ms = 0;
  // The number of the fact that began the change; 0: no change is under way.
  std::uint64_t seq = 0;
  friend bool operator==(const HalfLifeChange&, const HalfLifeChange&) = default;
};

// How past usage counts in the order of jobs, besides the half-life.
struct FairShareSettings {
  // The constants of target-share in thousandths (TargetShareRule); 0: the default constant.
  std::uint32_t gain_milli = 0;
  std::uint32_t floor_milli = 0;
  // A change of the half-life that is under way. Only the engine sets this field. A caller may
  // clear it to cancel the change.
  HalfLifeChange change;
  friend bool operator==(const FairShareSettings&, const FairShareSettings&) = default;
};

// Rules for gangs.
struct GangSettings {
  // The number of empty NVLink domains of several nodes, per cluster and product, that only large
  // gangs may use (DomainRules of placement/fleet/fleet.h).
  std::uint32_t keep_whole = 0;
  // The most gangs with a ComputeDomain in one NVLink domain of several nodes; 0 = any number.
  std::uint32_t clique_gangs = 1;
  // If a pod of a started job has not been Ready for this long, Subak ends the job's pods, and the
  // job waits again (docs/design/0120). 0 = never.
  DurationMs ready_within_ms = 0;
  friend bool operator==(const GangSettings&, const GangSettings&) = default;
};

// Settings of the ledger and of budgets.
struct BookPolicy {
  // If a job loses its work because Subak preempts it or because a node fails, the platform pays
  // for the last time of the attempt, up to this maximum. 0 = nothing.
  DurationMs refund_lost_work_ms = 30 * kMinuteMs;
  // The IANA name of the time zone of the budgets' periods, such as Europe/Berlin. Empty: UTC.
  std::string budget_zone;
  // How long a UTC month stays open for rows after its end.
  MonthClosing months;
  friend bool operator==(const BookPolicy&, const BookPolicy&) = default;
};

// Settings for waiting jobs: reservations (whole nodes set aside for a job that starts later),
// parking, and nodes that an autoscaler may add.
struct QueueSettings {
  // The most jobs of a cluster with a reservation at one time; 0 = none.
  std::uint32_t reserve_jobs = 4;
  // Once this many gated pods of an account wait in a cluster, new owners of pods, such as Jobs,
  // are parked: Subak suspends them until their turn (docs/design/0119). 0 = each owner is parked.
  std::uint32_t park_after = 1'000;
  // The node pools of all clusters.
  std::vector<NodePool> node_pools{};
  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

// The policy: the settings that all decisions use. One input sets all settings at once
// (in::SetPolicy, which refuses numbers out of range). docs/design has a page for most settings.
struct Policy {
  // The order of jobs between accounts (accounting/order.h).
  OrderPolicy order = OrderPolicy::kTargetShare;
  // The half-life of usage; 0: usage does not decay. If there is usage, an edit of the half-life
  // begins a HalfLifeChange.
  DurationMs half_life_ms = 7 * kDayMs;
  // Subak takes the GPUs back from a pod (releases its hold) that is not bound after this time. At
  // least 1 s.
  DurationMs hold_ms = 10 * kMinuteMs;
  // A job that has waited this long and does not fit in its turn may get reserved nodes; 0 = never.
  // Where GPUs become free sooner, a shorter wait is enough (derive::patience).
  DurationMs patience_ms = 2 * kHourMs;
  TickSettings tick;
  FairShareSettings fair_share;
  // The default for accounts without a setting of their own. True: Subak asks a job to end after
  // its time limit plus `time_limit_grace_ms`. False: a time limit only predicts when the job's
  // GPUs will be free.
  bool enforce_time_limits = false;
  DurationMs time_limit_grace_ms = 5 * kMinuteMs;
  // The planned run time of a job without a time limit. Subak doubles the job's planned run time
  // each time that the job runs longer. 0 = no run time is planned.
  DurationMs default_time_limit_ms = kDayMs;
  QueueSettings queue;
  GangSettings gangs;
  GpuHeadroom gpu_headroom;
  // Whether jobs within quota take GPUs back from jobs that borrow them (docs/design/0084). This
  // works only with OrderPolicy::kTargetShare.
  bool reclaim = true;
  // Subak asks a job to give GPUs back only after its attempt has run for this long.
  DurationMs reclaim_min_run_ms = 10 * kMinuteMs;
  // A job that gives GPUs back should be gone a minute after its pods' grace period. If the grace
  // period is longer than this maximum, Subak expects the end after this maximum, and takes GPUs
  // from such jobs last.
  DurationMs reclaim_max_grace_ms = 10 * kMinuteMs;
  BookPolicy books;
  // System namespaces in addition to kSystemNamespaces. Subak does not gate their pods, and the
  // platform pays for these pods unless an account names the namespace. A * at the end of a name
  // matches any text.
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
    v(5, "tick_ms", tick.ms);
    v(6, "tick_charge_end", tick.charge_end);
    v(7, "system_namespaces", system_namespaces);
    v(8, "enforce_time_limits", enforce_time_limits);
    v(9, "time_limit_grace_ms", time_limit_grace_ms);
    v(10, "default_time_limit_ms", default_time_limit_ms);
    v(11, "reserve_jobs", queue.reserve_jobs);
    v(12, "keep_whole", gangs.keep_whole);
    v(13, "clique_gangs", gangs.clique_gangs);
    v(14, "cpu_per_gpu_milli", gpu_headroom.cpu_milli);
    v(15, "memory_per_gpu_bytes", gpu_headroom.memory_bytes);
    v(16, "reclaim", reclaim);
    v(17, "reclaim_min_run_ms", reclaim_min_run_ms);
    v(18, "reclaim_max_grace_ms", reclaim_max_grace_ms);
    v(19, "priority_classes", priority_classes);
    v(20, "refund_lost_work_ms", books.refund_lost_work_ms);
    v(21, "target_gain_milli", fair_share.gain_milli);
    v(22, "target_floor_milli", fair_share.floor_milli);
    v(23, "next_half_life_ms", fair_share.change.half_life_ms);
    v(24, "half_life_change_seq", fair_share.change.seq);
    v(25, "budget_zone", books.budget_zone);
    v(26, "month_open_days", books.months.open_days);
    v(27, "months_closed_until_ms", books.months.closed_until_ms);
    v(28, "ready_within_ms", gangs.ready_within_ms);
    v(29, "park_after", queue.park_after);
    v(30, "node_pools", queue.node_pools);
  }
  friend bool operator==(const Policy&, const Policy&) = default;
};

// Returns the constants of target-share that the policy has.
TargetShareRule target_share_rule(const Policy& policy);
// Sets the half-life in a policy for an edit. If a change to this half-life is under way, it
// continues. A change to another half-life is cancelled.
void want_half_life(Policy& policy, DurationMs half_life_ms);

// The fields of an edit of the policy (in::SetPolicy), besides the policy itself.
struct PolicyEdit {
  std::string reason;
  // Checks the edit, and changes nothing.
  bool validate_only = false;
  // True: before the edit, the policy must be `expected`.
  bool expects = false;
  Policy expected;
  template <class V>
  void fields(V& v) {
    v(1, "reason", reason);
    v(2, "validate_only", validate_only);
    v(3, "expects", expects);
    v(4, "expected", expected);
  }
  friend bool operator==(const PolicyEdit&, const PolicyEdit&) = default;
};

// One value of the policy as users see it (server/config/policy_keys.h).
struct PolicyValue {
  // The key as in the file, such as "patience", and its value in the form that the file has.
  std::string key, value;
  // The text of the help, and the form of the value, such as "DURATION".
  std::string help, form;
  // True: the configuration sets the key.
  bool configured = false;
};

// System namespaces of every cluster: those of Kubernetes and Subak, and the default namespaces of
// NVIDIA's operators. The array has full names, not prefixes, because any team may own a namespace
// with the same prefix.
inline constexpr std::array<std::string_view, 9> kSystemNamespaces{"kube-system",
                                                                   "kube-public",
                                                                   "kube-node-lease",
                                                                   "subak-system",
                                                                   "gpu-operator",
                                                                   "nvidia-gpu-operator",
                                                                   "nvidia-network-operator",
                                                                   "nvidia-device-plugin",
                                                                   "nvidia-dra-driver-gpu"};
// True if the namespace is one of kSystemNamespaces or matches one of the policy's system
// namespaces.
bool is_system_namespace(const Policy& policy, std::string_view ns);

// The priority of one job.
struct Priority {
  // Among the jobs of one account and its users, the job with the highest value comes first.
  std::int32_t value = 0;
  // True: the job named a priority class of the policy, and has the class's priority.
  bool has_class = false;
  friend bool operator==(const Priority&, const Priority&) = default;
};

// True if a time zone may have this name: letters, digits and + - _ in parts between slashes, each
// with a letter first, at most 64 bytes. The empty name is allowed, and means UTC. Whether the zone
// exists is not checked.
bool is_zone_name(std::string_view name);

// Reads a priority if the policy has no classes: low, normal, high or a whole number. Returns
// nullopt for any other text.
std::optional<std::int32_t> parse_priority(std::string_view text);

// True if a priority class may have this name: a-z, 0-9 and -, with a letter first, no - at the
// end, and at most 63 bytes. So no class name can be read as a number.
bool is_class_name(std::string_view name);
// True if jobs of the account may use the class. `account`: the path of the account or of a user;
// empty: the job has no account yet.
bool may_use(const PriorityClass& priority_class, std::string_view account);
// Checks one pool alone: neither other pools nor the pool's cluster. The error names the field of
// the pool, such as "most". nullopt: the pool has no mistake.
std::optional<Error> check_pool(const NodePool& pool);
// Returns the class that has this priority and that jobs of the account may use; nullptr if there
// is none. The pointer is valid as long as the policy.
const PriorityClass* class_with(const Policy& policy, std::int32_t priority,
                                std::string_view account);

// Returns the priority that the text means for a job of the account. If the policy has no classes,
// the function reads the text with parse_priority(). Else the text must be the name of a class that
// the account may use. Any other text gives the error kInvalid. In the error, `got` is the text,
// and `want` lists the allowed texts; the caller sets `field`.
Result<Priority> read_priority(const Policy& policy, std::string_view account,
                               std::string_view text);

}  // namespace subak
