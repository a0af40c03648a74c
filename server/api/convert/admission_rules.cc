#include "server/api/convert/admission_rules.h"

#include "core/limits.h"
#include "model/bounds/bounds.h"

namespace subak::api {
namespace {

v1::Alignment to_proto(Alignment alignment) {
  return static_cast<v1::Alignment>(static_cast<int>(alignment) + 1);
}

template <class Items>
bool fits(Check& check, const char* field, const Items& items, std::size_t most) {
  check.number(field, items.size(), 0, static_cast<std::int64_t>(most));
  return check.ok();
}

}  // namespace

void put_rules(const View& view, const AdmissionConfig& config, v1::AdmissionRules* out) {
  const auto& [gpu_kinds, schedulers, runtime_classes, own_user, break_glass_group, suspend_owners,
               alignment, alignment_namespaces, pod_priority_class, protect_gangs, queue_accounts,
               routes, device_claims, unknown_cluster, for_nvlink] = config;
  for (const std::string& ns : view.policy.system_namespaces) out->add_system_namespaces(ns);
  for (const PriorityClass& one : view.policy.priority_classes) {
    v1::PriorityClass* const row = out->add_priority_classes();
    row->set_name(one.name);
    for (const std::string& account : one.accounts) row->add_accounts(account);
  }
  for (const std::string& kind : gpu_kinds) out->add_gpu_kinds(kind);
  out->set_break_glass_group(break_glass_group);
  out->set_alignment(to_proto(alignment));
  for (const NamespaceAlignment& entry : alignment_namespaces) {
    v1::NamespaceAlignment* const row = out->add_alignment_namespaces();
    row->set_namespace_(entry.ns);
    row->set_alignment(to_proto(entry.alignment));
  }
  for (const GpuRoute& route : routes) {
    v1::GpuRoute* const row = out->add_routes();
    row->set_namespace_(route.ns);
    row->set_priority_class(route.priority_class);
    row->set_product(route.product);
  }
  out->set_device_claims(static_cast<v1::DeviceClaims>(static_cast<int>(device_claims) + 1));
  out->set_unknown_cluster(static_cast<v1::UnknownCluster>(static_cast<int>(unknown_cluster) + 1));
  out->set_compute_domains_for_nvlink(for_nvlink);
  out->set_pod_priority_class(pod_priority_class);
  out->set_protect_gangs(protect_gangs);
  for (const QueueAccount& entry : queue_accounts) {
    v1::QueueAccount* const row = out->add_queue_accounts();
    row->set_namespace_(entry.ns);
    row->set_queue(entry.queue);
    row->set_account(entry.account);
  }
}

void get_rules(Check& check, const v1::AdmissionRules& rules, View& view, AdmissionConfig& config) {
  const auto scope = check.in("rules");
  view.policy.system_namespaces.assign(rules.system_namespaces().begin(),
                                       rules.system_namespaces().end());
  for (const v1::PriorityClass& row : rules.priority_classes()) {
    PriorityClass& one = view.policy.priority_classes.emplace_back();
    one.name = row.name();
    one.accounts.assign(row.accounts().begin(), row.accounts().end());
  }
  check.take(bounds::check(in::Body(in::SetPolicy{view.policy, {}})));
  if (!fits(check, "gpu_kinds", rules.gpu_kinds(), limits::kMaxNodeListItems)) return;
  for (const std::string& kind : rules.gpu_kinds()) {
    config.extra_gpu_resources.push_back(check.name("gpu_kinds", kind, true));
  }
  config.break_glass_group = check.name("break_glass_group", rules.break_glass_group(), true);
  config.alignment = get_enum<Alignment>(check, "alignment", rules.alignment());
  if (!fits(check, "alignment_namespaces", rules.alignment_namespaces(),
            limits::kMaxNamespaceModes)) {
    return;
  }
  for (int i = 0; i < rules.alignment_namespaces_size() && check.ok(); ++i) {
    const auto entry = check.in("alignment_namespaces", i);
    const v1::NamespaceAlignment& row = rules.alignment_namespaces(i);
    config.alignment_namespaces.push_back(
        {check.name("namespace", row.namespace_(), true),
         get_enum<Alignment>(check, "alignment", row.alignment())});
  }
  if (!fits(check, "routes", rules.routes(), limits::kMaxNamespaceModes)) return;
  for (int i = 0; i < rules.routes_size() && check.ok(); ++i) {
    const auto route = check.in("routes", i);
    const v1::GpuRoute& row = rules.routes(i);
    config.routes.push_back({check.name("namespace", row.namespace_(), false),
                             check.name("priority_class", row.priority_class(), false),
                             check.name("product", row.product(), true)});
  }
  config.device_claims = get_enum<DeviceClaims>(check, "device_claims", rules.device_claims());
  config.unknown_cluster =
      get_enum<UnknownCluster>(check, "unknown_cluster", rules.unknown_cluster());
  config.compute_domains_for_nvlink = rules.compute_domains_for_nvlink();
  config.pod_priority_class = check.name("pod_priority_class", rules.pod_priority_class(), false);
  config.protect_gangs = rules.protect_gangs();
  if (!fits(check, "queue_accounts", rules.queue_accounts(), limits::kMaxNamespaceModes)) return;
  for (int i = 0; i < rules.queue_accounts_size() && check.ok(); ++i) {
    const auto entry = check.in("queue_accounts", i);
    const v1::QueueAccount& row = rules.queue_accounts(i);
    config.queue_accounts.push_back({check.name("namespace", row.namespace_(), false),
                                     check.name("queue", row.queue(), true),
                                     check.name("account", row.account(), true)});
  }
}

}  // namespace subak::api
