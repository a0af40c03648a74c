#include <algorithm>

#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

void get_lists(Check& check, const v1::NodeSpec& in, NodeSpec* out) {
  for (int i = 0; i < in.mig_size(); ++i) {
    const auto scope = check.in("mig", i);
    out->mig.push_back({check.name("profile", in.mig(i).profile(), true), in.mig(i).count()});
  }
  for (int i = 0; i < in.extended_size(); ++i) {
    const auto scope = check.in("extended", i);
    out->extended.push_back(
        {check.name("name", in.extended(i).name(), true), in.extended(i).count()});
  }
  for (int i = 0; i < in.labels_size(); ++i) {
    const auto scope = check.in("labels", i);
    const v1::Label& l = in.labels(i);
    out->labels.push_back(
        {check.key("key", l.key()), check.text("value", l.value(), limits::kMaxTextBytes)});
  }
  std::sort(out->labels.begin(), out->labels.end());
  for (int i = 0; i < in.taints_size(); ++i) {
    const auto scope = check.in("taints", i);
    const v1::Taint& t = in.taints(i);
    out->taints.push_back({check.key("key", t.key()),
                           check.text("value", t.value(), limits::kMaxTextBytes),
                           check.name("effect", t.effect(), true)});
  }
}

// `rack` alone is one level.
void get_levels(Check& check, const v1::NodeSpec& in, NodeSpec* out) {
  std::vector<std::string> names;
  for (int i = 0; i < in.levels_size(); ++i) {
    const auto scope = check.in("levels", i);
    names.push_back(check.name("", in.levels(i), false));
  }
  const std::string rack = check.name("rack", in.rack(), false);
  if (names.empty()) names.push_back(rack);
  if (!rack.empty() && names.front() != rack) {
    check.fail("rack", rack, "want the first of levels, or nothing");
  }
  out->set_levels(std::move(names));
}

}  // namespace

NodeSpec get(Check& check, const v1::NodeSpec& in) {
  NodeSpec out;
  out.name = check.name("name", in.name(), true);
  out.gpus = in.gpus();
  out.product = check.name("product", in.product(), false);
  out.unhealthy_gpus = check.number("unhealthy_gpus", in.unhealthy_gpus(), 0, out.gpus);
  out.replicas = in.replicas();
  out.mig_gpus = check.number("mig_gpus", in.mig_gpus(), 0, out.gpus);
  out.clique = check.name("clique", in.clique(), false);
  get_levels(check, in, &out);
  out.gpus_per_domain = in.gpus_per_domain();
  out.cpu_milli = in.cpu_milli();
  out.memory_bytes = in.memory_bytes();
  out.pod_slots = in.pod_slots();
  out.ready = !in.not_ready();
  out.unschedulable = in.unschedulable();
  out.unfit = in.unfit();
  out.contradicts = in.contradicts();
  out.gpus_unknown = in.gpus_unknown();
  out.clock_behind_ms = check.number("clock_behind_ms", in.clock_behind_ms(), -limits::kMaxTimeMs,
                                     limits::kMaxTimeMs);
  out.fabric = check.name("fabric", in.fabric(), false);
  out.numa_gpus = in.numa_gpus();
  out.numa_cpu_milli = in.numa_cpu_milli();
  out.one_replica = in.one_replica();
  if (in.has_not_ready_since()) {
    out.not_ready_since_ms = check.time("not_ready_since", in.not_ready_since());
  }
  get_lists(check, in, &out);
  check.take(bounds::check(out));
  if (out.gpus > 0 && out.product.empty()) check.fail("product", "", "is required with GPUs");
  return out;
}

void put(const NodeSpec& spec, v1::NodeSpec* out) {
  out->set_name(spec.name);
  out->set_product(spec.product);
  out->set_gpus(spec.gpus);
  out->set_unhealthy_gpus(spec.unhealthy_gpus);
  out->set_replicas(spec.replicas);
  out->set_mig_gpus(spec.mig_gpus);
  for (const MigSlices& slices : spec.mig) {
    auto* row = out->add_mig();
    row->set_profile(slices.profile);
    row->set_count(slices.count);
  }
  out->set_clique(spec.clique);
  out->set_rack(spec.level(0));
  for (const std::string& name : spec.levels) out->add_levels(name);
  out->set_gpus_per_domain(spec.gpus_per_domain);
  out->set_cpu_milli(spec.cpu_milli);
  out->set_memory_bytes(spec.memory_bytes);
  out->set_pod_slots(spec.pod_slots);
  for (const ResourceCount& r : spec.extended) {
    auto* row = out->add_extended();
    row->set_name(r.name);
    row->set_count(r.count);
  }
  for (const Label& l : spec.labels) {
    auto* row = out->add_labels();
    row->set_key(l.key);
    row->set_value(l.value);
  }
  for (const Taint& t : spec.taints) {
    auto* row = out->add_taints();
    row->set_key(t.key);
    row->set_value(t.value);
    row->set_effect(t.effect);
  }
  out->set_not_ready(!spec.ready);
  out->set_unschedulable(spec.unschedulable);
  out->set_unfit(spec.unfit);
  out->set_contradicts(spec.contradicts);
  out->set_gpus_unknown(spec.gpus_unknown);
  out->set_clock_behind_ms(spec.clock_behind_ms);
  out->set_fabric(spec.fabric);
  out->set_numa_gpus(spec.numa_gpus);
  out->set_numa_cpu_milli(spec.numa_cpu_milli);
  out->set_one_replica(spec.one_replica);
  if (spec.not_ready_since_ms != 0) put(spec.not_ready_since_ms, out->mutable_not_ready_since());
}

v1::Mode to_proto(Mode mode) { return static_cast<v1::Mode>(static_cast<int>(mode) + 1); }

void put(const ClusterView& cluster, v1::Cluster* out) {
  out->set_name(cluster.name);
  out->set_id(cluster.id.value);
  out->set_mode(to_proto(cluster.mode));
  for (const NamespaceMode& ns : cluster.namespaces) {
    auto* row = out->add_namespaces();
    row->set_namespace_(ns.ns);
    row->set_mode(to_proto(ns.mode));
  }
  for (const NamespaceLabel* label :
       cluster.labels ? cluster.labels->values() : std::vector<const NamespaceLabel*>()) {
    auto* row = out->add_namespace_labels();
    row->set_namespace_(label->ns);
    row->set_account(label->account);
  }
  out->set_synced(cluster.synced);
  out->set_owned(cluster.owned);
  out->set_known_as(cluster.known_as);
  for (const auto& [profile, count] : cluster.mig_slices) {
    auto* row = out->add_mig_slices();
    row->set_profile(profile);
    row->set_count(count);
  }
  out->set_largest_node_cpu_milli(cluster.largest_node.cpu_milli);
  out->set_largest_node_memory_bytes(cluster.largest_node.memory_bytes);
  for (const auto& [name, count] : cluster.largest_node.extended) {
    auto* row = out->add_largest_node_extended();
    row->set_name(name);
    row->set_count(count);
  }
  out->set_more_extended(cluster.largest_node.more);
  out->set_largest_container_cpu_milli(cluster.largest_node.container_cpu_milli);
  for (const MigSlices& slices : cluster.largest_node.mig) {
    auto* row = out->add_largest_node_mig();
    row->set_profile(slices.profile);
    row->set_count(slices.count);
  }
  for (const NodesToCome& nodes : cluster.largest_node.to_come) {
    auto* row = out->add_to_come();
    row->set_product(nodes.product);
    row->set_gpus(nodes.gpus);
    row->set_nodes(nodes.nodes);
    row->set_cpu_milli(nodes.cpu_milli);
    row->set_memory_bytes(nodes.memory_bytes);
  }
  for (std::size_t i = 0; i < cluster.products.size(); ++i) {
    const ProductTotals& totals = cluster.products[i];
    auto* row = out->add_products();
    if (i < cluster.product_node_gpus.size()) {
      row->set_largest_node_gpus(cluster.product_node_gpus[i]);
    }
    if (i < cluster.product_container_gpus.size()) {
      row->set_largest_container_gpus(cluster.product_container_gpus[i]);
    }
    row->set_product(totals.product);
    row->set_nodes(totals.nodes);
    row->set_installed_milligpu(totals.milligpu.installed);
    row->set_allocated_milligpu(totals.milligpu.allocated);
    row->set_idle_milligpu(totals.milligpu.idle);
    row->set_stranded_milligpu(totals.milligpu.stranded);
    row->set_unusable_milligpu(totals.milligpu.unusable);
    row->set_overcommitted_milligpu(totals.milligpu.overcommitted);
  }
}

void put_node(const Engine& engine, NodeId id, v1::Node* out) {
  const Fleet& fleet = engine.fleet();
  if (const NodeSpec* spec = fleet.node(id)) put(*spec, out->mutable_spec());
  out->set_cluster(engine.cluster_name(fleet.cluster_of(id)));
  out->set_id(id.value);
  const NodeDrain drain = engine.drain_of(id);
  out->set_drained(drain.drained);
  if (drain.from_ms != 0) put(drain.from_ms, out->mutable_drain_from());
  if (drain.until_ms != 0) put(drain.until_ms, out->mutable_drain_until());
  const NodeLevels levels = fleet.levels(id);
  out->set_installed_milligpu(levels.installed);
  out->set_allocated_milligpu(levels.allocated);
  out->set_idle_milligpu(levels.idle);
  out->set_stranded_milligpu(levels.stranded);
  out->set_unusable_milligpu(levels.unusable);
  out->set_overcommitted_milligpu(levels.overcommitted);
}

void put(const Effect& effect, const std::string& cluster, TimeMs now_ms, v1::Effect* out) {
  out->set_kind(static_cast<v1::EffectKind>(static_cast<int>(effect.kind) + 1));
  out->set_cluster(cluster);
  out->set_job_id(text_of(effect.job));
  out->set_attempt(static_cast<std::int32_t>(effect.attempt));
  out->set_session(effect.session);
  put(now_ms, out->mutable_sent_at());
  if (effect.until_ms != 0) {
    put(effect.until_ms, out->mutable_until());
    put_duration(std::max<DurationMs>(effect.until_ms - now_ms, 0), out->mutable_hold_left());
  }
  out->set_cause(static_cast<v1::Cause>(effect.cause));
  if (effect.preemption.times != 0) put(effect.preemption, out->mutable_preemption());
  if (effect.loan.milligpu != 0) put(effect.loan, out->mutable_loan());
  out->set_owner(effect.owner);
  for (const EffectPod& pod : effect.keep_closed) {
    auto* row = out->add_keep_closed();
    row->set_rank(static_cast<std::int32_t>(pod.rank));
    row->set_uid(pod.uid);
    row->set_name(pod.name);
  }
  for (const EffectPod& pod : effect.pods) {
    auto* row = out->add_pods();
    row->set_rank(static_cast<std::int32_t>(pod.rank));
    row->set_uid(pod.uid);
    row->set_name(pod.name);
    row->set_node(pod.node);
    row->set_kind(static_cast<v1::GpuKind>(pod.kind));
    row->set_gpus(pod.gpus);
    row->set_mig_profile(pod.profile);
    row->set_gpu_mask(pod.gpu_mask);
    row->set_milligpu(pod.milligpu);
  }
}

}  // namespace subak::api
