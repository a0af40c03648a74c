// subak migrate tree: an account file, made from the files of Slurm or Kueue.
#include "cli/migrate/migrate.h"

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "core/edge_limits.h"

namespace subak::cli {
namespace {

constexpr char kDetails[] =
    "A FILE is the output of one of these commands:\n"
    "  sacctmgr dump CLUSTER file=FILE\n"
    "  kubectl get clusterqueues,cohorts,localqueues,resourceflavors -A -o yaml\n"
    "  kubectl get workloadpriorityclasses -o yaml\n"
    "It may also have manifests of Kueue, of v1beta1 and v1beta2. Name all files in one call.\n"
    "The command asks no service and changes nothing. It prints a file for this command:\n"
    "  subak account apply -f FILE --reason TEXT --dry-run\n"
    "Comments in the file have settings for the configuration of subakd. They also have each\n"
    "thing without an equivalent in Subak, by name and line. docs/migrate.md says what\n"
    "corresponds to what. With --output json, the command prints the tree for `sim share`.\n";

struct MigrateCommand {
  std::vector<std::string> files;
  MigrateOptions options;
};

void check(Session& s, const MigrateOptions& o) {
  if (s.form() != Form::kTable && s.form() != Form::kWide && s.form() != Form::kJson) {
    throw usage_failure("--output: migrate tree prints an account file, or json for sim share",
                        "omit --output, or use json");
  }
  const bool plain = std::all_of(o.cluster.begin(), o.cluster.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  if (!plain) {
    throw usage_failure("--cluster: was \"" + o.cluster + "\", want a name of a-z 0-9 - .",
                        "subak status lists them");
  }
}

int migrate_tree(Session& s, const MigrateCommand& o) {
  check(s, o.options);
  std::vector<SourceFile> files;
  for (const std::string& path : o.files) {
    files.push_back(
        {path == "-" ? "standard input" : path, read_input(path, limits::kMaxWrittenFileBytes)});
  }
  const Migration found = value_or_usage(read_migration(files, o.options),
                                         "correct or remove this line; nothing was printed");
  s.out() << (s.form() == Form::kJson ? share_case_text(found) : migration_text(found));
  if (!found.unmatched.empty()) {
    s.err() << "without an equivalent in Subak: " << found.unmatched.size()
            << (found.unmatched.size() == 1 ? " thing" : " things")
            << "; the end of the account file lists them\n";
  }
  return kExitDone;
}

}  // namespace

void add_migrate(Command root) {
  Command migrate = root.add("migrate", "come from Slurm or Kueue; needs no service");
  auto o = std::make_shared<MigrateCommand>();
  Command c = migrate.add(
      "tree", "print a file for `subak account apply`, made from files of Slurm or Kueue");
  c.arguments("FILE", o->files, "a dump or YAML; - is standard input");
  c.option("--cluster", o->options.cluster,
           "the cluster's name in Subak: each account gets namespaces of this cluster only. "
           "Default: namespaces of every cluster",
           "NAME");
  c.list_option(
      "--gpu-kinds", o->options.gpu_kinds,
      "other resources that count as GPUs; name the same ones as in the service's configuration",
      "RESOURCE,...");
  c.details(kDetails);
  c.run([o](Session& s) { return migrate_tree(s, *o); });
}

}  // namespace subak::cli
