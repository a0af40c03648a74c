// The table of all fields that a line of a Slurm dump may have, and what Subak has for each. To map
// a further field, give its row another `use`, and handle this use in slurm_tree.cc.
// Threads: any; pure functions.
// Source: SchedMD, the manual page sacctmgr(1): the fields of clusters, accounts, users and QOS.
#pragma once

#include <span>
#include <string_view>

namespace subak::cli {

// What the migration does with a field.
enum class SlurmUse {
  // The field has no equivalent: the report has the field with its line.
  kNone,
  // As kNone, but the report shows only the first line with the field, and the number of such
  // lines.
  kNoneOnce,
  kShares,       // Fairshare: the account's shares
  kGpuLimit,     // GrpTRES: the GPUs become the account's limit
  kJobLimit,     // GrpJobs: a limit on jobs; 0: the account is held
  kRunningJobs,  // 0: the account is held; another number has no equivalent
  kWaitingJobs,  // 0: the account is draining; another number has no equivalent
  kGpuMinutes,   // GrpTRESRunMins: the limit on GPU-minutes in flight
  kTime,         // MaxWall, in minutes: the limit on the time limit of a job
  kPriority,     // a QOS's priority: the value of a priority class
  kFactor,       // 1 changes nothing; another number has no equivalent
  kRemark,       // a text for people: a comment of the account's row
};

// One row of the table.
struct SlurmField {
  // The name as `sacctmgr dump` writes it. Case does not matter.
  std::string_view name;
  SlurmUse use = SlurmUse::kNone;
  // For the report: what Subak does instead, or what to do.
  std::string_view todo;
};

// The fields of a line Cluster, Account or User.
std::span<const SlurmField> slurm_fields();
// The fields of a line QOS.
std::span<const SlurmField> slurm_qos_fields();
// Returns the row of this field; nullptr: the table has none.
const SlurmField* find_field(std::span<const SlurmField> table, std::string_view name);

}  // namespace subak::cli
