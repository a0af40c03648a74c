// The parts that the policy*.cc files share. Private to them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "admission/policy.h"
#include "kube/pod.h"

namespace subak::policy {

// The input of each part. All of it outlives the decision.
struct Context {
  const View& view;
  const AdmissionConfig& config;
  const ClusterView& cluster;
  Endpoint endpoint;
  const Review& review;
  // The mode of the namespace.
  Mode mode = Mode::kEnforce;
  // The account of the namespace; nullptr if it has none.
  const AccountsView::Row* ns_account = nullptr;
};

// --- policy.cc -----------------------------------------------------------------------------------
// Returns the decision to let the object pass unchanged.
Decision untouched(Because because);
// Returns a denial with this HTTP code, or with 422. The message is shortened, and only its
// printable characters stay.
Decision denied(Because because, int code, std::string_view message);
Decision denied(Because because, const Error& error);
// Returns a denial, code 403, of an attempted way around the gate.
Decision bypassed(Bypass way, const Error& error);
// Returns the creator's user name as Subak writes it, if it is a person; "" for system accounts. A
// name longer than kMaxNameBytes is cut there, and a hash makes it unique again.
std::string person(const Review& review);
// True if Subak itself or a member of the break-glass group sent the request.
bool is_trusted(const Context& c);

// --- policy_pod.cc: a new pod --------------------------------------------------------------------
// Decides on a pod that is created. It denies the pod, adds Subak's gate and keys, or lets it pass.
// `object`: the pod.
Decision decide_pod(const Context& c, json::Value object);
// True for a static pod as its node reports it. Only a node makes one; anyone can set the mark
// alone.
bool is_mirror(const Review& review, const Pod& pod);
// Returns the patch that adds the missing gate and keys; `account` empty: unknown.
std::string pod_patch(const Review& review, const Pod& pod, const std::string& account);
// Returns why the pod must be refused for every creator; none if it is allowed. `path` as in
// read_pod().
std::optional<Decision> refusal(const Context& c, const Pod& pod, std::string_view path);

// --- policy_hidden.cc: GPUs without a request ----------------------------------------------------
// Refuses a pod that would see GPUs it was not given. A request for every GPU of the node is fine.
std::optional<Decision> hidden_gpu(const Context& c, const Pod& pod, std::string_view path);
// Decides on a debug container that is added to a pod (pods/ephemeralcontainers).
Decision decide_ephemeral(const Context& c);
// Returns why a pod is refused for its devices by DRA. None if it has no such devices, or if the
// configuration allows them.
std::optional<Decision> claim_refusal(const Context& c, const Pod& pod);
// Returns the warning about such a pod if it is allowed.
std::string claim_warning(const Pod& pod);

// --- policy_account.cc: the pod's account and its limits -----------------------------------------
// The account that pays: the key's, if it lies in the namespace's subtree, else the namespace's.
struct Payer {
  // Into the View. nullptr: `refused` says why.
  const AccountsView::Row* row = nullptr;
  std::optional<Decision> refused;
};
// Returns the payer. `path` as in read_pod(): where the pod is in the object, for messages.
Payer payer_of(const Context& c, const Pod& pod, std::string_view path);
// Returns why the pod's user is refused: the name is invalid, or is another person's. None if the
// pod names no user.
std::optional<Decision> user_refusal(const Context& c, const Pod& pod, std::string_view path);
// Returns the least cost of one pod; none if only its node decides (time-sliced GPUs).
std::optional<MilliGpu> least_milligpu(const ClusterView& cluster, const PodShape& shape);
// Returns `amount` for pods of this shape, of its product if it allows only one.
ProductDemand demand_of(const Context& c, const PodShape& shape, MilliGpu amount);
// Returns what the accounts that pay for the pod could never allow, by
// accounting/quota/entitlement.h; payer_of() must not refuse the pod. These are drains, and with
// `amounts` limits and borrow, the user's own too. `what` names the requester in the message. A
// drain refuses no pod that has a controller: it may replace one of an earlier job.
std::optional<Decision> not_entitled(const Context& c, const Pod& pod, const std::string& what,
                                     std::span<const ProductDemand> amounts);

// Warns of a drain that does not refuse the pod.
void warn_of_drain(const Context& c, const Pod& pod, Decision& d);

// --- policy_warn.cc ------------------------------------------------------------------------------
// Warns of missing alignment: QoS, CPU, RDMA.
void warn_of_alignment(const Pod& pod, Decision& d);
// Returns why the fleet now could not hold the pod; empty if it could, or if the fleet is unknown.
std::string exceeds_fleet(const ClusterView& cluster, const Pod& pod);

// --- policy_update.cc: a changed pod; policy_owner.cc: a Job or another owner -------------------
// Decides on a changed pod: only trusted requests remove the gate or change Subak's keys.
Decision decide_update(const Context& c);
// True if the policy knows the kind as an owner that can be suspended.
bool is_suspendable(std::string_view group, std::string_view kind);
// Decides on an owner that is created. It denies the owner, suspends it and completes its
// templates, or lets it pass. `object`: the owner.
Decision decide_owner(const Context& c, json::Value object);

}  // namespace subak::policy
