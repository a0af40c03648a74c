// Makes pods as users write them, the AdmissionReviews that a kube-apiserver sends for them, and
// the pods that the kube-apiserver stores.
// Threads: any; pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "subak/v1/cluster_service.pb.h"
#include "tools/demo_edge/webhook.h"

namespace subak::demo {

// The pod that a user wants, before it exists. It has one container, which requests `amount` of
// `resource`, `cores` CPUs, and 8 GiB for each core.
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

// Returns the manifest (core/v1 Pod) without a uid, with annotations and labels as in
// docs/workloads.md.
nlohmann::json pod_of(const PodWish& wish);
// Returns an admission.k8s.io/v1 AdmissionReview for a CREATE by wish.user. `uid`: the review's.
nlohmann::json review_of(const nlohmann::json& pod, const PodWish& wish, const std::string& uid,
                         bool dry_run = false);

// Returns the pod that the kube-apiserver stores: `pod` after the answer's patch (RFC 6902).
// Nothing if the patch cannot be applied.
std::optional<nlohmann::json> patched(const nlohmann::json& pod, const Verdict& verdict);
// True if the pod has Subak's scheduling gate (names::kGate).
bool has_gate(const nlohmann::json& pod);

// Returns the pod as a watch sends it. Nothing if it cannot be read.
// `stored` must have a uid. The function uses the code of the real edge (kube/pod.h).
std::optional<v1::PodRecord> record_of(const nlohmann::json& stored);
// Does what the kube-apiserver and a watch do: patched(), a uid made from `name`, record_of().
// Returns nothing if the pod is not gated, or names no account.
std::optional<v1::PodRecord> store_pod(const nlohmann::json& pod, const Verdict& verdict,
                                       const std::string& name);

}  // namespace subak::demo
