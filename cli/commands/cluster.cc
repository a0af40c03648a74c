// subak cluster list, nodes, domains, pools, mig: the nodes and topology that the service knows.
#include <algorithm>
#include <sstream>

#include "cli/commands.h"
#include "cli/commands/cluster_parts.h"
#include "cli/text/words.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

struct PageCommand {
  std::string cluster;
  MomentOptions at;
  WatchOptions watch;
};

// Whether a list can show an earlier moment.
enum class Shows { kPresent, kAnyMoment };

std::string exceptions_text(const v1::Cluster& c) {
  std::string text;
  for (const auto& n : c.namespaces())
    text += (text.empty() ? "" : ",") + n.namespace_() + "=" + word(n.mode());
  return text;
}

Table cluster_table(const v1::ListClustersResponse& answer) {
  Table table({{"CLUSTER", Align::kLeft, Room::kElastic},
               {"ID", Align::kRight},
               {"MODE"},
               {"SYNC"},
               {"GPU\nNODES", Align::kRight},
               {"GPUS", Align::kRight},
               {"IN USE", Align::kRight},
               {"IDLE", Align::kRight},
               {"STRANDED", Align::kRight},
               {"UNUSABLE", Align::kRight},
               {"EXCEPTIONS", Align::kLeft, Room::kElastic}});
  for (const v1::Cluster& c : answer.clusters()) {
    v1::ProductTotals sum;
    for (const auto& p : c.products()) {
      sum.set_nodes(sum.nodes() + p.nodes());
      sum.set_installed_milligpu(sum.installed_milligpu() + p.installed_milligpu());
      sum.set_allocated_milligpu(sum.allocated_milligpu() + p.allocated_milligpu());
      sum.set_idle_milligpu(sum.idle_milligpu() + p.idle_milligpu());
      sum.set_stranded_milligpu(sum.stranded_milligpu() + p.stranded_milligpu());
      sum.set_unusable_milligpu(sum.unusable_milligpu() + p.unusable_milligpu());
      sum.set_overcommitted_milligpu(sum.overcommitted_milligpu() + p.overcommitted_milligpu());
    }
    table.row({c.name(), std::to_string(c.id()), word(c.mode()),
               c.owned()    ? "imported"
               : c.synced() ? "synced"
                            : "listing",
               std::to_string(sum.nodes()), gpus_text(sum.installed_milligpu()),
               in_use_text(sum.allocated_milligpu(), sum.overcommitted_milligpu()),
               gpus_text(sum.idle_milligpu()), gpus_text(sum.stranded_milligpu()),
               gpus_text(sum.unusable_milligpu()), exceptions_text(c)});
  }
  return table;
}

void add_list(Command cluster) {
  auto o = std::make_shared<WatchOptions>();
  Command c = cluster.add("list", "clusters with their mode and totals");
  add_watch(c, *o);
  c.run([o](Session& s) {
    return repeat(s, o->seconds(), [&] {
      const auto answer = s.call<v1::ListClustersResponse>("ClusterService/ListClusters",
                                                           v1::ListClustersRequest());
      s.show(answer, [&] { return cluster_table(answer); });
    });
  });
}

// Returns "11-28 06:00" in local time: the column of conditions is narrow. JSON has the complete
// time.
std::string day_and_hour(const Timestamp& time) { return time_cell(time).text.substr(5, 11); }

// Returns "drained,not ready"; "drain 11-28 06:00" for a planned drain; "" for a node that takes
// jobs.
std::string condition_text(const v1::Node& n) {
  std::string text;
  const auto add = [&text](bool is, const std::string& what) {
    if (is) text += (text.empty() ? "" : ",") + what;
  };
  add(n.drained(), "drained");
  if (n.has_drain_from()) add(true, "drain " + day_and_hour(n.drain_from()));
  if (n.has_drain_until()) add(true, "until " + day_and_hour(n.drain_until()));
  add(n.spec().unschedulable(), "cordoned");
  add(n.spec().not_ready(), "not ready");
  add(!n.spec().unfit().empty(), printable(n.spec().unfit()));
  add(n.spec().unhealthy_gpus() > 0, std::to_string(n.spec().unhealthy_gpus()) + " unhealthy");
  add(n.overcommitted_milligpu() > 0, gpus_text(n.overcommitted_milligpu()) + " overcommitted");
  const std::int64_t behind_s = n.spec().clock_behind_ms() / kSecondMs;
  add(behind_s != 0,
      "clock " + std::to_string(std::abs(behind_s)) + "s " + (behind_s > 0 ? "behind" : "ahead"));
  return text;
}

std::string kind_text(const v1::NodeSpec& n) {
  std::string text;
  if (n.replicas() > 1) text = "shared x" + std::to_string(n.replicas());
  for (const auto& m : n.mig()) {
    text += (text.empty() ? "" : " ") + m.profile() + "=" + std::to_string(m.count());
  }
  return text;
}

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

Table node_table(const v1::ListNodesResponse& answer) {
  Table table({{"NODE", Align::kLeft, Room::kElastic},
               {"PRODUCT", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"IN USE", Align::kRight},
               {"IDLE", Align::kRight},
               {"UNUSABLE", Align::kRight},
               {"SHARING", Align::kLeft, Room::kElastic},
               {"DOMAIN", Align::kLeft, Room::kElastic},
               {"CONDITION", Align::kLeft, Room::kElastic},
               {"STANDS IN", Align::kLeft, Room::kWide},
               {"CPUS", Align::kRight, Room::kWide},
               {"MEMORY GIB", Align::kRight, Room::kWide},
               {"TAINTS", Align::kLeft, Room::kWide},
               {"CLUSTER", Align::kLeft, Room::kWide},
               {"ID", Align::kRight, Room::kWide},
               {"FABRIC", Align::kLeft, Room::kWide},
               {"NUMA GPUS", Align::kRight, Room::kWide}});
  for (const v1::Node& n : answer.nodes()) {
    std::string taints;
    for (const auto& t : n.spec().taints())
      taints += (taints.empty() ? "" : " ") + t.key() + ":" + t.effect();
    table.row({n.spec().name(), n.spec().product().empty() ? "-" : n.spec().product(),
               gpus_text(n.installed_milligpu()), gpus_text(n.allocated_milligpu()),
               gpus_text(n.idle_milligpu()),
               gpus_text(n.stranded_milligpu() + n.unusable_milligpu()), kind_text(n.spec()),
               n.spec().clique(), condition_text(n), joined(n.spec().levels()),
               fixed_text(static_cast<double>(n.spec().cpu_milli()) / 1000, 1),
               fixed_text(static_cast<double>(n.spec().memory_bytes()) / (1 << 30), 0), taints,
               n.cluster(), std::to_string(n.id()), printable(n.spec().fabric()),
               n.spec().numa_gpus() > 0 ? std::to_string(n.spec().numa_gpus()) : "-"});
  }
  return table;
}

// Prints a text of several lines for people.
void say_lines(Session& s, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) s.say(line);
}

// Prints the reasons why nodes take no new pods. They are too long for a cell of the table.
void say_contradictions(Session& s, const v1::ListNodesResponse& answer) {
  for (const v1::Node& n : answer.nodes()) {
    if (!n.spec().contradicts()) continue;
    s.say(printable(n.spec().name()) + " takes no new pods:");
    std::string_view rest = n.spec().unfit();
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(", "));
      rest.remove_prefix(std::min(rest.size(), one.size() + 2));
      say_lines(s, "  " + wrapped(printable(one), 2, "  "));
    }
  }
}

Table domain_table(const v1::ListDomainsResponse& answer) {
  Table table({{"KIND"},
               {"DOMAIN", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"FREE", Align::kRight},
               {"COMPUTE DOMAINS", Align::kLeft, Room::kElastic},
               {"NODES", Align::kLeft, Room::kElastic}});
  for (const v1::Domain& d : answer.domains()) {
    std::string inside;
    for (const v1::ComputeDomain& one : d.compute_domains())
      inside += (inside.empty() ? "" : ", ") + one.name() + " " + one.state();
    table.row({d.kind(), d.name(), gpus_text(d.installed_milligpu()), gpus_text(d.free_milligpu()),
               inside.empty() ? "-" : inside, joined(d.nodes())});
  }
  return table;
}

Table pool_table(const v1::ListNodePoolsResponse& answer) {
  Table table({{"POOL", Align::kLeft, Room::kElastic},
               {"LABEL", Align::kLeft, Room::kElastic},
               {"PRODUCT", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"MIN", Align::kRight},
               {"MAX", Align::kRight},
               {"NODES", Align::kRight},
               {"STARTING", Align::kRight},
               {"WANTED", Align::kRight},
               {"FOR", Align::kLeft, Room::kElastic}});
  for (const v1::NodePool& p : answer.pools()) {
    table.row({p.name(), p.label().key() + "=" + p.label().value(), p.product(),
               std::to_string(p.gpus()), std::to_string(p.min()), std::to_string(p.max()),
               std::to_string(p.present()), std::to_string(p.starting()),
               std::to_string(p.wanted()), p.jobs().empty() ? "-" : joined(p.jobs())});
  }
  return table;
}

Table mig_table(const v1::ListMigSlicesResponse& answer) {
  Table table({{"NODE", Align::kLeft, Room::kElastic},
               {"PROFILE"},
               {"SLICES", Align::kRight},
               {"USED", Align::kRight},
               {"FREE", Align::kRight}});
  for (const v1::MigRow& r : answer.rows()) {
    table.row({r.node(), r.profile(), std::to_string(r.configured()), std::to_string(r.used()),
               std::to_string(r.free())});
  }
  return table;
}

std::string advice_text(const v1::MigAdvice& advice) {
  std::string served;
  const auto add = [&served](std::int64_t count, const std::string& what) {
    if (count > 0) served += (served.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  for (const auto& slices : advice.slices()) add(slices.count(), "of " + slices.profile());
  add(advice.gpus(), advice.gpus() == 1 ? "whole GPU" : "whole GPUs");
  return "advice: nvidia.com/mig.config=" + advice.config() + " on " + joined(advice.nodes()) +
         " would serve more of the waiting jobs: " + served + " (" +
         gpus_text(advice.gain_milligpu()) + " GPUs)";
}

// Prints the totals by profile, and the advice.
void say_mig_plan(Session& s, const v1::ListMigSlicesResponse& answer) {
  if (answer.profiles().empty()) return;
  Table table({{"PROFILE"},
               {"SLICES", Align::kRight},
               {"USED", Align::kRight},
               {"FREE", Align::kRight},
               {"WAITING", Align::kRight},
               {"COULD BE", Align::kRight}});
  for (const v1::MigProfile& p : answer.profiles()) {
    table.row({p.profile(), std::to_string(p.configured()), std::to_string(p.used()),
               std::to_string(p.free()), std::to_string(p.waiting()),
               std::to_string(p.possible())});
  }
  std::ostringstream text;
  table.print(text, false);
  s.say("");
  say_lines(s, text.str());
  if (!answer.has_advice()) return;
  s.say("");
  say_lines(s, wrapped(printable(advice_text(answer.advice())), 0, "  "));
}

// Adds a command that lists the nodes, domains or MIG slices of a cluster. `after` prints more
// below the table. With kAnyMoment, the command has the option --at.
template <class Request, class Answer, class Rows>
void add_pages(Command cluster, const std::string& name, const std::string& help,
               const std::string& method, Rows rows, Table (*table)(const Answer&),
               void (*after)(Session&, const Answer&) = nullptr, Shows shows = Shows::kPresent) {
  auto o = std::make_shared<PageCommand>();
  Command c = cluster.add(name, help);
  c.option("--cluster", o->cluster, "name of the cluster; needed if there are several clusters",
           "NAME");
  if (shows == Shows::kAnyMoment) add_at(c, o->at);
  add_watch(c, o->watch);
  c.run([o, method, rows, table, after](Session& s) {
    return draw_at(s, o->at, o->watch, [&] {
      Request request;
      request.set_cluster(o->cluster);
      const auto answer = all_pages<Answer>(s, method, request, 0, rows);
      s.show(answer, [&] { return table(answer); });
      if (after != nullptr) after(s, answer);
    });
  });
}

void add_pools(Command cluster) {
  auto o = std::make_shared<PageCommand>();
  Command c = cluster.add("pools", "node pools, and how many nodes more each should have");
  c.option("--cluster", o->cluster, "name of the cluster; needed if there are several clusters",
           "NAME");
  add_watch(c, o->watch);
  c.run([o](Session& s) {
    return repeat(s, o->watch.seconds(), [&] {
      v1::ListNodePoolsRequest request;
      request.set_cluster(o->cluster);
      const auto answer =
          s.call<v1::ListNodePoolsResponse>("ClusterService/ListNodePools", request);
      s.show(answer, [&] { return pool_table(answer); });
    });
  });
}

}  // namespace

void add_cluster(Command root) {
  Command cluster = root.add("cluster", "clusters and their nodes");
  add_list(cluster);
  add_cluster_edits(cluster);
  add_pages<v1::ListNodesRequest, v1::ListNodesResponse>(
      cluster, "nodes", "nodes with their GPUs, and how many GPUs are in use",
      "ClusterService/ListNodes", [](auto& a) { return a.mutable_nodes(); }, node_table,
      say_contradictions, Shows::kAnyMoment);
  add_cluster_map(cluster);
  add_pages<v1::ListDomainsRequest, v1::ListDomainsResponse>(
      cluster, "domains", "NVLink domains and their GPUs", "ClusterService/ListDomains",
      [](auto& a) { return a.mutable_domains(); }, domain_table);
  add_pools(cluster);
  add_pages<v1::ListMigSlicesRequest, v1::ListMigSlicesResponse>(
      cluster, "mig", "MIG slices by node and profile, and advice", "ClusterService/ListMigSlices",
      [](auto& a) { return a.mutable_rows(); }, mig_table, say_mig_plan);
}

}  // namespace subak::cli
