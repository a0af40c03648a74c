// Pods as people write them, the reviews that a kube-apiserver makes of them, and what it stores.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "subak/v1/cluster_service.pb.h"
#include "tools/demo_edge/webhook.h"

namespace subak::demo {

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
  int limit_s = 0;      // its time limit; 0: it states none
};

nlohmann::json pod_of(const PodWish& wish);
nlohmann::json review_of(const nlohmann::json& pod, const PodWish& wish, const std::string& uid,
                         bool dry_run = false);

// What the kube-apiserver stores: the pod with the answer's patch applied.
// Nothing if the patch does not apply.
std::optional<nlohmann::json> patched(const nlohmann::json& pod, const Verdict& verdict);
bool has_gate(const nlohmann::json& pod);

// The pod as a watch sends it. Nothing if it is not understood.
std::optional<v1::PodRecord> record_of(const nlohmann::json& stored);
// Both: the stored pod gets its uid from its name. Nothing unless it is gated and says its account.
std::optional<v1::PodRecord> store_pod(const nlohmann::json& pod, const Verdict& verdict,
                                       const std::string& name);

}  // namespace subak::demo
