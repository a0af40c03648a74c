#include "kube/volume/volume.h"

#include <algorithm>
#include <optional>

#include "core/limits.h"
#include "kube/pod.h"

namespace subak {
namespace {

// Lets a list of any length through up to the engine's limit and one item more, for which the pod
// is refused.
auto up_to_the_limit() {
  return [taken = std::size_t{0}]() mutable { return ++taken <= limits::kMaxSelectorTerms + 1; };
}

// Reads one term of allowedTopologies: each of its keys must have one of the values.
AffinityTerm read_topology(json::Value term) {
  AffinityTerm out;
  const auto expressions = json::member(term, "matchLabelExpressions");
  if (!expressions) return out;
  json::each_item(*expressions, [&](std::size_t i, json::Value one) {
    if (i > limits::kMaxSelectorTerms) return;
    Requirement& r = out.requirements.emplace_back();
    r.key = json::text(one, "key");
    r.op = "In";
    const auto values = json::member(one, "values");
    if (!values) return;
    json::each_item(*values, [&](std::size_t, json::Value value) {
      if (r.values.size() <= limits::kMaxTermValues) r.values.emplace_back(json::text(value));
    });
  });
  return out;
}

}  // namespace

std::vector<PodVolume> read_pod_volumes(json::Value pod) {
  std::vector<PodVolume> out;
  const auto spec = json::member(pod, "spec");
  const auto volumes = spec ? json::member(*spec, "volumes") : std::nullopt;
  if (!volumes) return out;
  json::each_item(*volumes, [&](std::size_t, json::Value volume) {
    if (out.size() == limits::kMaxPodListItems) return;
    if (const auto claim = json::member(volume, "persistentVolumeClaim")) {
      out.push_back({std::string(json::text(*claim, "claimName")), false});
    } else if (json::member(volume, "ephemeral")) {
      // The name of the claim that Kubernetes makes for a generic ephemeral volume.
      out.push_back({std::string(json::text_in(pod, "metadata", "name")) + "-" +
                         std::string(json::text(volume, "name")),
                     true});
    }
  });
  return out;
}

VolumeClaim read_volume_claim(json::Value object) {
  VolumeClaim out;
  out.volume = json::text_in(object, "spec", "volumeName");
  out.storage_class = json::text_in(object, "spec", "storageClassName");
  out.lost = json::text_in(object, "status", "phase") == "Lost";
  return out;
}

std::vector<AffinityTerm> read_volume_nodes(json::Value object) {
  const auto spec = json::member(object, "spec");
  const auto affinity = spec ? json::member(*spec, "nodeAffinity") : std::nullopt;
  const auto required = affinity ? json::member(*affinity, "required") : std::nullopt;
  const auto terms = required ? json::member(*required, "nodeSelectorTerms") : std::nullopt;
  return terms ? read_node_terms(*terms, up_to_the_limit()) : std::vector<AffinityTerm>();
}

StorageClass read_storage_class(json::Value object) {
  StorageClass out;
  out.waits_for_pod = json::text(object, "volumeBindingMode") == "WaitForFirstConsumer";
  const auto topologies = json::member(object, "allowedTopologies");
  if (!topologies) return out;
  json::each_item(*topologies, [&](std::size_t i, json::Value term) {
    if (i <= limits::kMaxSelectorTerms) out.nodes.push_back(read_topology(term));
  });
  return out;
}

std::vector<AffinityTerm> both_of(const std::vector<AffinityTerm>& a,
                                  const std::vector<AffinityTerm>& b) {
  if (a.empty() || a == b) return b;
  if (b.empty()) return a;
  std::vector<AffinityTerm> out;
  for (const AffinityTerm& one : a) {
    for (const AffinityTerm& other : b) {
      AffinityTerm& both = out.emplace_back(one);
      // A term without requirements matches no node.
      if (one.requirements.empty() || other.requirements.empty()) {
        both.requirements.clear();
        continue;
      }
      for (const Requirement& r : other.requirements) {
        if (std::find(both.requirements.begin(), both.requirements.end(), r) ==
            both.requirements.end())
          both.requirements.push_back(r);
      }
    }
  }
  return out;
}

}  // namespace subak
