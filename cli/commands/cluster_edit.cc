// subak cluster import, mode, delete, drain, undrain.
#include "cli/commands.h"
#include "cli/commands/cluster_parts.h"
#include "cli/commands/import_diff.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/words.h"
#include "core/limits.h"
#include "kube/node/node.h"
#include "sim/read/trace.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

struct ImportCommand {
  std::string cluster, file, fleet, rack_label;
  KubeNodeOptions nodes;
  EditOptions edit;
  bool dry_run = false;
};

void put(const NodeSpec& n, v1::NodeSpec* out) {
  out->set_name(n.name);
  out->set_product(n.product);
  out->set_gpus(n.gpus);
  out->set_unhealthy_gpus(n.unhealthy_gpus);
  out->set_replicas(n.replicas);
  out->set_mig_gpus(n.mig_gpus);
  for (const MigSlices& m : n.mig) {
    auto* slices = out->add_mig();
    slices->set_profile(m.profile);
    slices->set_count(m.count);
  }
  out->set_clique(n.clique);
  out->set_rack(n.level(0));
  for (const std::string& name : n.levels) out->add_levels(name);
  out->set_gpus_per_domain(n.gpus_per_domain);
  out->set_cpu_milli(n.cpu_milli);
  out->set_memory_bytes(n.memory_bytes);
  out->set_pod_slots(n.pod_slots);
  for (const ResourceCount& r : n.extended) {
    auto* resource = out->add_extended();
    resource->set_name(r.name);
    resource->set_count(r.count);
  }
  for (const Label& l : n.labels) {
    auto* label = out->add_labels();
    label->set_key(l.key);
    label->set_value(l.value);
  }
  for (const Taint& t : n.taints) {
    auto* taint = out->add_taints();
    taint->set_key(t.key);
    taint->set_value(t.value);
    taint->set_effect(t.effect);
  }
  out->set_not_ready(!n.ready);
  out->set_unschedulable(n.unschedulable);
  out->set_unfit(n.unfit);
  out->set_fabric(n.fabric);
  out->set_numa_gpus(n.numa_gpus);
  out->set_numa_cpu_milli(n.numa_cpu_milli);
  out->set_one_replica(n.one_replica);
  out->set_contradicts(n.contradicts);
  out->set_gpus_unknown(n.gpus_unknown);
  if (n.not_ready_since_ms > 0)
    *out->mutable_not_ready_since() = to_timestamp(n.not_ready_since_ms);
}

std::vector<NodeSpec> read_fleet(const ImportCommand& o) {
  if (o.file.empty() == o.fleet.empty()) {
    throw usage_failure("which fleet? want -f or --nodes",
                        "kubectl get nodes -o json | subak cluster import -f -");
  }
  const bool table = !o.fleet.empty() && !o.fleet.ends_with(".json");
  if (table) {
    auto nodes = sim::read_nodes(o.fleet);
    if (nodes.ok()) return std::move(nodes).value();
    throw usage_failure("--nodes: was \"" + o.fleet + "\", want " + nodes.error().want,
                        "a CSV has the columns node,gpus,gpu_type,cpus,memory_mib");
  }
  const std::string& file = o.file.empty() ? o.fleet : o.file;
  KubeNodeOptions options = o.nodes;
  if (!o.rack_label.empty()) {
    if (!options.topology_labels.empty()) {
      throw usage_failure("--rack-label: want this or --topology-labels, not both",
                          "put the rack's label first in --topology-labels");
    }
    options.topology_labels = {o.rack_label};
  }
  if (options.topology_labels.size() > limits::kTopologyLevels) {
    throw usage_failure("--topology-labels: were " +
                            std::to_string(options.topology_labels.size()) + ", want at most " +
                            std::to_string(limits::kTopologyLevels),
                        "nearest first: the rack's label, the block's");
  }
  auto nodes = read_kube_nodes(read_input(file), options);
  if (!nodes.ok()) {
    throw usage_failure(file + ": " + nodes.error().message(),
                        "make it with kubectl get nodes -o json");
  }
  if (nodes->empty())
    throw usage_failure(file + ": no nodes in it", "make it with kubectl get nodes -o json");
  return std::move(nodes).value();
}

int import(Session& s, const ImportCommand& o) {
  v1::ImportNodesRequest request;
  request.set_cluster(o.cluster);
  request.set_reason(o.edit.reason);
  request.set_request_id(o.edit.request_id);
  request.set_validate_only(o.dry_run);
  std::int64_t gpus = 0;
  std::vector<std::string> warnings;
  for (const NodeSpec& node : read_fleet(o)) {
    put(node, request.add_nodes());
    gpus += node.gpus;
    if (node.contradicts) {
      warnings.push_back("node " + node.name + " takes no new pods: " + node.unfit);
    }
  }
  const ImportDiff diff = import_diff(s, request);
  const auto answer = s.call<v1::ImportNodesResponse>("ClusterService/ImportNodes", request);
  s.show_text(answer, [&] {
    if (!answer.repeated_request()) print_import_diff(s, diff);
    s.out() << (o.dry_run                   ? "would import "
                : answer.repeated_request() ? "imported before: "
                                            : "imported ")
            << request.nodes_size() << (request.nodes_size() == 1 ? " node" : " nodes") << " with "
            << gpus << " GPUs";
    if (!answer.repeated_request()) s.out() << ": " << printable(diff.summary());
    s.out() << '\n';
  });
  s.warn(warnings);
  s.warn(answer.warnings());
  return kExitDone;
}

void add_import(Command cluster) {
  auto o = std::make_shared<ImportCommand>();
  o->edit.reason = "cluster import";
  Command c = cluster.add("import", "replace the nodes of a cluster that Subak does not watch");
  c.option("--cluster", o->cluster,
           "cluster to import into; created in mode observe if it does not exist", "NAME");
  c.option("-f,--file", o->file, "output of kubectl get nodes -o json; - is standard input",
           "nodes.json");
  c.option("--nodes", o->fleet,
           "instead of -f: a CSV file with columns node,gpus,gpu_type,cpus,memory_mib, or a size "
           "such as 80x8:PRODUCT",
           "fleet.csv");
  c.option("--rack-label", o->rack_label, "node label that names the rack", "KEY");
  c.list_option(
      "--topology-labels", o->nodes.topology_labels,
      "node labels that name groups of nodes, such as rack and block, the smallest group first",
      "KEY,...");
  c.option("--rdma-fabric-label", o->nodes.labels.fabric,
           "node label that names the RDMA fabric of the node", "KEY");
  c.option("--numa-policy-label", o->nodes.labels.numa_policy,
           "node label with the kubelet's topologyManagerPolicy", "KEY");
  c.option("--numa-gpus-label", o->nodes.labels.numa_gpus,
           "node label with the number of GPUs of one NUMA node", "KEY");
  c.option("--numa-cpus-label", o->nodes.labels.numa_cpus,
           "node label with the number of CPUs of one NUMA node", "KEY");
  c.list_option(
      "--gpu-kinds", o->nodes.extra_gpus,
      "other resources that count as GPUs; name the same ones as in the service's configuration",
      "RESOURCE,...");
  c.list_option(
      "--fatal-conditions", o->nodes.fatal_conditions,
      "node conditions that, when True, stop new pods; they replace the built-in conditions",
      "TYPE,...");
  c.option("--reason", o->edit.reason, "why you do this; the audit log keeps it", "TEXT");
  add_request_id(c, o->edit);
  c.flag("--dry-run", o->dry_run, "check only");
  c.run([o](Session& s) { return import(s, *o); });
}

struct ModeCommand {
  std::string cluster, mode;
  std::vector<std::string> namespaces;
  EditOptions edit;
  bool create = false, dry_run = false;
};

// Reads "team-a=enforce". "team-a=default" removes the namespace's own mode.
void put_exception(const std::string& text, v1::UpdateClusterRequest& request) {
  const std::size_t cut = text.find('=');
  if (cut == std::string::npos || cut == 0) {
    throw usage_failure(
        "--namespace: was \"" + text + "\", want NAMESPACE=MODE",
        "MODE is observe, warn or enforce, or default to remove the namespace's own mode");
  }
  auto* exception = request.add_namespaces();
  exception->set_namespace_(text.substr(0, cut));
  const std::string mode = text.substr(cut + 1);
  exception->set_mode(mode == "default" ? v1::MODE_UNSPECIFIED : mode_of(mode));
}

v1::UpdateClusterResponse update(Session& s, const v1::UpdateClusterRequest& request) {
  try {
    return s.call<v1::UpdateClusterResponse>("ClusterService/UpdateCluster", request);
  } catch (const Failure& failure) {
    if (failure.exit_code != kExitNotFound) throw;
    throw Failure{failure.exit_code, failure.what,
                  "cluster list shows the clusters; --create creates a new one"};
  }
}

int set_mode(Session& s, const ModeCommand& o) {
  v1::UpdateClusterRequest request;
  request.set_name(o.cluster);
  if (!o.mode.empty()) request.set_mode(mode_of(o.mode));
  for (const std::string& text : o.namespaces) put_exception(text, request);
  request.set_reason(o.edit.reason);
  request.set_request_id(o.edit.request_id);
  request.set_validate_only(o.dry_run);
  request.set_allow_missing(o.create);
  const auto answer = update(s, request);
  s.show_text(answer, [&] {
    s.out() << "cluster " << printable(o.cluster) << (o.dry_run ? " would be in " : " is in ")
            << word(answer.cluster().mode()) << '\n';
    for (const auto& n : answer.cluster().namespaces()) {
      s.out() << "  namespace " << printable(n.namespace_()) << ": " << word(n.mode()) << '\n';
    }
  });
  s.warn(answer.warnings());
  return kExitDone;
}

void add_mode(Command cluster) {
  auto o = std::make_shared<ModeCommand>();
  Command c =
      cluster.add("mode", "set a cluster to observe, warn or enforce; enforce adopts running pods");
  c.argument("CLUSTER", o->cluster, "the name of the cluster");
  c.optional_argument("MODE", o->mode, "observe, warn or enforce");
  c.list_option("--namespace", o->namespaces,
                "modes of single namespaces; NAMESPACE=default removes a namespace's own mode",
                "NAMESPACE=MODE");
  c.flag("--create", o->create, "create the cluster if it does not exist");
  add_reason(c, o->edit);
  c.flag("--dry-run", o->dry_run, "check only");
  c.run([o](Session& s) { return set_mode(s, *o); });
}

struct DeleteCommand {
  std::string cluster;
  EditOptions edit;
  bool dry_run = false;
};

void add_delete(Command cluster) {
  auto o = std::make_shared<DeleteCommand>();
  Command c =
      cluster.add("delete", "remove a cluster and its nodes; the cluster must have no live jobs");
  c.argument("CLUSTER", o->cluster, "the name of the cluster");
  add_reason(c, o->edit);
  c.flag("--dry-run", o->dry_run, "check only");
  c.run([o](Session& s) {
    v1::DeleteClusterRequest request;
    request.set_name(o->cluster);
    request.set_reason(o->edit.reason);
    request.set_request_id(o->edit.request_id);
    request.set_validate_only(o->dry_run);
    const auto answer = s.call<v1::DeleteClusterResponse>("ClusterService/DeleteCluster", request);
    s.show_text(answer, [&] {
      s.out() << "cluster " << printable(o->cluster)
              << (o->dry_run ? " would be removed" : " is removed") << '\n';
    });
    s.warn(answer.warnings());
    return kExitDone;
  });
}

struct DrainCommand {
  std::vector<std::string> nodes;
  std::string cluster, from, until;
  EditOptions edit;
};

// Returns "n1 is drained from 2026-03-01 12:00 until 2026-03-01 16:00; ..."
std::string done_text(const v1::DrainNodeRequest& request) {
  const bool later = request.has_from() && to_ms(request.from()) > now_ms();
  std::string text = "node " + request.node();
  if (later) text += " is drained from " + time_cell(request.from()).text;
  if (later && request.has_until()) text += " until " + time_cell(request.until()).text;
  if (later) return text + "; until then only jobs that end before it may start there";
  text += " takes no new pods";
  if (request.has_until()) text += " until " + time_cell(request.until()).text;
  return text + "; running pods stay";
}

template <class Request>
Request request_of(const DrainCommand& o, const std::string& node) {
  const bool many = o.nodes.size() > 1 && !o.edit.request_id.empty();
  Request request;
  request.set_cluster(o.cluster);
  request.set_node(node);
  request.set_reason(o.edit.reason);
  request.set_request_id(many ? o.edit.request_id + "/" + node : o.edit.request_id);
  return request;
}

template <class Request>
void send(Session& s, const std::string& method, const Request& request, const std::string& done) {
  const auto answer = s.call<v1::DrainNodeResponse>(method, request);
  s.show_text(answer, [&] { s.out() << printable(done) << '\n'; });
  s.warn(answer.warnings());
}

void drain(Session& s, const DrainCommand& o) {
  const TimeMs now = now_ms();  // the same for all of them
  for (const std::string& node : o.nodes) {
    auto request = request_of<v1::DrainNodeRequest>(o, node);
    if (!o.from.empty()) *request.mutable_from() = instant_to_come(o.from, "--from", now);
    if (!o.until.empty()) *request.mutable_until() = instant_to_come(o.until, "--until", now);
    send(s, "ClusterService/DrainNode", request, done_text(request));
  }
}

void undrain(Session& s, const DrainCommand& o) {
  for (const std::string& node : o.nodes) {
    send(s, "ClusterService/UndrainNode", request_of<v1::UndrainNodeRequest>(o, node),
         "node " + node + " may be used again");
  }
}

void add_drains(Command cluster) {
  auto o = std::make_shared<DrainCommand>();
  Command begin = cluster.add("drain", "start no new pods on nodes; running pods stay");
  Command end = cluster.add("undrain", "use drained nodes again");
  for (Command c : {begin, end}) {
    c.arguments("NODE", o->nodes,
                "node names; the command stops at the first one that the service refuses");
    c.option("--cluster", o->cluster, "cluster of the nodes; needed if there are several clusters",
             "NAME");
  }
  begin.option("--from", o->from,
               "when the drain begins: a time, or a duration from now such as 4h. Until then, a "
               "job starts on the nodes only if it ends before the drain begins",
               "TIME");
  begin.option("--until", o->until,
               "when the drain ends by itself: a time, or a duration from now such as 4h", "TIME");
  for (Command c : {begin, end}) add_reason(c, o->edit);
  begin.run([o](Session& s) {
    drain(s, *o);
    return kExitDone;
  });
  end.run([o](Session& s) {
    undrain(s, *o);
    return kExitDone;
  });
}

}  // namespace

void add_cluster_edits(Command cluster) {
  add_import(cluster);
  add_mode(cluster);
  add_delete(cluster);
  add_drains(cluster);
}

}  // namespace subak::cli
