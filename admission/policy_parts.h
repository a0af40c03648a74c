// The parts of the pod policy (policy.h) that the policy*.cc files share. Private to them. The gate
// is Subak's scheduling gate, and its keys are labels and annotations subak.gpu/... of a pod.
// Threads: any; pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/policy.h"
#include "kube/patch.h"
#include "kube/pod.h"

namespace subak::policy {

// The input of one decision, which all parts get. All objects that a Context refers to must outlive
// the decision.
struct Context {
  const View& view;
  const AdmissionConfig& config;
  const ClusterView& cluster;
  Endpoint endpoint;
  const Review& review;
  // The mode of the namespace.
  Mode mode = Mode::kEnforce;
  // The account of the namespace; nullptr if the namespace has no account.
  const AccountsView::Row* ns_account = nullptr;
};

// Keys and their values, for labels or annotations.
using Stamps = std::vector<std::pair<std::string_view, std::string>>;

// --- policy.cc -----------------------------------------------------------------------------------
// Returns the decision to let the object pass unchanged.
Decision untouched(Because because);
// These two functions return a denial: the first with this HTTP code, the second with the code 422.
// Both functions shorten the message and drop characters that are not printable.
Decision denied(Because because, int code, std::string_view message);
Decision denied(Because because, const Error& error);
// Returns a denial with code 403, for an attempted way around the gate.
Decision bypassed(Bypass way, const Error& error);
// Returns person_name() of the creator (kube/owners/maker.h); "" for system accounts.
std::string person(const Review& review);
// True if Subak itself or a member of the break-glass group sent the request.
bool is_trusted(const Context& c);

// --- policy_pod.cc: a new pod --------------------------------------------------------------------
// Decides on a pod that is created. It denies the pod, adds Subak's gate and keys, or lets it pass.
// `object`: the pod.
Decision decide_pod(const Context& c, json::Value object);
// True if the gang's topology asks for one node, or for one NVLink domain, for all its GPUs.
bool is_joined(const Pod& pod);
// True if the pod must have whole GPUs: it is in a gang, asks for RDMA, or has a topology beyond
// its node.
bool needs_links(const Pod& pod);
// True for a static pod that its node reports. The annotation of such a pod proves nothing, because
// any user can set it. So a node must also have sent the request.
bool is_mirror(const Review& review, const Pod& pod);
// What the webhook adds to a pod, beside the gate.
struct PodAdditions {
  // The account that pays; empty: unknown.
  std::string account;
  // The result of route_pod().
  std::string product;
  // True: the pod gets the ResourceClaim for its gang's ComputeDomain.
  bool needs_domain = false;
  // The policy for devices by DRA.
  DeviceClaims claims = DeviceClaims::kGate;
  // The PriorityClass that the pod gets, unless it has a system PriorityClass; empty: the pod keeps
  // its own.
  std::string priority_class;
  // Further annotations: what marks of other queue managers mean (stamps_of()).
  Stamps marks;
  // True: a pod of a gang gets annotations that keep autoscalers from its node.
  bool protect_gangs = false;
  // The value of names::kCreatedBy; empty: the name of the caller.
  std::string created_by{};
};
// Adds the annotation, unless the pod or template has this key as an annotation or a label.
void stamp_note(const Pod& pod, std::string_view key, const std::string& value,
                Stamps& annotations);
// Returns the patch that adds the gate and `additions` to the pod, except the parts that the pod
// already has.
std::string pod_patch(const Review& review, const Pod& pod, const PodAdditions& additions);
// True if the gang's topology is nvlink or nvlink-exclusive, without segments, even if it is only a
// preference (prefer:).
bool is_one_nvlink_gang(const Pod& pod);
// True if the gang's topology and segments keep all its pods in one NVLink domain. Also true for a
// single pod, and for a gang with prefer:, which accepts several NVLink domains.
bool stays_in_one_clique(const Pod& pod);
// Returns why the pod must be refused, whichever user creates it; none if the pod is allowed.
// `path` is the argument of read_pod().
std::optional<Decision> refusal(const Context& c, const Pod& pod, std::string_view path);

// --- policy_hidden.cc: GPUs without a request ----------------------------------------------------
// Refuses a pod that would see GPUs without requesting them. A pod that requests every GPU of its
// node is allowed.
std::optional<Decision> hidden_gpu(const Context& c, const Pod& pod, std::string_view path);
// Decides on a debug container that is added to a pod (pods/ephemeralcontainers).
Decision decide_ephemeral(const Context& c);
// Returns why a pod is refused because of the devices that it requests by DRA. Returns none if the
// pod requests no such devices, or if the configuration allows them.
std::optional<Decision> claim_refusal(const Context& c, const Pod& pod);
// Returns the warning for an allowed pod that requests devices by DRA.
std::string claim_warning(const Pod& pod, DeviceClaims policy);

// --- policy_domain.cc: the ComputeDomain of the pod's gang ---------------------------------------
// True if Subak makes a ComputeDomain for the pod's gang and the pod lacks the ResourceClaim for
// it. Subak makes one if the pod or the configuration asks for it, unless the pod requests devices
// by a ResourceClaim of its own.
bool needs_domain(const Context& c, const Pod& pod);
// Returns why a pod that needs a ComputeDomain is refused; none if it is allowed. There are three
// causes: no node of the cluster offers a channel, the gang has too many pods, or its topology may
// span two cliques.
std::optional<Decision> domain_refusal(const Context& c, const Pod& pod, std::string_view path);
// Adds the ResourceClaim for the gang's ComputeDomain to the patch: to the pod, and to its first
// container with GPUs. `review_uid` identifies a pod that is in no gang.
void add_domain_claim(const Pod& pod, std::string_view review_uid, PatchWriter& patch);

// --- policy_account.cc: the pod's account and its limits -----------------------------------------
// The account that pays: the account that the pod's key names, or else the namespace's account. The
// key may only name an account in the subtree of the namespace's account.
struct Payer {
  // Points into the View. nullptr: `refused` says why.
  const AccountsView::Row* row = nullptr;
  std::optional<Decision> refused;
};
// Returns the payer. `path` is the argument of read_pod(): it says in messages where the pod is in
// the object.
Payer payer_of(const Context& c, const Pod& pod, std::string_view path);
// Returns why the user that the pod names is refused: the name is invalid, or the user is not the
// pod's creator. None if the user is allowed, or if the pod names no user.
std::optional<Decision> user_refusal(const Context& c, const Pod& pod, std::string_view path);
// Returns why the priority that the pod names is refused (model/policy.h). None if the priority is
// allowed, or if the pod names no priority. `payer`: the account that pays (payer_of()).
std::optional<Decision> priority_refusal(const Context& c, const Pod& pod, std::string_view path,
                                         const AccountsView::Row& payer);
// Returns how many milli-GPU one pod of this shape costs at least. None if the cost depends on the
// pod's node (shared GPUs).
std::optional<MilliGpu> least_milligpu(const ClusterView& cluster, const PodShape& shape);
// Returns `amount` as a demand of pods of this shape. The demand names a product if the shape
// allows only one product.
ProductDemand demand_of(const Context& c, const PodShape& shape, MilliGpu amount);
// Returns a denial if the accounts that pay for the pod could never allow it, by the rules of
// accounting/quota/entitlement.h. The pod is denied if an account drains, or if the pod or
// `amounts` exceed a limit or the borrow of an account or user. A pod with a controller may replace
// a pod of an earlier job, so a drain does not forbid it. `what` names the requester in the
// message. Call the function only if payer_of() does not refuse the pod.
std::optional<Decision> not_entitled(const Context& c, const Pod& pod, const std::string& what,
                                     std::span<const ProductDemand> amounts);

// Adds a warning to `d` if an account is draining but the pod is allowed.
void warn_of_drain(const Context& c, const Pod& pod, Decision& d);

// Adds a warning to `d` if the pod has no time limit and a hard budget may end it.
void warn_of_no_limit(const Context& c, const Pod& pod, Decision& d);
// --- policy_marks.cc: marks of other queue managers ----------------------------------------------
// What the labels and annotations of Kueue, KAI and Volcano on an object mean. A value is empty, or
// 0, if no mark states it, or if one of Subak's keys states it instead.
struct Marks {
  // The account of the queue that the object names (AdmissionConfig::queue_accounts).
  std::string account;
  // True: the mark of Kueue names the queue. Kueue would suspend such a job and resume it at its
  // turn.
  bool queued_by_kueue = false;
  // A priority class of the policy, and the value that the key subak.gpu/topology would have.
  std::string priority, closeness;
  DurationMs time_limit_ms = 0;
  // What the marks ask for and Subak does not do.
  std::vector<std::string> warnings;
  // Why the object is refused: a mark names something that does not exist.
  std::optional<Decision> refused;
};
// Reads the marks. `object`: a pod or an owner. `path` is the argument of read_pod().
Marks read_marks(const Context& c, const Pod& object, std::string_view path);
// Adds the marks to the keys and terms of a pod or template that has no such keys of its own. The
// pod then has views of `marks`, which must outlive the pod.
void add_marks(const Marks& marks, Pod& pod);
// Returns the marks as keys of Subak, without the account.
Stamps stamps_of(const Marks& marks);
// Refuses a pod of KAI that asks for a part of a GPU by KAI's annotations.
std::optional<Decision> fraction_refusal(const Context& c, const Pod& pod);

// --- policy_route.cc -----------------------------------------------------------------------------
// If a route of the configuration sends the pod to slices or shared GPUs, changes the pod's shape
// as if the pod named the route's product in its nodeSelector. Returns this product; empty: no
// route. A route is for single pods of one whole GPU that name no product and need no links to
// other GPUs.
std::string route_pod(const Context& c, Pod& pod);

// --- policy_alignment.cc -------------------------------------------------------------------------
// Returns each field of a pod of several whole GPUs that prevents its alignment, with the value to
// write. docs/kubernetes-nodes.md has the table of these fields. `path` is the argument of
// read_pod().
std::vector<Error> alignment_gaps(const Context& c, const Pod& pod, std::string_view path);
// Adds the alignment_gaps() to `d` as warnings, unless the alignment of the namespace is off. The
// first pod of a gang on several nodes also gets a warning if it asks for neither RDMA nor the
// network of the node. A pod with several replicas in one container gets a warning in any case.
void warn_of_alignment(const Context& c, const Pod& pod, Decision& d);
// Returns a denial with the first of the alignment_gaps(), if the alignment of the namespace is
// kDeny. None if there is no gap.
std::optional<Decision> unaligned(const Context& c, const Pod& pod, std::string_view path);

// --- policy_warn.cc ------------------------------------------------------------------------------
// Returns why the present fleet could not hold the pod, even if no other pod were on the fleet. The
// text is empty if the fleet could hold the pod, or if the fleet is unknown.
std::string exceeds_fleet(const ClusterView& cluster, const Pod& pod);
// True if the pod may use GPUs of this product.
bool allows_product(const PodShape& shape, const std::string& product);
// Returns the largest entry among the products that the pod may use; 0: not known. `by_product` has
// one entry for each of ClusterView::products.
std::int64_t largest_of(const ClusterView& cluster, const PodShape& shape,
                        const std::vector<std::int64_t>& by_product);

// --- policy_stamp.cc: who made an owner ----------------------------------------------------------
// Returns the value of names::kCreatedBy for a new pod: the caller, or the user that a trusted
// caller names in the pod.
std::string maker_of_pod(const Context& c, const Pod& pod);

// --- policy_update.cc: a changed pod; policy_owner.cc: a Job or another owner -------------------
// Decides on a changed pod: only trusted requests may remove the gate or change Subak's keys.
Decision decide_update(const Context& c);
// True if the policy knows the kind as an owner that can be suspended.
bool is_suspendable(std::string_view group, std::string_view kind);
// Decides on an owner that is created. It denies the owner, suspends it and completes its
// templates, or lets it pass. `object`: the owner.
Decision decide_owner(const Context& c, json::Value object);

}  // namespace subak::policy
