#include "tools/demo_edge/pods.h"

#include "core/names.h"
#include "kube/pod.h"
#include "server/api/convert/gang_terms.h"

namespace subak::demo {
namespace {

using nlohmann::json;

json owner_of(const std::string& job) {
  return json::array({{{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"name", job},
                       {"uid", "job-" + job},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

void set_shape(const PodShape& in, v1::PodShape* out) {
  out->set_kind(static_cast<v1::GpuKind>(in.kind));
  out->set_gpus(in.gpus);
  out->set_mig_profile(in.profile);
  for (const std::string& product : in.products) out->add_products(product);
  out->set_cpu_milli(in.cpu_milli);
  out->set_memory_bytes(in.memory_bytes);
  for (const Label& label : in.node_selector) {
    auto* row = out->add_node_selector();
    row->set_key(label.key);
    row->set_value(label.value);
  }
  for (const Toleration& t : in.tolerations) {
    auto* row = out->add_tolerations();
    row->set_key(t.key);
    row->set_op(t.op);
    row->set_value(t.value);
    row->set_effect(t.effect);
  }
}

}  // namespace

json pod_of(const PodWish& wish) {
  json amounts = {{"cpu", std::to_string(wish.cores)},
                  {"memory", std::to_string(8 * wish.cores) + "Gi"}};
  if (!wish.resource.empty()) amounts[wish.resource] = std::to_string(wish.amount);
  json metadata = {{"name", wish.name}, {"namespace", wish.ns}, {"labels", {{"app", "demo"}}}};
  if (!wish.job.empty()) {
    metadata["ownerReferences"] = owner_of(wish.job);
    metadata["labels"]["batch.kubernetes.io/job-name"] = wish.job;
  }
  if (!wish.gang.empty()) {
    metadata["labels"][std::string(names::kJob)] = wish.gang;
    metadata["annotations"][std::string(names::kGangSize)] = std::to_string(wish.gang_size);
  }
  if (wish.limit_s > 0) {
    metadata["annotations"][std::string(names::kTimeLimit)] = std::to_string(wish.limit_s) + "s";
  }
  json spec = {{"restartPolicy", "Never"},
               {"containers",
                {{{"name", "main"},
                  {"image", "registry.example.com/train:1"},
                  {"resources", {{"limits", amounts}, {"requests", amounts}}}}}},
               {"tolerations",
                {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}}}};
  if (!wish.product.empty()) {
    spec["nodeSelector"] = {{std::string(names::kLabelProduct), wish.product}};
  }
  if (!wish.node.empty()) spec["nodeName"] = wish.node;
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}};
}

json review_of(const json& pod, const PodWish& wish, const std::string& uid, bool dry_run) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", uid},
            {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
            {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
            {"operation", "CREATE"},
            {"namespace", wish.ns},
            {"name", wish.name},
            {"userInfo", {{"username", wish.user}}},
            {"dryRun", dry_run},
            {"object", pod},
            {"oldObject", nullptr}}}};
}

std::optional<json> patched(const json& pod, const Verdict& verdict) {
  try {
    return pod.patch(verdict.patch);
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

bool has_gate(const json& pod) {
  const json gates = pod["spec"].value("schedulingGates", json::array());
  for (const json& gate : gates) {
    if (gate.value("name", "") == names::kGate) return true;
  }
  return false;
}

std::optional<v1::PodRecord> record_of(const json& stored) {
  const auto read = pod_record_from_json(stored.dump());
  if (!read) return std::nullopt;
  const PodRecord& in = *read;
  v1::PodRecord out;
  out.set_uid(in.uid);
  out.set_namespace_(in.ns);
  out.set_name(in.name);
  out.set_account(in.account);
  out.set_user(in.user);
  out.set_gang(in.gang);
  out.set_gang_size(static_cast<std::int32_t>(in.gang_size));
  if (in.rank >= 0) out.set_rank(in.rank);
  set_shape(in.shape, out.mutable_shape());
  api::put(in.terms, &out);
  out.set_replaced_alone(in.replaced_alone);
  out.set_size_of_owner(in.owners.size_of_owner);
  out.set_size_unknown(in.gang_size == 0);
  out.set_priority(in.priority);
  out.set_time_limit_ms(in.time_limit_ms);
  out.set_grace_ms(in.grace_ms);
  out.set_gated(in.gated);
  out.set_controlled(in.controlled);
  out.set_other_manager(in.other_manager);
  return out;
}

std::optional<v1::PodRecord> store_pod(const json& pod, const Verdict& verdict,
                                       const std::string& name) {
  std::optional<json> stored = patched(pod, verdict);
  if (!stored || !has_gate(*stored)) return std::nullopt;
  (*stored)["metadata"]["uid"] = "uid-" + name;
  const std::optional<v1::PodRecord> record = record_of(*stored);
  if (!record || !record->gated() || record->account().empty()) return std::nullopt;
  return record;
}

}  // namespace subak::demo
