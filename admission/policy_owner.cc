// Owners of pods that can be suspended: Job, JobSet, Kubeflow jobs, TrainJob, RayJob, RayCluster.
// Once many gated pods of an account wait, an owner that is created running and has GPU pods starts
// suspended, so that further pods do not pile up behind the gate (docs/design/0119). Subak resumes
// it at its turn. The webhook also adds to the templates what only the owner knows: the size of
// the gang, and its creator.
// Sources: the field names are those of k8s.io/api batch/v1, jobset v1alpha2, kubeflow
// training-operator v1 and mpi-operator v2beta1 (runPolicy.suspend), trainer v1alpha1, kuberay
// ray.io/v1.
#include <algorithm>
#include <set>
#include <string>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/owner.h"
#include "kube/owners/kinds.h"
#include "kube/patch.h"

namespace subak::policy {
namespace {

constexpr int kMaxTemplateDepth = 12;
// A pod's own deadline counts from its binding, so there is no warning for it.
constexpr std::string_view kDeadlineCounts =
    "spec.activeDeadlineSeconds counts while the pods wait for their turn: it may end the job "
    "before it runs; bound the run by activeDeadlineSeconds of the pod template instead";

// Returns the row of a kind whose owners can be suspended; else nullptr.
const OwnerKindRow* find_owner(std::string_view group, std::string_view kind) {
  const OwnerKindRow* const row = find_owner_kind(group, kind);
  return row != nullptr && row->parks() ? row : nullptr;
}

struct Template {
  std::string pointer;  // of the template, "/spec/template"
  Pod pod;
  std::int64_t copies = 1;  // how many pods are made from it
  Marks marks{};            // of the template, and of the owner where the template has none
};

// The fields of an owner's spec that the policy needs.
struct Found {
  std::vector<Template> templates;  // those with GPUs, or with mistakes about them
  bool elastic = false;             // pods come and go, or start one after the other
  std::optional<Error> refused;     // too many templates, or too deep
};

std::int64_t factor(json::Value object, std::string_view key) {
  const auto v = json::member(object, key);
  return v ? std::clamp<std::int64_t>(json::integer(*v, 1), 0, limits::kMaxPodsPerJob) : 1;
}

// Converts "/spec/template" to "spec.template.", for messages.
std::string path_of(std::string_view pointer) {
  std::string path = cut_text(pointer.substr(1)) + ".";
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

// Finds pod templates: any object with spec.containers, wherever an operator keeps it.
class TemplateFinder {
 public:
  explicit TemplateFinder(const ExtraGpuResources& extra) : extra_(extra) {}

  // Visits every node once; the pointer to it grows and shrinks on the way.
  void walk(json::Value v, std::int64_t copies, int depth) {
    if (depth > kMaxTemplateDepth) return;
    json::each_item(
        v, [&](std::size_t i, json::Value item) { step(item, std::to_string(i), copies, depth); });
    if (!json::is_object(v)) return;
    const auto spec = json::member(v, "spec");
    if (spec && json::member(*spec, "containers")) return add(v, copies);
    const std::int64_t here = std::min<std::int64_t>(
        copies * factor(v, "replicas") * factor(v, "parallelism") * factor(v, "numOfHosts"),
        limits::kMaxPodsPerJob + 1);
    json::each_member(v, [&](Text key, json::Value part) {
      found.elastic = found.elastic || key == "elasticPolicy" || key == "dependsOn" ||
                      key == "backoffLimitPerIndex" ||
                      (key == "action" && restarts_single_job(json::text(part))) ||
                      (key == "enableInTreeAutoscaling" && json::boolean(part)) ||
                      (key == "startupPolicyOrder" && json::text(part) == "InOrder");
      step(part, key, here, depth);
    });
  }

  Found found;

 private:
  void step(json::Value part, std::string_view key, std::int64_t copies, int depth) {
    if (!part.is_object() && !part.is_array()) return;
    const std::size_t here = pointer_.size();
    pointer_ += "/" + pointer_token(key);
    walk(part, copies, depth + 1);
    pointer_.resize(here);
  }

  void add(json::Value v, std::int64_t copies) {
    Pod pod = read_pod(v, extra_, path_of(pointer_));
    if (!pod.asks_gpu() && pod.mistakes.empty()) return;
    if (pointer_.size() > limits::kMaxTextBytes) {
      found.refused = Error{ErrorCode::kInvalid, path_of(pointer_), "",
                            "want a pod template whose path has at most " +
                                std::to_string(limits::kMaxTextBytes) + " bytes"};
    } else if (found.templates.size() == limits::kMaxTemplates) {
      found.refused = Error{ErrorCode::kInvalid, "spec", "",
                            "has more than " + std::to_string(limits::kMaxTemplates) +
                                " pod templates with GPUs, want several objects"};
    } else {
      found.templates.push_back({pointer_, std::move(pod), copies});
    }
  }

  const ExtraGpuResources& extra_;
  std::string pointer_ = "/spec";
};

// True if a TrainJob requests GPUs without a template (the runtime has it).
bool train_job_asks_gpu(json::Value spec, const ExtraGpuResources& extra) {
  const auto trainer = json::member(spec, "trainer");
  const auto per_node = trainer ? json::member(*trainer, "resourcesPerNode") : std::nullopt;
  const auto limits = per_node ? json::member(*per_node, "limits") : std::nullopt;
  bool asks = false;
  if (limits) {
    json::each_member(*limits, [&](Text name, json::Value) {
      asks = asks || gpu_kind_of(name, extra) != GpuKind::kNone;
    });
  }
  return asks;
}

// True if the pods of the owner start together. The pods of an ordinary Job start alone.
bool is_gang(const OwnerKindRow& kind) { return kind.kind != OwnerKind::kJob; }

bool has_suspendable_owner(const Pod& meta) {
  const Text group = meta.owner.api_version.substr(0, meta.owner.api_version.find('/'));
  return is_suspendable(group, meta.owner.kind);
}

// Returns the number of pods that will request GPUs, if they start together and no size is stated;
// else 0.
std::uint32_t gang_size(const OwnerKindRow& kind, const Found& found) {
  if (!is_gang(kind) || found.elastic) return 0;
  std::int64_t sum = 0;
  for (const Template& t : found.templates) {
    if (t.pod.keys.gang_size.set || t.pod.keys.job.set) return 0;
    sum += t.copies;
  }
  return sum > 1 && sum <= limits::kMaxPodsPerJob ? static_cast<std::uint32_t>(sum) : 0;
}

// Checks pods that start together against the limits together.
std::optional<Decision> gang_not_entitled(const Context& c, const Found& found) {
  std::map<ProductId, MilliGpu> sums;
  std::int64_t pods = 0;
  for (const Template& t : found.templates) {
    const MilliGpu least = least_milligpu(c.cluster, t.pod.shape).value_or(0) * t.copies;
    const auto [product, amount] = demand_of(c, t.pod.shape, least);
    sums[product] += amount;
    pods += t.copies;
  }
  const std::vector<ProductDemand> amounts(sums.begin(), sums.end());
  return not_entitled(c, found.templates.front().pod, " (" + std::to_string(pods) + " pods)",
                      amounts);
}

void stamp_template(const Template& t, const std::string& user, std::uint32_t gang,
                    PatchWriter& patch) {
  Stamps labels, annotations;
  if (!t.marks.account.empty()) stamp_note(t.pod, names::kAccount, t.marks.account, annotations);
  for (const auto& [key, value] : stamps_of(t.marks)) stamp_note(t.pod, key, value, annotations);
  if (!user.empty() && !t.pod.keys.user.set) {
    (is_label_value(user) ? labels : annotations).emplace_back(names::kUser, user);
  }
  if (gang > 1) annotations.emplace_back(names::kGangSize, std::to_string(gang));
  if (labels.empty() && annotations.empty()) return;
  if (!t.pod.has_metadata) patch.add(t.pointer + "/metadata", "{}");
  patch.add_members(t.pointer + "/metadata/labels", t.pod.has_labels, labels);
  patch.add_members(t.pointer + "/metadata/annotations", t.pod.has_annotations, annotations);
}

// Gives a template the owner's marks that it does not have itself. Kueue reads the topology from
// the template, and the queue from the owner.
void inherit(const Marks& owner, Marks& own) {
  if (own.account.empty()) own.account = owner.account;
  if (own.priority.empty()) own.priority = owner.priority;
  if (own.closeness.empty()) own.closeness = owner.closeness;
  if (own.time_limit_ms == 0) own.time_limit_ms = owner.time_limit_ms;
}

// True if the owner's account is at the limit of gated pods (policy parkAfter).
bool is_crowded(const Context& c, const Found& found) {
  if (c.view.policy.queue.park_after == 0) return true;
  const PodKey key = found.templates.empty() ? PodKey() : found.templates.front().pod.keys.account;
  const AccountsView::Row* const named = key.set ? c.view.accounts->of_path(key.value) : nullptr;
  const AccountsView::Row* const account = named != nullptr ? named : c.ns_account;
  const std::vector<AccountId>& crowded = c.cluster.reports.crowded;
  return account != nullptr && std::binary_search(crowded.begin(), crowded.end(), account->id);
}

// True if the edge can tell from the owner which pods wait: they are one gang of this owner alone,
// or each starts by itself.
bool can_wait(const OwnerKindRow& kind, json::Value spec, const Found& found) {
  // The templates of a TrainJob are those of its JobSet, which the edge reads.
  if (found.templates.empty() && kind.kind != OwnerKind::kTrainJob) return false;
  // KubeRay refuses other suspended RayJobs.
  const bool of_ray = kind.kind == OwnerKind::kRayJob;
  if (of_ray &&
      (!json::boolean(spec, "shutdownAfterJobFinishes") || json::member(spec, "clusterSelector"))) {
    return false;
  }
  if (is_gang(kind) && found.elastic) return false;
  return std::none_of(found.templates.begin(), found.templates.end(), [](const Template& t) {
    return t.pod.keys.job.set || !t.pod.claims.device.empty();
  });
}

// True if the owner starts suspended because of Subak, so that Subak resumes it. An edge of this
// service must follow the cluster, since it is the edge that resumes.
bool suspends(const Context& c, const OwnerKindRow& kind, json::Value spec, const Marks& marks,
              const Found& found) {
  if (!c.config.suspend_owners || c.cluster.known_as.empty()) return false;
  if (!can_wait(kind, spec, found)) return false;
  return marks.queued_by_kueue || (!is_suspended(kind, spec) && is_crowded(c, found));
}

// `suspend`: the result of suspends().
std::string owner_patch(const Context& c, const OwnerKindRow& kind, const Pod& meta,
                        json::Value spec, const Found& found, bool suspend) {
  PatchWriter patch;
  if (suspend && !is_suspended(kind, spec)) {
    if (kind.suspend == SuspendField::kSpec) {
      patch.add("/spec/suspend", "true");
    } else if (json::member(spec, "runPolicy")) {
      patch.add("/spec/runPolicy/suspend", "true");
    } else {
      patch.add("/spec/runPolicy", "{\"suspend\":true}");
    }
  }
  if (suspend && find_text(meta.annotations, names::kSuspendedBy) != names::kParked) {
    if (!meta.has_metadata) patch.add("/metadata", "{}");
    patch.add_members("/metadata/annotations", meta.has_annotations,
                      {{names::kSuspendedBy, std::string(names::kParked)}});
  }
  const std::uint32_t gang = suspend ? gang_size(kind, found) : 0;
  const std::string user = suspend ? person(c.review) : "";
  for (const Template& t : found.templates) stamp_template(t, user, gang, patch);
  return std::move(patch).finish();
}

}  // namespace

bool is_suspendable(std::string_view group, std::string_view kind) {
  return find_owner(group, kind) != nullptr;
}

Decision decide_owner(const Context& c, json::Value object) {
  const OwnerKindRow& kind = *find_owner(c.review.group, c.review.kind);
  const auto spec = json::member(object, "spec");
  if (!spec) return untouched(Because::kNoGpu);
  TemplateFinder finder(c.config.extra_gpu_resources);
  finder.walk(*spec, 1, 0);
  Found& found = finder.found;
  if (found.refused) return denied(Because::kInvalidValue, *found.refused);
  if (found.templates.empty() && !train_job_asks_gpu(*spec, c.config.extra_gpu_resources)) {
    return untouched(Because::kNoGpu);
  }
  const Pod meta = read_pod(object, c.config.extra_gpu_resources);  // only its metadata matters
  if (has_suspendable_owner(meta)) return untouched(Because::kSuspendedAbove);
  Marks marks = read_marks(c, meta, "");
  if (marks.refused) return std::move(*marks.refused);
  std::set<std::string> warnings(marks.warnings.begin(), marks.warnings.end());
  for (Template& t : found.templates) {
    t.marks = read_marks(c, t.pod, path_of(t.pointer));
    if (t.marks.refused) return std::move(*t.marks.refused);
    inherit(marks, t.marks);
    for (std::string& text : t.marks.warnings) warnings.insert(std::move(text));
    add_marks(t.marks, t.pod);
    if (auto d = refusal(c, t.pod, path_of(t.pointer))) return std::move(*d);
  }
  if (gang_size(kind, found) > 0) {
    if (auto d = gang_not_entitled(c, found)) return std::move(*d);
  }
  Decision d = untouched(Because::kUnchanged);
  const bool waits_suspended = suspends(c, kind, *spec, marks, found);
  if (json::member(*spec, "activeDeadlineSeconds") && !waits_suspended) d.warn(kDeadlineCounts);
  for (const std::string& text : warnings) d.warn(text);
  if (c.endpoint == Endpoint::kValidate) return d;
  d.patch = owner_patch(c, kind, meta, *spec, found, waits_suspended);
  if (d.patch.empty()) return d;
  d.verdict = Verdict::kPatched;
  if (waits_suspended) d.because = Because::kSuspended;
  return d;
}

}  // namespace subak::policy
