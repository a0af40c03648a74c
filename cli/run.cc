#include "cli/run.h"

#include <exception>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"

namespace subak::cli {
namespace {

constexpr char kAbout[] =
    "Subak shares a GPU fleet fairly between teams. This is its command line; the service is "
    "subakd.\n"
    "subak COMMAND --help says more about a command.\n"
    "Exit codes: 0 done, 1 refused by the service, 2 usage, 3 unreachable, 4 not found.";

constexpr char kAboutPlugin[] =
    "As a plugin of kubectl, queue, share and why are about the account of one namespace: that of\n"
    "--namespace, or of the kubeconfig's context.\n\n";

void add_global_options(Command root, GlobalOptions& options) {
  root.option("--server", options.server.server,
              "address of subakd; if there are several replicas, name all, separated by commas",
              "HOST:PORT|unix:FILE[,...]", "SUBAK_SERVER");
  root.option("--token-file", options.server.token_file,
              "file with your token, if the service wants one", "FILE", "SUBAK_TOKEN_FILE");
  root.option("--tls-ca", options.server.tls_ca,
              "CA of the server's certificate, PEM; loopback is plain text without it", "FILE",
              "SUBAK_TLS_CA");
  root.choice("--output", options.output,
              "form of the output; wide shows all columns, svg is for plan",
              {"table", "wide", "json", "yaml", "csv", "svg"});
}

void add_commands(Command root, const Parser& parser, Program program) {
  add_status(root);
  add_account(root);
  add_share(root, program);
  add_budget(root);
  add_job(root);
  add_queue(root, program);
  add_claims(root);
  add_why(root, program);
  add_plan(root);
  add_cluster(root);
  add_usage(root);
  add_audit(root);
  add_policy(root);
  add_admin(root);
  add_install(root);
  add_preflight(root);
  add_uninstall(root);
  add_sim(root);
  add_replay(root);
  add_whatif(root);
  add_migrate(root);
  add_completion(root, parser);
  add_complete(root);
  add_version(root);
}

int fail(const Screen& screen, const Failure& failure) {
  screen.err << "subak: " << printable(failure.what) << '\n';
  if (!failure.todo.empty()) screen.err << "  -> " << printable(failure.todo) << '\n';
  return failure.exit_code;
}

}  // namespace

Program program_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == kPluginName ? Program::kKubectl : Program::kSubak;
}

int run_cli(const std::vector<std::string>& arguments, const Screen& screen, Program program) {
  try {
    GlobalOptions options;
    const bool is_plugin = program == Program::kKubectl;
    Parser parser(is_plugin ? "kubectl subak" : "subak",
                  std::string(is_plugin ? kAboutPlugin : "") + kAbout);
    add_global_options(parser.root(), options);
    add_commands(parser.root(), parser, program);
    const Parsed parsed = parser.parse(arguments);
    if (!parsed.run) {
      screen.out << parsed.text;
      return kExitDone;
    }
    if (options.output == "svg" && !parsed.draws) {
      throw usage_failure("--output svg: only plan draws", "use table, wide, json, yaml or csv");
    }
    Session session(screen, options);
    return parsed.run(session);
  } catch (const Failure& failure) {
    return fail(screen, failure);
  } catch (const std::exception& e) {
    return fail(screen,
                {kExitRefused, e.what(), "this is a mistake in subak; please report it", "", ""});
  }
}

void add_limit(Command& command, ListOptions& options) {
  command.option("--limit", options.limit, "show at most N rows (0: all)", "N");
}

void add_watch(Command& command, WatchOptions& options) {
  command.flag("--watch", options.watch,
               "show it again every --interval seconds, until interrupted");
  command.option("--interval", options.interval, "seconds between two updates", "S");
}

void add_at(Command& command, MomentOptions& options) {
  command.option("--at", options.at,
                 "show an earlier moment: the state after this fact number, or at this time",
                 "TIME|SEQ");
}

int draw_at(Session& session, const MomentOptions& at, const WatchOptions& watch,
            const std::function<void()>& draw) {
  if (at.at.empty()) return repeat(session, watch.seconds(), draw);
  if (watch.watch)
    throw usage_failure("--watch: an earlier moment does not change", "use --at or --watch");
  const bool is_seq = at.at.find_first_not_of("0123456789") == std::string::npos;
  session.client().go_to(is_seq ? at.at : exact_time_text(instant_of(at.at, "--at", now_ms())));
  draw();
  const Client::Shown shown = session.client().shown();
  session.say("as of " + time_text(to_timestamp(shown.time_ms)) + ", after fact " + shown.sequence);
  return kExitDone;
}

void add_reason(Command& command, EditOptions& options) {
  command.required_option("--reason", options.reason, "why you do this; the audit log keeps it",
                          "TEXT");
  add_request_id(command, options);
}

void add_request_id(Command& command, EditOptions& options) {
  command.option("--request-id", options.request_id,
                 "makes a retry safe: the same id again changes nothing", "ID");
}

}  // namespace subak::cli
