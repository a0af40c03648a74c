// What the parts of the policy share. Private to the policy*.cc files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "admission/policy.h"
#include "kube/pod.h"

namespace subak::policy {

// Everything that a part may look at.
struct Context {
  const View& view;
  const AdmissionConfig& config;
  const ClusterView& cluster;
  Endpoint endpoint;
  const Review& review;
  Mode mode = Mode::kEnforce;                     // of the namespace
  const AccountsView::Row* ns_account = nullptr;  // the namespace's; nullptr if it has none
};

// --- policy.cc -----------------------------------------------------------------------------------
Decision untouched(Because because);
Decision denied(Because because, int code, std::string_view message);
Decision denied(Because because, const Error& error);  // 422
Decision bypassed(Bypass way, const Error& error);     // 403
// The creator's user name as Subak writes it, if it is a person; "" for system accounts. Longer
// than kMaxNameBytes: cut there, and unique again by a hash.
std::string person(const Review& review);
bool is_trusted(const Context& c);  // we ourselves, or the break-glass group

// --- policy_pod.cc: a pod that is created --------------------------------------------------------
Decision decide_pod(const Context& c, json::Value object);
// A static pod as its node shows it. Nobody but a node makes one; the mark alone is anybody's.
bool is_mirror(const Review& review, const Pod& pod);
// The gate and our keys, as far as they are missing; `account` empty: unknown.
std::string pod_patch(const Review& review, const Pod& pod, const std::string& account);
// Why the pod must be refused, whoever makes it; none if it may be. `path` as in read_pod.
std::optional<Decision> refusal(const Context& c, const Pod& pod, std::string_view path);

// --- policy_hidden.cc: GPUs that no request tells of ---------------------------------------------
// Refuses a pod that would see GPUs it was not given. Asking for every GPU of the node is fine.
std::optional<Decision> hidden_gpu(const Context& c, const Pod& pod, std::string_view path);
// A debug container that is added to a pod (pods/ephemeralcontainers).
Decision decide_ephemeral(const Context& c);
// Devices by DRA: why the pod must be refused, and what is said where it may be.
std::optional<Decision> claim_refusal(const Context& c, const Pod& pod);
std::string claim_warning(const Pod& pod);

// --- policy_account.cc: whose pod it is, and how much it may have --------------------------------
// The account that pays: the key's, if it lies in the namespace's subtree, else the namespace's.
struct Payer {
  const AccountsView::Row* row = nullptr;
  std::optional<Decision> refused;
};
Payer payer_of(const Context& c, const Pod& pod, std::string_view path);
std::optional<Decision> user_refusal(const Context& c, const Pod& pod, std::string_view path);
// The least that one pod costs; none where only its node will tell (time-sliced GPUs).
std::optional<MilliGpu> least_milligpu(const ClusterView& cluster, const PodShape& shape);
// `amount` for pods of this shape: of its product, where it allows only one.
ProductDemand demand_of(const Context& c, const PodShape& shape, MilliGpu amount);
// What the accounts that pay for the pod (payer_of() does not refuse it) could never allow, by the
// one judge (accounting/entitlement.h): drains, and with `amounts` limits and borrow, the user's
// own too. `what` says in the message what asks. A drain refuses no pod that has a controller: it
// may take the place of one of a job that was there before.
std::optional<Decision> not_entitled(const Context& c, const Pod& pod, const std::string& what,
                                     std::span<const ProductDemand> amounts);

// Warns of a drain that does not refuse the pod.
void warn_of_drain(const Context& c, const Pod& pod, Decision& d);

// --- policy_warn.cc ------------------------------------------------------------------------------
// Warns of what will not be aligned: QoS, CPU, RDMA.
void warn_of_alignment(const Pod& pod, Decision& d);
// Why the fleet as it is now could not hold it; empty if it could, or if the fleet is not known.
std::string exceeds_fleet(const ClusterView& cluster, const Pod& pod);

// --- policy_update.cc: a pod that is changed; policy_owner.cc: a Job and its like ----------------
Decision decide_update(const Context& c);
// True if the policy knows the kind as an owner that can be suspended.
bool is_suspendable(std::string_view group, std::string_view kind);
Decision decide_owner(const Context& c, json::Value object);

}  // namespace subak::policy
