#include "cli/migrate/migrate.h"

#include <algorithm>

#include "cli/migrate/classes.h"
#include "cli/migrate/dump_reader.h"
#include "cli/migrate/kueue_reader.h"
#include "cli/migrate/kueue_tree.h"
#include "cli/migrate/migrate_names.h"
#include "cli/migrate/slurm_tree.h"

namespace subak::cli {
namespace {

// Returns the account for the root of a dump: the tree's root, or with several dumps a new account.
std::size_t root_of_dump(const SourceFile& file, std::size_t index, bool several, Migration& out) {
  if (!several) return 0;
  MigratedAccount& cluster = out.accounts.emplace_back();
  cluster.name = cluster_of_dump(file);
  cluster.kind = "Cluster";
  cluster.at = {index, 1};
  if (cluster.name.empty()) cluster.name = "cluster";  // read_slurm() refuses this file
  return out.accounts.size() - 1;
}

Migration read(const std::vector<SourceFile>& files, const MigrateOptions& options) {
  Migration out;
  std::vector<bool> dumps;
  for (const SourceFile& file : files) {
    out.files.push_back(file.name);
    dumps.push_back(is_dump(file.text));
  }
  const bool several = std::count(dumps.begin(), dumps.end(), true) > 1;
  KueueObjects objects;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (dumps[i]) {
      read_slurm(files, i, root_of_dump(files[i], i, several, out), out);
    } else {
      read_kueue(files[i], i, options, objects, out);
    }
  }
  add_kueue_tree(files, objects, options, out);
  finish_classes(out);
  name_accounts(files, out);
  return out;
}

}  // namespace

[[noreturn]] void refuse(const SourceFile& file, std::size_t line, const std::string& field,
                         std::string got, std::string want) {
  throw MigrateMistake{
      {ErrorCode::kInvalid,
       file.name + ":" + std::to_string(line) + (field.empty() ? "" : ": " + field), std::move(got),
       std::move(want)}};
}

Result<Migration> read_migration(const std::vector<SourceFile>& files,
                                 const MigrateOptions& options) {
  try {
    return read(files, options);
  } catch (const MigrateMistake& mistake) {
    return mistake.error;
  }
}

}  // namespace subak::cli
