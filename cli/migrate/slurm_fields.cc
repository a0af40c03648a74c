#include "cli/migrate/slurm_fields.h"

#include <algorithm>
#include <array>

#include "cli/migrate/dump_reader.h"

namespace subak::cli {
namespace {

using enum SlurmUse;

constexpr std::string_view kJobs =
    "Subak has no such limit; `limit: jobs=N` bounds the jobs of an account, and `user-limit: "
    "jobs=N` those of each user.";
constexpr std::string_view kQueued =
    "Nearest is `limit: queued=N`, which counts waiting jobs alone.";
constexpr std::string_view kUserJobs =
    "Nearest is `user-limit: jobs=N` of the account, or `limit: jobs=N` of a user.";
constexpr std::string_view kPerJob = "Subak bounds no single job below the limit of its account.";
constexpr std::string_view kPerUser =
    "Subak has limits for each user of an account: account set ACCOUNT --user-limit gpu=N.";
constexpr std::string_view kGpuTime =
    "Nearest is `budget: 1000h/total` (or /month), which never decays; this value decays in Slurm.";
constexpr std::string_view kWallTime =
    "It sums wall-clock time of jobs. Nearest is a `budget`, which counts each GPU of a job.";
constexpr std::string_view kFlight =
    "Nearest is `limit: gpu-minutes=N`, which counts the GPU-minutes in flight of an account.";
constexpr std::string_view kOldName =
    "This is a name of old Slurm versions; GPUs have their limit in GrpTRES=gres/gpu=N.";
constexpr std::string_view kWall =
    "Nearest is `limit: time=2d`, which bounds the time limits of an account's jobs.";
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
    SlurmField{"GrpJobs", kJobLimit, kJobs},
    SlurmField{"GrpSubmitJobs", kWaitingJobs, kQueued},
    SlurmField{"GrpJobsAccrue", kNone, kJobs},
    SlurmField{"MaxJobs", kRunningJobs, kUserJobs},
    SlurmField{"MaxSubmitJobs", kWaitingJobs, kQueued},
    SlurmField{"MaxJobsAccrue", kNone, kJobs},
    SlurmField{"GrpTRESMins", kNone, kGpuTime},
    SlurmField{"GrpTRESRunMins", kGpuMinutes, kFlight},
    SlurmField{"GrpWall", kNone, kWallTime},
    SlurmField{"MaxTRESPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESPerNode", kNone, kPerJob},
    SlurmField{"MaxTRESMinsPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESRunMins", kNone, kFlight},
    SlurmField{"MaxWallDurationPerJob", kTime, kWall},
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
    SlurmField{"MaxWall", kTime, kWall},
    SlurmField{"MaxWallDuration", kTime, kWall},
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
    SlurmField{"GrpSubmitJobs", kNone, kQueued},
    SlurmField{"GrpWall", kNone, kWallTime},
    SlurmField{"MaxTRESPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESPerNode", kNone, kPerJob},
    SlurmField{"MaxTRESMinsPerJob", kNone, kPerJob},
    SlurmField{"MaxTRESPerUser", kNone, kPerUser},
    SlurmField{"MaxTRESPerAccount", kNone, "Subak has a limit for each account by name."},
    SlurmField{"MaxTRESRunMinsPerUser", kNone, kFlight},
    SlurmField{"MaxTRESRunMinsPerAccount", kNone, kFlight},
    SlurmField{"MinTRESPerJob", kNone, kPerJob},
    SlurmField{"MaxJobsPU", kNone, kUserJobs},
    SlurmField{"MaxJobsPA", kNone, kJobs},
    SlurmField{"MaxJobsPerUser", kNone, kUserJobs},
    SlurmField{"MaxJobsPerAccount", kNone, kJobs},
    SlurmField{"MaxJobsAccruePU", kNone, kJobs},
    SlurmField{"MaxJobsAccruePA", kNone, kJobs},
    SlurmField{"MaxSubmitJobsPU", kNone, kQueued},
    SlurmField{"MaxSubmitJobsPA", kNone, kQueued},
    SlurmField{"MaxSubmitJobsPerUser", kNone, kQueued},
    SlurmField{"MaxSubmitJobsPerAccount", kNone, kQueued},
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
