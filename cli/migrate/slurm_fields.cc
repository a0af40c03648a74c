#include "cli/migrate/slurm_fields.h"

#include <algorithm>
#include <array>

#include "cli/migrate/dump_reader.h"

namespace subak::cli {
namespace {

using enum SlurmUse;

constexpr std::string_view kJobs =
    "Subak has no limit on the number of jobs; a limit of GPUs bounds what runs.";
constexpr std::string_view kPerJob = "Subak bounds no single job below the limit of its account.";
constexpr std::string_view kPerUser =
    "Subak has a limit for each user by name: account set ACCOUNT/USER --limit.";
constexpr std::string_view kGpuTime =
    "Subak has no bound on GPU time. Past usage only lowers a job's position in the order.";
constexpr std::string_view kFlight =
    "Subak has no bound on the GPU time that running jobs may still take.";
constexpr std::string_view kOldName =
    "This is a name of old Slurm versions; GPUs have their limit in GrpTRES=gres/gpu=N.";
constexpr std::string_view kWall =
    "Subak bounds no run time by itself: jobs have subak.gpu/time-limit, and `time-limits: "
    "enforced` in an account ends them.";
constexpr std::string_view kQosLists =
    "Subak has one order for all jobs. The priority classes of the policy may name accounts.";
constexpr std::string_view kAccounts =
    "A pod's namespace decides its account, or the label subak.gpu/account.";
constexpr std::string_view kRoles = "Roles are a matter of the tokens of subakd (docs/install.md).";
constexpr std::string_view kPreempts =
    "With `preempts: true`, a priority class preempts within its own account only. Between "
    "accounts, quota decides (docs/concepts.md).";
constexpr std::string_view kMinRun = "Nearest is `reclaimMinRun`, one time for all jobs.";
constexpr std::string_view kWeights = "Each GPU second counts once, whatever its priority class.";
constexpr std::string_view kText = "This is a text for people.";

constexpr std::array kFields{
    SlurmField{"Fairshare", kShares, ""},
    SlurmField{"GrpTRES", kGpuLimit, "Subak shares GPUs; other resources have no limit."},
    SlurmField{"GrpJobs", kRunningJobs, kJobs},
    SlurmField{"GrpSubmitJobs", kWaitingJobs, kJobs},
    SlurmField{"GrpJobsAccrue", kNone, kJobs},
    SlurmField{"MaxJobs", kRunningJobs, kJobs},
    SlurmField{"MaxSubmitJobs", kWaitingJobs, kJobs},
    SlurmField{"MaxJobsAccrue", kNone, kJobs},
    SlurmField{"GrpTRESMins", kNone, kGpuTime},
    SlurmField{"GrpTRESRunMins", kNone, kFlight},
    SlurmField{"GrpWall", kNone, kGpuTime},
    SlurmField{"MaxTRESPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESPerNode", kNone, kPerJob},
    SlurmField{"MaxTRESMinsPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESRunMins", kNone, kFlight},
    SlurmField{"MaxWallDurationPerJob", kNone, kWall},
    SlurmField{"MinPrioThresh", kNone, "Subak reserves nodes by waiting time (`patience`)."},
    SlurmField{"Priority", kNone, "Subak orders accounts by shares, quota and usage alone."},
    SlurmField{"Partition", kNone,
               "Subak has no partitions. A limit or quota may name a GPU product."},
    SlurmField{"QOS", kNone, kQosLists},
    SlurmField{"DefaultQOS", kNone, kQosLists},
    SlurmField{"DefaultAccount", kNoneOnce, kAccounts},
    SlurmField{"AdminLevel", kNone, kRoles},
    SlurmField{"Coordinator", kNone, kRoles},
    SlurmField{"DefaultWCKey", kNoneOnce, "Subak has no keys for reports besides accounts."},
    SlurmField{"WCKeys", kNoneOnce, "Subak has no keys for reports besides accounts."},
    SlurmField{"Description", kRemark, ""},
    SlurmField{"Organization", kNoneOnce, kText},
    SlurmField{"Classification", kNoneOnce, kText},
    SlurmField{"Comment", kNoneOnce, kText},
    SlurmField{"GrpCPUs", kNone, kOldName},
    SlurmField{"GrpMemory", kNone, kOldName},
    SlurmField{"GrpNodes", kNone, kOldName},
    SlurmField{"GrpCPUMins", kNone, kGpuTime},
    SlurmField{"GrpCPURunMins", kNone, kFlight},
    SlurmField{"MaxCPUsPerJob", kNone, kOldName},
    SlurmField{"MaxNodesPerJob", kNone, kOldName},
    SlurmField{"MaxCPUMinsPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESMins", kNone, kPerJob},
    SlurmField{"MaxTRES", kNone, kPerJob},
    SlurmField{"MaxWall", kNone, kWall},
    SlurmField{"MaxWallDuration", kNone, kWall},
};

constexpr std::array kQosFields{
    SlurmField{"Priority", kPriority, ""},
    SlurmField{"Description", kRemark, ""},
    SlurmField{"Flags", kNone, "Subak has one set of rules for all priority classes."},
    SlurmField{"GraceTime", kNone, "A preempted pod has its own terminationGracePeriodSeconds."},
    SlurmField{"Preempt", kNone, kPreempts},
    SlurmField{"PreemptMode", kNone, kPreempts},
    SlurmField{"PreemptExemptTime", kNone, kMinRun},
    SlurmField{"UsageFactor", kFactor, kWeights},
    SlurmField{"UsageThreshold", kNone, "Usage refuses no job; it only lowers the position."},
    SlurmField{"LimitFactor", kFactor, "Limits are the same for all priority classes."},
    SlurmField{"MinPrioThresh", kNone, "Subak reserves nodes by waiting time (`patience`)."},
    SlurmField{"GrpTRES", kNone, "A limit belongs to an account, not to a priority class."},
    SlurmField{"GrpTRESMins", kNone, kGpuTime},
    SlurmField{"GrpTRESRunMins", kNone, kFlight},
    SlurmField{"GrpJobs", kNone, kJobs},
    SlurmField{"GrpJobsAccrue", kNone, kJobs},
    SlurmField{"GrpSubmitJobs", kNone, kJobs},
    SlurmField{"GrpWall", kNone, kGpuTime},
    SlurmField{"MaxTRESPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESPerNode", kNone, kPerJob},
    SlurmField{"MaxTRESMinsPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESPerUser", kNone, kPerUser},
    SlurmField{"MaxTRESPerAccount", kNone, "Subak has a limit for each account by name."},
    SlurmField{"MaxTRESRunMinsPerUser", kNone, kFlight},
    SlurmField{"MaxTRESRunMinsPerAccount", kNone, kFlight},
    SlurmField{"MinTRESPerJob", kNone, kPerJob},
    SlurmField{"MaxJobsPU", kNone, kJobs},
    SlurmField{"MaxJobsPA", kNone, kJobs},
    SlurmField{"MaxJobsPerUser", kNone, kJobs},
    SlurmField{"MaxJobsPerAccount", kNone, kJobs},
    SlurmField{"MaxJobsAccruePU", kNone, kJobs},
    SlurmField{"MaxJobsAccruePA", kNone, kJobs},
    SlurmField{"MaxSubmitJobsPU", kNone, kJobs},
    SlurmField{"MaxSubmitJobsPA", kNone, kJobs},
    SlurmField{"MaxSubmitJobsPerUser", kNone, kJobs},
    SlurmField{"MaxSubmitJobsPerAccount", kNone, kJobs},
    SlurmField{"MaxWallDurationPerJob", kNone, kWall},
};

}  // namespace

std::span<const SlurmField> slurm_fields() { return kFields; }

std::span<const SlurmField> slurm_qos_fields() { return kQosFields; }

const SlurmField* find_field(std::span<const SlurmField> table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const SlurmField& field) {
    return same_name(field.name, name);
  });
  return at == table.end() ? nullptr : &*at;
}

}  // namespace subak::cli
