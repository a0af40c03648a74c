// Pods as users write them, a kube-apiserver's reviews of them, and the stored pods.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "subak/v1/cluster_service.pb.h"
#include "tools/demo_edge/webhook.h"

namespace subak::demo {

// A value. Amounts are those of one container: `amount` of `resource`, `cores` CPUs and 8 GiB for
// each core.
struct PodWish {
  std::string ns, name, user;
  std::string resource = "nvidia.com/gpu";  // empty: no GPU
  int amount = 1;
  int cores = 8;
  std::string job;   // a batch/v1 Job that owns it; empty: bare
  std::string gang;  // an explicit gang of gang_size pods
  int gang_size = 0;
  std::string product;  // node selector; empty: any
  std::string node;     // spec.nodeName, which is refused
  int limit_s = 0;      // its time limit; 0: none
};

// Returns the manifest (core/v1 Pod) without a uid. Annotations and labels are those of
// docs/workloads.md.
nlohmann::json pod_of(const PodWish& wish);
// Returns an admission.k8s.io/v1 AdmissionReview for a CREATE by wish.user. `uid`: the review's.
nlohmann::json review_of(const nlohmann::json& pod, const PodWish& wish, const std::string& uid,
                         bool dry_run = false);

// Returns what the kube-apiserver stores: the pod with the answer's patch applied. Nothing if the
// patch does not apply.
// By RFC 6902.
std::optional<nlohmann::json> patched(const nlohmann::json& pod, const Verdict& verdict);
// Subak's scheduling gate (names::kGate).
bool has_gate(const nlohmann::json& pod);

// Returns the pod as a watch sends it. Nothing if it cannot be read.
// `stored` has a uid. It reads with the code of the real edge (kube/pod.h).
std::optional<v1::PodRecord> record_of(const nlohmann::json& stored);
// Does both: the stored pod gets its uid from its name. Nothing unless it is gated and names its
// account.
std::optional<v1::PodRecord> store_pod(const nlohmann::json& pod, const Verdict& verdict,
                                       const std::string& name);

}  // namespace subak::demo
