// The decision about a new pod.
#include <algorithm>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "core/names.h"
#include "kube/owners/kinds.h"
#include "kube/owners/maker.h"
#include "kube/patch.h"
#include "kube/rank.h"
#include "model/mig.h"

namespace subak::policy {
namespace {

constexpr std::size_t kShownKeyBytes = 128;  // so that the rest of its warning fits

Error field_error(std::string_view path, std::string_view field, std::string_view got,
                  std::string_view want) {
  return {ErrorCode::kInvalid, std::string(path) + std::string(field), std::string(got),
          std::string(want)};
}

std::optional<Decision> invalid(const Pod& pod) {
  if (pod.mistakes.empty()) return std::nullopt;
  Decision d =
      denied(pod.two_kinds ? Because::kTwoGpuKinds : Because::kInvalidValue, pod.mistakes.front());
  const std::size_t more = pod.mistakes.size() - 1 + pod.more_mistakes;
  if (more > 0) d.message += " (and " + std::to_string(more) + " more mistakes)";
  return d;
}

std::optional<Decision> mig_topology(const Pod& pod, std::string_view path) {
  if (pod.shape.kind != GpuKind::kMig) return std::nullopt;
  const bool far = pod.terms.topology == Topology::kNvlink ||
                   pod.terms.topology == Topology::kNvlinkExclusive ||
                   pod.terms.topology == Topology::kRack;
  constexpr auto& kSegment = wish_of<&GangTerms::segment>();
  constexpr auto& kTopology = wish_of<&GangTerms::topology>();
  const bool segment = pod.keys.of(kSegment).set;
  if (!far && !segment) return std::nullopt;
  const PodKey& key = segment ? pod.keys.of(kSegment) : pod.keys.of(kTopology);
  return denied(
      Because::kMigTopology,
      field_error("", key_field(path, key, segment ? kSegment.key : kTopology.key), key.value,
                  "want any or node and no segment: MIG slices (" + cut_text(pod.shape.profile) +
                      ") have no peer-to-peer; or ask for whole GPUs"));
}

// Segments that must be close together follow ranks. A LeaderWorkerSet's own webhook may still
// number the pod.
std::optional<Decision> unknown_rank(const Context& c, const Pod& pod, std::string_view path) {
  const bool parts =
      pod.terms.segment > 0 && !pod.terms.prefer && pod.gang.size > pod.terms.segment;
  if (!path.empty() || !parts || pod.gang.rank >= 0) return std::nullopt;
  if (c.endpoint == Endpoint::kMutate && !worker_set_of(pod).empty()) return std::nullopt;
  const PodKey& segment = pod.keys.of(wish_of<&GangTerms::segment>());
  return denied(
      Because::kInvalidValue,
      field_error("", key_field(path, segment, wish_of<&GangTerms::segment>().key), segment.value,
                  "want a rank for each pod of the gang, as segments follow ranks: " +
                      how_to_rank(pod) + "; or put prefer: before the topology"));
}

// Checks for slices that no GPU product has and no node offers: the pod would wait for ever.
std::optional<Decision> mig_profile(const Context& c, const Pod& pod, std::string_view path) {
  const std::string& profile = pod.shape.profile;
  if (pod.shape.kind != GpuKind::kMig || is_mig_profile(profile)) return std::nullopt;
  std::vector<std::string> products;
  for (const auto& [offered, count] : c.cluster.mig_slices) {
    if (offered == profile) return std::nullopt;
  }
  for (const ProductTotals& t : c.cluster.products) products.push_back(t.product);
  return denied(Because::kMigProfile,
                field_error(path,
                            "spec.containers[].resources.limits[" + std::string(names::kMigPrefix) +
                                cut_text(profile) + "]",
                            cut_text(profile), mig_profiles_text(products)));
}

// Kueue's marks only name a queue; another manager's scheduler would ignore Subak's placement.
std::optional<Decision> other_scheduler(const Context& c, const Pod& pod, std::string_view path) {
  const auto& others = c.config.other_schedulers;
  if (std::find(others.begin(), others.end(), pod.scheduler_name) == others.end()) {
    return std::nullopt;
  }
  return denied(Because::kOtherScheduler,
                field_error(path, "spec.schedulerName", pod.scheduler_name,
                            "want a scheduler of no other queue manager, in a namespace that Subak "
                            "manages: leave it out, or leave the namespace in observe"));
}

// Puts each value into a label if it can be one, else into an annotation; existing values stay.
void stamp(const Pod& pod, std::string_view key, std::string value, Stamps& labels,
           Stamps& annotations) {
  if (value.empty() || has_key(pod.labels, key)) return;
  if (is_label_value(value)) {
    labels.emplace_back(key, std::move(value));
  } else if (!has_key(pod.annotations, key)) {
    annotations.emplace_back(key, std::move(value));
  }
}

// Returns true if the webhook gives the pod the PriorityClass `name`. A pod of a system class stays
// above all GPU pods.
bool gets_class(const Pod& pod, std::string_view name) {
  constexpr std::int32_t kHighestOfUsers = 1'000'000'000;  // k8s.io/kubernetes scheduling/types.go
  return !name.empty() && pod.kube_priority.class_name != name &&
         pod.kube_priority.value <= kHighestOfUsers;
}

// The API server computes both numbers again, and refuses a pod that states others.
void set_class(const Pod& pod, std::string_view name, PatchWriter& patch) {
  patch.add_text("/spec/priorityClassName", name);
  if (pod.kube_priority.has_value) patch.remove("/spec/priority");
  if (pod.kube_priority.has_policy) patch.remove("/spec/preemptionPolicy");
}

// Only the webhook writes these annotations. A copy of a pod that has them has the class too.
std::optional<Decision> own_priority(const Context& c, const Pod& pod, std::string_view path) {
  const std::string& ours = c.config.pod_priority_class;
  if (!ours.empty() && pod.kube_priority.class_name == ours) return std::nullopt;
  for (const std::string_view name : {names::kOwnPriority, names::kOwnPriorityClass}) {
    if (!has_key(pod.annotations, name)) continue;
    const PodKey key{find_text(pod.annotations, name), true, false, false};
    return denied(Because::kInvalidValue,
                  field_error("", key_field(path, key, name), key.value,
                              "want it left out: Subak writes it. Name a PriorityClass in "
                              "spec.priorityClassName"));
  }
  return std::nullopt;
}

void add_warnings(const Context& c, const Pod& pod, const Marks& marks, const std::string& exceeds,
                  Decision& d) {
  if (!exceeds.empty()) d.warn(exceeds);
  warn_of_drain(c, pod, d);
  warn_of_no_limit(c, pod, d);
  if (!pod.claims.device.empty()) d.warn(claim_warning(pod, c.config.device_claims));
  for (const std::string& text : marks.warnings) d.warn(text);
  const auto mark = other_manager_of(pod, c.config.other_schedulers);
  if (!mark.empty() && marks.account.empty()) {
    d.warn(std::string(mark) +
           " belongs to another queue manager and exempts nothing: Subak manages this namespace, "
           "and both may hold the pod back");
  }
  // The owner or the PodGroup may state it, which is known once the pod exists.
  if (lacks_gang_size(pod) && !size_may_come(pod)) {
    d.warn("the size of this pod's gang is unknown: the pod is held until the annotation " +
           std::string(names::kGangSize) + ": \"N\" is on its template");
  }
  warn_of_alignment(c, pod, d);
  for (const std::string& field : pod.not_read.constraints) {
    d.warn(field +
           " is not read: kube-scheduler decides whether the node that Subak chooses suits it");
  }
  for (const std::string& field : pod.not_read.preferences) {
    d.warn(field + " only prefers, and is not read: it does not affect which node Subak chooses");
  }
  if (!pod.shape.spread.empty()) {
    d.warn(
        "spec.topologySpreadConstraints: Subak counts only pods on GPUs that have the same "
        "constraint. kube-scheduler counts all pods that the selector selects");
  }
  for (const Text key : pod.not_read.keys) {
    d.warn("\"" + cut_text(key, kShownKeyBytes) + "\" is no key of Subak and has no effect");
  }
}

Decision missing_gate() {
  return bypassed(Bypass::kGateMissing,
                  Error{ErrorCode::kInvalid, "spec.schedulingGates", "",
                        "has no subak.gpu/queue, want the gate that the mutating webhook adds: "
                        "create the pod again, and see that no other webhook removes it"});
}

Decision gate_it(const Context& c, const Pod& pod, const Marks& marks,
                 const AccountsView::Row& account, const std::string& product) {
  Decision d;
  const std::string exceeds = exceeds_fleet(c.cluster, pod);
  add_warnings(c, pod, marks, exceeds, d);
  if (c.endpoint == Endpoint::kMutate) {
    d.patch = pod_patch(c.review, pod,
                        {account.spec.path, product, needs_domain(c, pod), c.config.device_claims,
                         c.config.pod_priority_class, stamps_of(marks), c.config.protect_gangs,
                         maker_of_pod(c, pod)});
    if (!product.empty()) {
      d.warn("a route of the cluster sends this pod to " + cut_text(product) +
             "; to choose yourself, name a product in nodeSelector[nvidia.com/gpu.product]");
    }
  }
  if (d.patch.empty()) {
    d.because = Because::kUnchanged;
    return d;
  }
  d.verdict = Verdict::kPatched;
  d.because = !exceeds.empty()            ? Because::kExceedsFleet
              : pod.claims.device.empty() ? Because::kGated
                                          : Because::kDeviceClaim;
  return d;
}

std::optional<Decision> pod_not_entitled(const Context& c, const Pod& pod) {
  const auto each = least_milligpu(c.cluster, pod.shape);
  if (!each) return not_entitled(c, pod, "", {});
  const bool gang = pod.gang.size > 1 && pod.gang.uniform;
  const ProductDemand demand = demand_of(c, pod.shape, *each * (gang ? pod.gang.size : 1));
  const std::string pods =
      " (" + std::to_string(pod.gang.size) + " pods of " + std::to_string(pod.shape.gpus) + ")";
  return not_entitled(c, pod, gang ? pods : "", {&demand, 1});
}

}  // namespace

void stamp_note(const Pod& pod, std::string_view key, const std::string& value,
                Stamps& annotations) {
  if (has_key(pod.labels, key) || has_key(pod.annotations, key)) return;
  annotations.emplace_back(key, value);
}

bool is_joined(const Pod& pod) {
  return is_one_nvlink_gang(pod) ||
         (pod.terms.topology == Topology::kNode && pod.terms.segment == 0);
}

bool needs_links(const Pod& pod) {
  const Topology topology = pod.terms.topology;
  bool wishes = topology != Topology::kAny && topology != Topology::kNode;
  each_wish_beside_topology(pod.terms, [&](const auto& wish, auto) {
    wishes = wishes || wish.opposite.empty();  // all wishes but those about its end
  });
  return wishes || pod.gang.size > 1 || asks_rdma(pod.shape);
}

bool is_mirror(const Review& review, const Pod& pod) {
  return review.username.starts_with("system:node:") &&
         has_key(pod.annotations, "kubernetes.io/config.mirror");
}

std::string pod_patch(const Review& review, const Pod& pod, const PodAdditions& additions) {
  Stamps labels, annotations;
  stamp(pod, names::kAccount, additions.account, labels, annotations);
  stamp(pod, names::kJob, pod.gang.job, labels, annotations);
  if (!pod.keys.user.set) stamp(pod, names::kUser, person(review), labels, annotations);
  if (!pod.claims.device.empty() && !has_key(pod.annotations, names::kStatus)) {
    annotations.emplace_back(names::kStatus, claim_warning(pod, additions.claims));
  }
  for (const auto& [key, value] : additions.marks) stamp_note(pod, key, value, annotations);
  const std::string maker =
      additions.created_by.empty() ? stamp_of(review.username) : additions.created_by;
  if (!maker.empty() && find_text(pod.annotations, names::kCreatedBy) != maker)
    annotations.emplace_back(names::kCreatedBy, maker);
  const bool reprioritize = gets_class(pod, additions.priority_class);
  if (reprioritize) {
    annotations.emplace_back(names::kOwnPriority, std::to_string(pod.kube_priority.value));
    annotations.emplace_back(names::kOwnPriorityClass, std::string(pod.kube_priority.class_name));
  }
  if (additions.protect_gangs && pod.gang.size > 1) {
    stamp_note(pod, names::kDoNotDisrupt, "true", annotations);
    stamp_note(pod, names::kSafeToEvict, "false", annotations);
  }
  PatchWriter patch;
  if (!pod.has_metadata) patch.add("/metadata", "{}");
  patch.add_members("/metadata/labels", pod.has_labels, labels);
  patch.add_members("/metadata/annotations", pod.has_annotations, annotations);
  if (!additions.product.empty()) {
    patch.add_members("/spec/nodeSelector", pod.has_node_selector,
                      {{names::kLabelProduct, additions.product}});
  }
  if (reprioritize) set_class(pod, additions.priority_class, patch);
  if (!pod.gated()) {
    const std::string gate = "{\"name\":\"" + std::string(names::kGate) + "\"}";
    if (pod.has_gates) {
      patch.add("/spec/schedulingGates/-", gate);
    } else {
      patch.add("/spec/schedulingGates", "[" + gate + "]");
    }
  }
  if (additions.needs_domain) add_domain_claim(pod, review.uid, patch);
  return std::move(patch).finish();
}

bool is_one_nvlink_gang(const Pod& pod) {
  const Topology topology = pod.terms.topology;
  const bool nvlink = topology == Topology::kNvlink || topology == Topology::kNvlinkExclusive;
  return nvlink && pod.terms.segment == 0;
}

bool stays_in_one_clique(const Pod& pod) {
  if (pod.terms.prefer || pod.gang.size == 1) return true;
  if (pod.terms.segment > 0) return pod.gang.size <= pod.terms.segment;
  return is_joined(pod);
}

std::optional<Decision> refusal(const Context& c, const Pod& pod, std::string_view path) {
  if (auto d = invalid(pod)) return d;
  if (!pod.node_name.empty()) {
    return bypassed(Bypass::kNodeName,
                    field_error(path, "spec.nodeName", pod.node_name,
                                "want it unset: Subak chooses the node; to narrow the choice use "
                                "nodeSelector or node affinity"));
  }
  if (auto d = hidden_gpu(c, pod, path)) return d;
  if (auto d = claim_refusal(c, pod)) return d;
  if (auto d = mig_profile(c, pod, path)) return d;
  if (auto d = mig_topology(pod, path)) return d;
  if (auto d = unknown_rank(c, pod, path)) return d;
  if (auto d = other_scheduler(c, pod, path)) return d;
  if (auto d = domain_refusal(c, pod, path)) return d;
  Payer payer = payer_of(c, pod, path);
  if (payer.refused) return std::move(payer.refused);
  if (auto d = user_refusal(c, pod, path)) return d;
  if (auto d = priority_refusal(c, pod, path, *payer.row)) return d;
  if (auto d = own_priority(c, pod, path)) return d;
  if (auto d = pod_not_entitled(c, pod)) return d;
  return unaligned(c, pod, path);
}

Decision decide_pod(const Context& c, json::Value object) {
  Pod pod = read_pod(object, c.config.extra_gpu_resources);
  if (is_mirror(c.review, pod)) return untouched(Because::kMirrorPod);
  if (auto d = fraction_refusal(c, pod)) return std::move(*d);
  Marks marks = read_marks(c, pod, "");
  add_marks(marks, pod);
  const std::string product = route_pod(c, pod);
  const bool claims = !pod.claims.device.empty();
  const bool counts = pod.asks_gpu() || !pod.mistakes.empty();
  if (!counts && (!claims || c.config.device_claims == DeviceClaims::kWarn)) {
    if (auto hidden = hidden_gpu(c, pod, "")) return std::move(*hidden);
    Decision d = untouched(claims ? Because::kDeviceClaim : Because::kNoGpu);
    if (claims) d.warn(claim_warning(pod, c.config.device_claims));
    return d;
  }
  if (marks.refused) return std::move(*marks.refused);
  if (auto d = refusal(c, pod, "")) return std::move(*d);
  // In mode warn no pod was gated, so no gate is missing.
  const bool had_to = c.endpoint == Endpoint::kValidate && c.mode == Mode::kEnforce;
  if (had_to && !pod.gated()) return missing_gate();
  return gate_it(c, pod, marks, *payer_of(c, pod, "").row, product);
}

}  // namespace subak::policy
