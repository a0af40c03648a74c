// The table of the kinds of owners that Subak reads: one row for each kind. An owner is an object
// that makes pods, such as a Job, or a group that pods name, such as a PodGroup. A new kind needs a
// row, a reader (OwnerReader) and a right in deploy/kubernetes/rbac.yaml.
// Threads: any; constant data and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "kube/owner_kind.h"
#include "kube/pod.h"

namespace subak {

class OwnerReader;

// Whether the edge, the part of Subak that watches a cluster, watches the objects of a kind.
enum class OwnerWatch : std::uint8_t {
  // If the API server serves the kind. It makes no gang, but it says which user made the pods.
  kForMaker,
  // Always: each cluster has the kind.
  kAlways,
  // If the API server serves the kind, or if it does not say whether it does.
  kUnlessAbsent,
  // If the API server serves the kind.
  kIfServed,
};

// Where a kind has the field by which an owner creates no pods.
enum class SuspendField : std::uint8_t {
  // Nowhere: the owners of this kind cannot be suspended.
  kNone,
  // spec.suspend
  kSpec,
  // spec.runPolicy.suspend
  kRunPolicy,
};

// What Subak knows of one kind of owner.
struct OwnerKindRow {
  OwnerKind kind{};
  // The kind and the API group as Kubernetes writes them: "MPIJob", "kubeflow.org".
  std::string_view name, group;
  // The versions that Subak reads, the best first. The remaining texts are empty.
  std::array<std::string_view, 2> versions{};
  // The name of the collection in a path: "mpijobs".
  std::string_view plural;
  OwnerWatch watch = OwnerWatch::kIfServed;
  // Reads spec and status of an object of this kind.
  void (OwnerReader::*read)(json::Value spec, std::optional<json::Value> status) = nullptr;
  // True: Subak may suspend the owner to end its pods, by spec.suspend.
  bool suspends = false;
  // The field that suspends the owner.
  SuspendField suspend = SuspendField::kNone;
  // True: no controller of pods, but a group that pods name by a mark (pod_groups_of()).
  bool is_group = false;
  // The labels of a pod that name its role (OwnerRole::name). The first that the pod has counts.
  // Empty: the owner has one role.
  std::array<std::string_view, 2> role_labels{};
  // True: the owner creates one owner, which creates the pods. The uid of the upper owner
  // identifies the gang, since Subak may park it before the lower owner exists.
  bool is_above = false;

  // True: Subak may park the owner (docs/design/0119), since it reads which pods the owner has.
  bool parks() const { return suspend != SuspendField::kNone; }
};

// Returns the rows in the order of OwnerKind.
std::span<const OwnerKindRow> owner_kinds();
inline const OwnerKindRow& row_of(OwnerKind kind) {
  return owner_kinds()[static_cast<std::size_t>(kind)];
}
// Returns the row of a kind in an API group; nullptr: Subak does not read the kind. `api_version`:
// "batch/v1", or a group alone. The version does not matter, because all versions of a kind have
// the same owner references.
const OwnerKindRow* find_owner_kind(std::string_view api_version, std::string_view kind);
// Returns the path of the kind's objects in all namespaces: "/apis/batch/v1/jobs".
std::string collection_of(const OwnerKindRow& row, std::string_view version);
// Returns the row whose objects have this path in one of its versions; nullptr: there is none.
const OwnerKindRow* find_collection(std::string_view path);

// True if the owner is suspended by the field of its kind. `spec`: of the owner.
bool is_suspended(const OwnerKindRow& row, json::Value spec);
// Returns the object that a merge patch (RFC 7386) has as "spec" to suspend or to resume an owner:
// {"suspend":true}, or {"runPolicy":{"suspend":true}}. `field` must not be kNone.
std::string suspension_patch(SuspendField field, bool suspend);

// Returns the role of a pod in an owner of this kind; empty: the pod's labels name none.
Text role_of(const OwnerKindRow& row, const Pod& pod);

// True if the pod's owner, or a group that the pod names, may say how many pods start together: the
// edge reads its kind, if the cluster has it.
bool size_may_come(const Pod& pod);

// True if the API server serves the kind in a version, so that it can be listed and watched.
// `resources`: the answer to GET /apis/GROUP/VERSION (k8s.io/apimachinery meta/v1 APIResourceList).
bool is_served(const OwnerKindRow& row, json::Value resources);

}  // namespace subak
