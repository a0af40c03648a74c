#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include "placement/fleet/views.h"
#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

// The nodes of a cluster that have series of their own.
constexpr std::size_t kMostNodesShown = 100;

using Counts = std::map<std::tuple<std::string, std::string, std::string>, std::int64_t>;

void write_domains(Families& out, const Engine& engine, const std::vector<ClusterId>& clusters) {
  Counts counts;
  for (const ClusterId cluster : clusters) {
    const std::string name = engine.cluster_name(cluster);
    for (const DomainRow& d : domain_rows(engine.fleet(), cluster)) {
      const char* state = d.free == d.installed ? "free" : d.free > 0 ? "partly" : "full";
      ++counts[{name, d.kind, state}];
    }
  }
  out.gauge("subak_domains", "NVLink domains, by state: free, partly, full.");
  for (const auto& [key, count] : counts) {
    const auto& [cluster, kind, state] = key;
    out.sample({{"cluster", cluster}, {"kind", kind}, {"state", state}}, count);
  }
}

void write_slices(Families& out, const Engine& engine, const std::vector<ClusterId>& clusters) {
  Counts counts;
  for (const ClusterId cluster : clusters) {
    const std::string name = engine.cluster_name(cluster);
    for (const MigRow& row : mig_rows(engine.fleet(), cluster)) {
      counts[{name, row.profile, "used"}] += row.used;
      counts[{name, row.profile, "free"}] += row.configured - row.used;
    }
  }
  out.gauge("subak_mig_slices", "Configured MIG slices.");
  for (const auto& [key, count] : counts) {
    const auto& [cluster, profile, state] = key;
    out.sample({{"cluster", cluster}, {"profile", profile}, {"state", state}}, count);
  }
}

void write_contradictions(Families& out, const Engine& engine,
                          const std::vector<ClusterId>& clusters) {
  out.gauge("subak_contradicting_nodes",
            "Nodes whose labels and GPU counts contradict each other. Subak places no new "
            "pods there.");
  for (const ClusterId cluster : clusters) {
    const std::vector<NodeId> nodes = engine.fleet().nodes(cluster);
    const auto count = std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) {
      return engine.fleet().node(id)->contradicts;
    });
    out.sample({{"cluster", engine.cluster_name(cluster)}}, count);
  }
}

// Writes one series for each node that rejected pods: usually none, and a bounded number.
void write_rejections(Families& out, const Engine& engine,
                      const std::vector<Survey::OfCluster>& clusters) {
  out.gauge("subak_node_rejections",
            "Pods that the kubelet of each node rejected in the last hour, at most 100 nodes of a "
            "cluster.");
  for (const Survey::OfCluster& c : clusters) {
    std::size_t shown = 0;
    for (const auto& [id, rejections] : c.rejections) {
      const NodeSpec* const node = engine.fleet().node(id);
      if (node == nullptr || ++shown > kMostNodesShown) continue;
      out.sample({{"cluster", engine.cluster_name(c.id)}, {"node", node->name}}, rejections);
    }
  }
}

void write_unfit(Families& out, const Engine& engine, const std::vector<ClusterId>& clusters) {
  out.gauge("subak_rejecting_nodes",
            "Nodes that are unfit because their kubelet rejected too many pods within an hour.");
  for (const ClusterId cluster : clusters) {
    const std::vector<NodeId> nodes = engine.fleet().nodes(cluster);
    const auto count = std::count_if(nodes.begin(), nodes.end(),
                                     [&](NodeId id) { return engine.fleet().node(id)->rejects; });
    out.sample({{"cluster", engine.cluster_name(cluster)}}, count);
  }
}

// Writes one series for each node with a clock error: usually none, and a bounded number.
void write_node_clocks(Families& out, const Engine& engine,
                       const std::vector<ClusterId>& clusters) {
  out.gauge("subak_node_clock_offset_seconds",
            "Clock offset of each node whose clock is off by five seconds or more, at most "
            "100 nodes of a cluster. Positive: the clock is behind.");
  std::map<std::string, std::size_t> off;
  for (const ClusterId cluster : clusters) {
    const std::string name = engine.cluster_name(cluster);
    std::size_t& count = off[name];
    for (const NodeId id : engine.fleet().nodes(cluster)) {
      const NodeSpec* const node = engine.fleet().node(id);
      if (node == nullptr || node->clock_behind_ms == 0) continue;
      if (++count > kMostNodesShown) continue;
      out.sample({{"cluster", name}, {"node", node->name}},
                 static_cast<double>(node->clock_behind_ms) / kSecondMs);
    }
  }
  out.gauge("subak_nodes_clock_off", "Nodes whose clock is off by five seconds or more.");
  for (const auto& [cluster, count] : off) out.sample({{"cluster", cluster}}, count);
}

void write_non_gpu_use(Families& out, const Engine& engine,
                       const std::vector<Survey::OfCluster>& clusters) {
  const auto gauge = [&](const char* name, const char* help, auto&& value) {
    out.gauge(name, help);
    for (const Survey::OfCluster& c : clusters) {
      out.sample({{"cluster", engine.cluster_name(c.id)}}, value(c.non_gpu));
    }
  };
  gauge("subak_nongpu_pods", "Pods without GPUs on nodes with GPUs.",
        [](const NonGpuUse& l) { return l.pods; });
  gauge("subak_nongpu_cpu_cores", "CPU cores that the pods without GPUs on these nodes ask for.",
        [](const NonGpuUse& l) { return static_cast<double>(l.cpu_milli) / 1000; });
  gauge("subak_nongpu_memory_bytes", "Memory that the pods without GPUs on these nodes ask for.",
        [](const NonGpuUse& l) { return l.memory_bytes; });
  gauge("subak_nongpu_broken_nodes",
        "Nodes on which free GPUs lack CPU or memory because of pods without GPUs.",
        [](const NonGpuUse& l) { return l.broken_nodes; });
  gauge("subak_nongpu_broken_domains",
        "NVLink domains with a node on which free GPUs lack CPU or memory.",
        [](const NonGpuUse& l) { return l.broken_domains; });
  gauge("subak_nongpu_broken_free_gpus",
        "Free and partly free GPUs that lack CPU or memory because of pods without "
        "GPUs.",
        [](const NonGpuUse& l) { return l.broken_free_gpus; });
}

void write_survey(Families& out, const Engine& engine, const Survey& survey) {
  out.gauge("subak_foreign_milligpu", "GPUs held by pods that were bound without Subak.");
  std::vector<Survey::OfCluster> live;  // the figures may be older than a cluster's removal
  std::copy_if(survey.clusters.begin(), survey.clusters.end(), std::back_inserter(live),
               [&](const auto& c) { return !engine.cluster_name(c.id).empty(); });
  for (const Survey::OfCluster& c : live) {
    out.sample({{"cluster", engine.cluster_name(c.id)}}, c.foreign);
  }
  out.gauge("subak_fragmentation_ratio",
            "Part of the free GPUs that the usual pods of the cluster cannot use.");
  for (const Survey::OfCluster& c : live) {
    out.sample({{"cluster", engine.cluster_name(c.id)}}, c.fragmentation);
  }
  out.gauge("subak_kept_idle_milligpu", "Free GPUs on nodes that are reserved for jobs.");
  for (const Survey::OfCluster& c : live) {
    out.sample({{"cluster", engine.cluster_name(c.id)}}, c.reserved_idle);
  }
  out.gauge("subak_left_to_gangs_milligpu",
            "Free GPUs on empty NVLink domains that keepWhole leaves to gangs.");
  for (const Survey::OfCluster& c : live) {
    out.sample({{"cluster", engine.cluster_name(c.id)}}, c.reserved_domains_idle);
  }
  write_non_gpu_use(out, engine, live);
}

// Writes the figures of the newest forecast. The figures may be older than the policy.
void write_pools(Families& out, const Engine& engine, const Survey& survey) {
  out.gauge("subak_pool_nodes",
            "Nodes of a node pool. present: nodes that exist. starting: those of them that are new "
            "and take no pods yet. wanted: nodes more that the pool should have. min and max: the "
            "bounds of the pool.");
  for (const Growth::Pool& pool : survey.pools) {
    const std::string cluster = engine.cluster_name(pool.cluster);
    const auto sample = [&](const char* state, std::uint32_t nodes) {
      out.sample({{"cluster", cluster}, {"pool", pool.name}, {"state", state}}, nodes);
    };
    sample("present", pool.present);
    sample("starting", pool.starting);
    sample("wanted", pool.wanted);
    sample("min", pool.least);
    sample("max", pool.most);
  }
}

void write_reasons(Families& out, const Survey& survey) {
  out.gauge("subak_queue_head_waits",
            "How many of the queue's first 10 jobs wait for this reason. A job may have "
            "several reasons.");
  for (std::size_t i = 0; i < EnumText<ReasonToken>::names.size(); ++i) {
    const auto reason = static_cast<ReasonToken>(i);
    const auto at = survey.reasons.find(reason);
    out.sample({{"reason", enum_name(reason)}}, at == survey.reasons.end() ? 0 : at->second);
  }
}

void write_claims(Families& out, const Survey& survey, TimeMs now) {
  out.gauge("subak_claims",
            "Claims that exist now: jobs that wait for GPUs which other jobs must give "
            "back.");
  out.sample({}, survey.claims);
  out.gauge("subak_claim_late_seconds",
            "Time since the victims of a claim should have ended. 0: no claim is late.");
  const DurationMs late_ms = survey.claim_due_ms == 0 ? 0 : now - survey.claim_due_ms;
  out.sample({}, static_cast<double>(std::max<DurationMs>(0, late_ms)) / kSecondMs);
}

}  // namespace

void write_fleet(Families& out, const Engine& engine, const Survey& survey, TimeMs now) {
  std::vector<ClusterId> clusters;
  const std::shared_ptr<const View> view = engine.view();
  for (const ClusterView& cluster : *view->clusters) clusters.push_back(cluster.id);
  write_domains(out, engine, clusters);
  write_slices(out, engine, clusters);
  write_contradictions(out, engine, clusters);
  write_node_clocks(out, engine, clusters);
  write_unfit(out, engine, clusters);
  write_rejections(out, engine, survey.clusters);
  write_survey(out, engine, survey);
  write_pools(out, engine, survey);
  write_reasons(out, survey);
  write_claims(out, survey, now);
  out.gauge("subak_bill_residual_gpu_seconds",
            "How much the allocated GPU time of each node differs from its GPU time in the ledger, "
            "summed over all nodes. Must be 0.");
  const GpuTime residual = residual_of(engine.bill(now));
  out.sample({},
             static_cast<double>(residual.raw()) / static_cast<double>(GpuTime::kRawPerGpuSecond));
}

}  // namespace subak::metrics
