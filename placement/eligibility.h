// May this pod run on this node at all? The static part of kube-scheduler's filters, as pure
// functions: node selector, required node affinity, taints, GPU kind and product. Whether the node
// is up and has room is asked elsewhere. Private to placement.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/node.h"
#include "placement/request.h"

namespace subak::eligibility {

// The value of a label, or nullptr. `labels` need not be sorted.
const std::string* label(const NodeSpec& node, std::string_view key);

// An empty key stands for every key, an empty effect for every effect; no operator means Equal.
bool tolerates(const Toleration& toleration, const Taint& taint);
// Each taint that blocks (NoSchedule, NoExecute) has a toleration.
bool tolerates_all(std::span<const Toleration> tolerations, std::span<const Taint> taints);
// Pods that tolerate the cordon's own taint may be bound to a cordoned node.
bool tolerates_cordon(std::span<const Toleration> tolerations);

// A label of the node, or its name, is as required. An operator that is not known matches nothing.
bool matches(const Requirement& requirement, const NodeSpec& node);
// Every label of the selector is there. Of an empty one: true.
bool matches_selector(std::span<const Label> selector, const NodeSpec& node);
// One term is met in all its requirements. Without terms: true.
bool matches_affinity(std::span<const AffinityTerm> terms, const NodeSpec& node);

// The node's GPUs are of an allowed product (suffixes of either side do not matter).
bool matches_product(std::span<const std::string> products, const NodeSpec& node);
// The node offers GPUs in the form that the pod asks for.
bool matches_kind(const PodShape& pod, const NodeSpec& node);

// All of the above; the same but for taints.
bool matches(const PodShape& pod, const NodeSpec& node);
bool matches_but_taints(const PodShape& pod, const NodeSpec& node);

// Host ports clash when port and protocol are the same and one address is 0.0.0.0 or both are
// equal.
bool clash(const HostPort& a, const HostPort& b);

}  // namespace subak::eligibility
