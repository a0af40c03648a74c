// subak migrate tree: an account file, made from the files of Slurm or Kueue. subak migrate
// --namespace: moves a namespace from Kueue to Subak, and back.
#include "cli/migrate/migrate.h"

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/kube_options.h"
#include "cli/move/namespace_move.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "core/duration.h"
#include "core/edge_limits.h"
#include "subak/v1/account_service.pb.h"

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

constexpr char kMoveDetails[] =
    "Without --apply, the command changes nothing. It prints the workloads of the namespace, the\n"
    "settings without an equivalent in Subak, and what you must do before the move.\n"
    "With --apply, it holds the LocalQueues of the namespace. It waits until the workloads that\n"
    "Kueue admitted have ended. Then it sets the label subak.gpu/managed, and hands the waiting\n"
    "jobs to Subak.\n"
    "With --back and --apply, it removes the label and hands the waiting jobs to Kueue. It waits\n"
    "until the pods that Subak started have ended. Then it opens the LocalQueues.\n"
    "You may stop the command and run it again. docs/migrate.md describes each step.\n";
constexpr DurationMs kMoveLookMs = 2000;

struct MoveCommand {
  KubeOptions kube;
  std::string ns, timeout = "0s";
  bool apply = false, back = false;
};

class Move {
 public:
  Move(Session& s, const MoveCommand& o, KubeCaller& api, DurationMs timeout_ms)
      : s_(s), o_(o), api_(api), timeout_ms_(timeout_ms) {}

  int run() {
    const MovingNamespace facts = read();
    const MoveReport report =
        report_move(facts, o_.back ? std::string() : account_of(facts), o_.back);
    print(report);
    if (!report.blockers.empty()) return kExitRefused;
    if (!o_.apply) {
      s_.say("nothing was changed; --apply moves the namespace");
      return kExitDone;
    }
    return o_.back ? move_back(facts) : move_to_subak(facts);
  }

 private:
  MovingNamespace read() {
    auto facts = read_namespace(api_, o_.ns);
    if (!facts && facts.error().code == ErrorCode::kNotFound) {
      throw Failure{kExitNotFound, "the cluster has no namespace \"" + o_.ns + "\"",
                    "kubectl get namespaces lists them"};
    }
    if (!facts) throw kube_failure(facts.error());
    return std::move(facts).value();
  }

  static void must_be_done(const std::optional<Error>& error) {
    if (error) throw kube_failure(*error);
  }

  // Returns the account that names the namespace, or that the namespace's label names.
  std::string account_of(const MovingNamespace& facts) {
    v1::ListAccountsRequest request;
    const auto answer =
        all_pages<v1::ListAccountsResponse>(s_, "AccountService/ListAccounts", request, 0,
                                            [](auto& a) { return a.mutable_accounts(); });
    std::string labelled;
    for (const v1::Account& account : answer.accounts()) {
      if (account.path() == facts.account) labelled = account.path();
      for (const std::string& name : account.namespaces()) {
        if (name == o_.ns || name.ends_with("/" + o_.ns)) return account.path();
      }
    }
    return labelled;
  }

  void print(const MoveReport& report) {
    s_.out() << "namespace " << o_.ns << (o_.back ? " back to Kueue" : " to Subak") << "\n";
    for (const std::string& line : report.lines) s_.out() << "  " << line << "\n";
    s_.out() << "without an equivalent:" << (report.without_equivalent.empty() ? " nothing" : "")
             << "\n";
    for (const std::string& line : report.without_equivalent) s_.out() << "  " << line << "\n";
    for (const std::string& line : report.blockers) s_.out() << "first: " << line << "\n";
  }

  int move_to_subak(MovingNamespace facts) {
    must_be_done(hold_queues(api_, facts));
    if (!wait_until_drained(facts)) return kExitRefused;
    must_be_done(set_managed(api_, o_.ns, true));
    must_be_done(give_to_subak(api_, read()));
    s_.say("namespace " + o_.ns + " is with Subak; its LocalQueues stay held");
    return kExitDone;
  }

  int move_back(MovingNamespace facts) {
    must_be_done(set_managed(api_, o_.ns, false));
    must_be_done(give_to_kueue(api_, facts));
    if (!wait_until_drained(facts)) return kExitRefused;
    must_be_done(open_queues(api_, read()));
    s_.say("namespace " + o_.ns + " is with Kueue");
    return kExitDone;
  }

  // False: the time is over, and something still runs.
  bool wait_until_drained(MovingNamespace& facts) {
    std::size_t told = 0;
    for (DurationMs waited_ms = 0;; waited_ms += kMoveLookMs) {
      facts = read();
      const std::vector<std::string> left = left_to_drain(facts, o_.back);
      if (left.empty()) return true;
      const std::string still = std::to_string(left.size()) + " still " +
                                (left.size() == 1 ? "runs" : "run") + ", such as " + left.front();
      if (left.size() != told) s_.say(still);
      told = left.size();
      if (timeout_ms_ != 0 && waited_ms >= timeout_ms_) {
        s_.say("the time of --timeout is over: run the command again to go on");
        return false;
      }
      api_.wait(kMoveLookMs);
    }
  }

  Session& s_;
  const MoveCommand& o_;
  KubeCaller& api_;
  DurationMs timeout_ms_;
};

int migrate_namespace(Session& s, const MoveCommand& o) {
  if (o.ns.empty()) {
    throw usage_failure("migrate: which namespace or command?",
                        "want --namespace NAME, or the command tree");
  }
  if (o.ns.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) {
    throw usage_failure("--namespace: was \"" + o.ns + "\", want the name of a namespace",
                        "kubectl get namespaces lists them");
  }
  const DurationMs timeout_ms =
      value_or_usage(parse_duration(o.timeout, "--timeout"), "for example 30m; 0s is no limit");
  const auto api = open_kube(o.kube);
  return Move(s, o, *api, timeout_ms).run();
}

}  // namespace

void add_migrate(Command root) {
  Command migrate = root.add("migrate", "move from Slurm or Kueue to Subak, and back to Kueue");
  auto move = std::make_shared<MoveCommand>();
  migrate.option("--namespace", move->ns,
                 "the namespace to move; required without the command tree", "NAME");
  migrate.flag("--apply", move->apply, "move the namespace; without it, only report");
  migrate.flag("--back", move->back, "move the namespace back to Kueue");
  migrate.option("--timeout", move->timeout,
                 "how long --apply waits for workloads that still run; 0s (default) is no limit",
                 "DURATION");
  add_kube(migrate, move->kube);
  migrate.details(kMoveDetails);
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
  migrate.run_alone([move](Session& s) { return migrate_namespace(s, *move); });
}

}  // namespace subak::cli
