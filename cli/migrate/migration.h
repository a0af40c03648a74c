// The result of `subak migrate tree`: the tree of accounts that a reader found in files of Slurm or
// Kueue, and all things in these files that Subak has no equivalent for. Threads: any; plain
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "kube/pod.h"
#include "model/policy.h"

namespace subak::cli {

// A file to read.
struct SourceFile {
  // The name that messages use.
  std::string name;
  std::string text;
};
// A line of a file.
struct SourceLine {
  // The index of the file.
  std::size_t file = 0;
  // The line, from 1; 0: no line.
  std::size_t line = 0;
};

// GPUs by product; "gpu": any product.
using GpuAmounts = std::vector<std::pair<std::string, std::int64_t>>;

// The fields of an account in the account file, besides path and shares.
struct MigratedSpec {
  GpuAmounts quota, limit;
  // The limits besides GPUs, such as "jobs=20".
  std::vector<std::string> other_limits;
  // The texts of `borrow` and `lend`. nullopt: unlimited.
  std::optional<std::string> borrow, lend;
  std::vector<std::string> namespaces;
  bool held = false, draining = false;
};

// An account or a user of the tree.
struct MigratedAccount {
  // The name in the file, such as "Team.A".
  std::string name;
  // "Account", "User", "Cohort" or "ClusterQueue".
  std::string kind;
  // The index of the parent in Migration::accounts.
  std::size_t parent = 0;
  SourceLine at;
  bool user = false;
  // True: the account file leaves this row out: Slurm's user `root` of the account `root`.
  bool left_out = false;
  // The shares in the file. `parent_shares`: Slurm's Fairshare=parent, for which `shares` is 0.
  std::int64_t shares = 1;
  bool parent_shares = false;
  MigratedSpec spec;
  // A text for the comment of the row; may be empty.
  std::string remark;

  // name_accounts() fills in the following members.
  // The path in Subak; empty for the root.
  std::string path;
  // The shares of the account file (docs/design/0102 has the rule for `parent_shares`).
  std::int64_t own_shares = 1;
};

// A thing that Subak has no equivalent for.
struct Unmatched {
  SourceLine at;
  // The field, such as "GrpJobs". The report has one section for each field.
  std::string field;
  // Where the field is, with its value: "Account 'ml': GrpJobs=20".
  std::string what;
  // What Subak does instead, or what to do.
  std::string todo;
  // True: the report shows the first such thing and the number of the others.
  bool first_only = false;
};

// The result of reading all files.
struct Migration {
  // The names of the files.
  std::vector<std::string> files;
  // Parents come before their children. The first element is the root.
  std::vector<MigratedAccount> accounts{1};
  std::vector<PriorityClass> classes;
  // Other lines for the configuration of subakd, such as "reclaim: off", each with a comment.
  std::vector<std::string> settings;
  std::vector<Unmatched> unmatched;
  // "Account 'Team.A' -> team-a", in the order of the accounts.
  std::vector<std::string> renamed;
};

// The options of a migration.
struct MigrateOptions {
  // The cluster's name in Subak. Accounts then get namespaces of this cluster only. Empty: of every
  // cluster.
  std::string cluster;
  // Resources that count as GPUs, in addition to those of nvidia.com/.
  ExtraGpuResources gpu_kinds;
};

// The first mistake in a file. The readers throw it, and read_migration() catches it. `error.field`
// begins with file and line.
struct MigrateMistake {
  Error error;
};
// Throws a MigrateMistake: "acme.dump:12: Fairshare: was "x", want ...". `field` may be empty.
[[noreturn]] void refuse(const SourceFile& file, std::size_t line, const std::string& field,
                         std::string got, std::string want);

}  // namespace subak::cli
