// Decides whether a pod may run on a node at all. The functions are pure, and check the static
// parts of kube-scheduler's filters: node selector, required node affinity, taints, GPU kind and
// product. Other code checks whether the node is up and has room.
// Threads: any; pure functions. Private to placement.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/request.h"

namespace subak::eligibility {

// Returns the value of a label, or nullptr. The node's labels need not be sorted.
const std::string* label(const NodeSpec& node, std::string_view key);

// True if the toleration covers the taint. An empty key means every key. An empty effect means
// every effect. An empty operator means Equal.
bool tolerates(const Toleration& toleration, const Taint& taint);
// True if each blocking taint (NoSchedule, NoExecute) has a toleration.
bool tolerates_all(std::span<const Toleration> tolerations, std::span<const Taint> taints);
// True if the pod tolerates the taint of a cordon. Such a pod may be bound to a cordoned node.
bool tolerates_cordon(std::span<const Toleration> tolerations);

// True if a label of the node, or the node's name, meets the requirement. An unknown operator
// matches no node.
bool matches(const Requirement& requirement, const NodeSpec& node);
// True if the node has every label of the selector. An empty selector matches.
bool matches_selector(std::span<const Label> selector, const NodeSpec& node);
// True if the node meets all requirements of at least one term, or if there are no terms.
bool matches_affinity(std::span<const AffinityTerm> terms, const NodeSpec& node);

// True if the node's GPUs are of an allowed product. Suffixes such as "-SHARED" do not matter on
// either side.
bool matches_product(std::span<const std::string> products, const NodeSpec& node);
// True if the node offers GPUs in the form that the pod asks for.
bool matches_kind(const PodShape& pod, const NodeSpec& node);

// matches() is true if all of the checks above are true. matches_but_taints() ignores taints.
bool matches(const PodShape& pod, const NodeSpec& node);
bool matches_but_taints(const PodShape& pod, const NodeSpec& node);

// True if the ports conflict: port and protocol are the same, and the addresses are equal or one of
// them is 0.0.0.0.
bool clash(const HostPort& a, const HostPort& b);

}  // namespace subak::eligibility
