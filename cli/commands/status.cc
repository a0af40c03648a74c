// subak status, version.
#include "admission/policy_config.h"
#include "cli/commands.h"
#include "cli/text/words.h"
#include "subak/v1/admin_service.pb.h"

namespace subak::cli {
namespace {

void line(Session& s, const std::string& name, const std::string& value) {
  print_line(s, name, value, 16);
}

std::string millis_text(const Duration& d) {
  return fixed_text(static_cast<double>(d.seconds()) * 1e3 + d.nanos() / 1e6, 1) + " ms";
}

std::string drift_text(Session& s, const v1::Status& status) {
  if (!status.has_ledger_drift()) return "not compared since the start (usage verify compares it)";
  const std::string text = seconds_text(status.ledger_drift()) + " GPU-seconds";
  return is_zero(status.ledger_drift()) ? text : s.paint(Colour::kRed, text);
}

std::string version_text(const v1::Status& status) {
  const std::string text = "version " + std::to_string(status.fact_version());
  if (status.fact_version() >= status.newest_fact_version()) return text;
  return text + "; this subakd knows " + std::to_string(status.newest_fact_version()) +
         " (see subak admin finalize)";
}

// Prints the user name with which the service calls each cluster's API server. The policies in the
// cluster must name the same user.
void print_known_as(Session& s, const v1::Status& status) {
  for (const auto& c : status.clusters()) {
    if (c.known_as().empty()) continue;
    const bool usual = c.known_as() == AdmissionConfig().own_user;
    line(s, "follows",
         c.name() + " as " + c.known_as() +
             (usual ? "" : " (the manifests must name this user: subak install --as)"));
  }
}

Table cluster_table(const v1::Status& status) {
  Table table({{"CLUSTER", Align::kLeft, Room::kElastic},
               {"MODE"},
               {"SYNC"},
               {"PRODUCT", Align::kLeft, Room::kElastic},
               {"GPU\nNODES", Align::kRight},
               {"GPUS", Align::kRight},
               {"IN USE", Align::kRight},
               {"IDLE", Align::kRight},
               {"STRANDED", Align::kRight},
               {"UNUSABLE", Align::kRight}});
  for (const auto& c : status.clusters()) {
    const std::string sync = c.owned() ? "imported" : c.synced() ? "synced" : "listing";
    if (c.products().empty())
      table.row({c.name(), word(c.mode()), sync, "-", "0", "0", "0", "0", "0", "0"});
    for (const auto& p : c.products()) {
      table.row({c.name(), word(c.mode()), sync, p.product(), std::to_string(p.nodes()),
                 gpus_text(p.installed_milligpu()),
                 in_use_text(p.allocated_milligpu(), p.overcommitted_milligpu()),
                 gpus_text(p.idle_milligpu()), gpus_text(p.stranded_milligpu()),
                 gpus_text(p.unusable_milligpu())});
    }
  }
  return table;
}

// Prints this line only if several replicas share a store.
void print_lead(Session& s, const v1::Status& status) {
  if (status.epoch() == 0) return;
  const std::string who = status.leader_name().empty() ? "nobody" : status.leader_name();
  const std::string where = status.leader_address().empty() ? "" : " at " + status.leader_address();
  line(s, "leader", who + where + ", epoch " + std::to_string(status.epoch()));
  if (status.leader()) return;
  line(s, "as of", age_text(to_ms(status.picture_age())) + " ago");
}

void print_process(Session& s, const v1::Status& status) {
  const bool serving = status.state() == "serving";
  line(s, "subakd", status.version() + ", up since " + time_text(status.start_time()));
  s.out() << "state:          "
          << s.paint(serving ? Colour::kGreen : Colour::kYellow, printable(status.state()))
          << (status.leader() ? ", leader" : ", not the leader") << '\n';
  print_lead(s, status);
  if (!status.clock_believed()) {
    const std::int64_t ms = to_ms(status.clock_offset());
    s.out() << "clock:          "
            << s.paint(Colour::kRed, "not believed: it is " + age_text(ms < 0 ? -ms : ms) +
                                         (ms < 0 ? " behind" : " ahead") +
                                         " (see subak admin accept-clock)")
            << '\n';
  }
}

void print_commits(Session& s, const v1::Status& status) {
  line(s, "store", status.store());
  line(s, "commits",
       "fact " + std::to_string(status.durable_sequence()) + " durable, reads at " +
           std::to_string(status.follower_sequence()) + ", last commit " +
           millis_text(status.last_commit()));
  line(s, "facts", version_text(status));
}

void print_status(Session& s, const v1::Status& status) {
  const bool is_past = status.state().empty();  // the service describes no process of that time
  if (!is_past) print_process(s, status);
  line(s, "order", status.order() + ", half-life " + age_text(to_ms(status.half_life())));
  if (!is_past) print_commits(s, status);
  line(s, "jobs",
       std::to_string(status.jobs_queued()) + " queued, " +
           std::to_string(status.jobs_incomplete()) + " incomplete, " +
           std::to_string(status.jobs_paused()) + " paused, " +
           std::to_string(status.jobs_starting()) + " starting, " +
           std::to_string(status.jobs_running()) + " running, " +
           std::to_string(status.jobs_ending()) + " ending");
  if (!is_past) {
    line(s, "last pass",
         millis_text(status.last_pass()) + ", " + std::to_string(status.mailbox_depth()) +
             " inputs waiting");
  }
  line(s, "ledger", std::to_string(status.ledger_rows()) + " rows");
  if (!is_past) s.out() << "drift:          " << drift_text(s, status) << '\n';
  line(s, "residual", seconds_text(status.bill_residual()) + " GPU-seconds");
  print_known_as(s, status);
  for (const std::string& warning : status.warnings()) line(s, "warning", printable(warning));
  s.out() << '\n';
  if (status.clusters().empty()) {
    s.out() << "no cluster yet: cluster import -f nodes.json creates one\n";
    return;
  }
  cluster_table(status).print(s.out(), s.form() == Form::kWide);
}

}  // namespace

void add_status(Command root) {
  struct StatusCommand {
    WatchOptions watch;
    MomentOptions at;
  };
  auto o = std::make_shared<StatusCommand>();
  Command c = root.add("status", "state of the service: store, clusters, jobs, ledger");
  add_at(c, o->at);
  add_watch(c, o->watch);
  c.run([o](Session& s) {
    return draw_at(s, o->at, o->watch, [&s] {
      const auto status = s.call<v1::Status>("AdminService/GetStatus", v1::GetStatusRequest());
      if (s.is_csv()) {
        cluster_table(status).print_csv(s.out());
        return;
      }
      s.show_text(status, [&] { print_status(s, status); });
    });
  });
}

void add_version(Command root) {
  root.add("version", "version of this program").run([](Session& s) {
    s.out() << "subak " << SUBAK_VERSION << '\n';
    return 0;
  });
}

}  // namespace subak::cli
