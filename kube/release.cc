#include "kube/release.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/patch.h"

namespace subak {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

std::string pin_to(std::string_view node) {
  std::string pin = R"({"key":"metadata.name","operator":"In","values":[)";
  append_json_string(pin, node);
  return pin + "]}";
}

// Returns the one node that the requirement names; empty if it names none.
std::string_view pin_of(json::Value requirement) {
  if (json::text(requirement, "key") != "metadata.name") return {};
  if (json::text(requirement, "operator") != "In") return {};
  const auto values = json::member(requirement, "values");
  std::size_t count = 0;
  std::string_view node;
  if (values) {
    json::each_item(*values, [&](std::size_t, json::Value value) {
      ++count;
      node = json::text(value);
    });
  }
  return count == 1 ? node : std::string_view();
}

bool has_items(json::Value v, std::string_view key) {
  simdjson::dom::array array;
  const auto found = json::member(v, key);
  return found && found->get(array) == simdjson::SUCCESS && array.size() > 0;
}

GatedPod::Term term_of(json::Value term) {
  GatedPod::Term out;
  out.has_fields = has_items(term, "matchFields");
  out.empty = !out.has_fields && !has_items(term, "matchExpressions");
  if (!out.has_fields) return out;
  json::each_item(*json::member(term, "matchFields"), [&](std::size_t, json::Value requirement) {
    if (const auto node = pin_of(requirement); !node.empty()) out.pin = node;
  });
  return out;
}

void read_affinity(json::Value spec, GatedPod& pod) {
  const auto affinity = json::member(spec, "affinity");
  if (!affinity) return;
  pod.affinity = GatedPod::Affinity::kOther;
  const auto of_nodes = json::member(*affinity, "nodeAffinity");
  if (!of_nodes) return;
  pod.affinity = GatedPod::Affinity::kPreferred;
  const auto required = json::member(*of_nodes, kRequired);
  if (!required) return;
  pod.affinity = GatedPod::Affinity::kRequired;
  if (const auto terms = json::member(*required, "nodeSelectorTerms")) {
    json::each_item(*terms,
                    [&](std::size_t, json::Value term) { pod.terms.push_back(term_of(term)); });
  }
}

// Adds the node to each term. Returns false if no term accepts a node.
bool narrow_terms(const std::vector<GatedPod::Term>& terms, const std::string& path,
                  std::string_view node, PatchWriter& patch) {
  bool any = false;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].empty) continue;
    any = true;
    if (terms[i].pin == node) continue;
    const std::string at = path + "/" + std::to_string(i) + "/matchFields";
    if (terms[i].has_fields) {
      patch.add(at + "/-", pin_to(node));
    } else {
      patch.add(at, "[" + pin_to(node) + "]");
    }
  }
  return any;
}

// Adds the node to the pod's required affinity. Returns false if the affinity accepts no node.
bool narrow(const GatedPod& pod, std::string_view node, PatchWriter& patch) {
  const std::string terms = R"({"nodeSelectorTerms":[{"matchFields":[)" + pin_to(node) + "]}]}";
  const std::string required = "\"" + std::string(kRequired) + "\":" + terms;
  const std::string path = "/spec/affinity/nodeAffinity/" + std::string(kRequired);
  switch (pod.affinity) {
    case GatedPod::Affinity::kNone:
      patch.add("/spec/affinity", R"({"nodeAffinity":{)" + required + "}}");
      return true;
    case GatedPod::Affinity::kOther:
      patch.add("/spec/affinity/nodeAffinity", "{" + required + "}");
      return true;
    case GatedPod::Affinity::kPreferred:
      patch.add(path, terms);
      return true;
    case GatedPod::Affinity::kRequired:
      break;
  }
  return narrow_terms(pod.terms, path + "/nodeSelectorTerms", node, patch);
}

std::optional<std::size_t> find_gate(json::Value spec) {
  std::optional<std::size_t> at;
  const auto gates = json::member(spec, "schedulingGates");
  if (!gates) return at;
  json::each_item(*gates, [&](std::size_t i, json::Value gate) {
    if (json::text(gate, "name") == names::kGate) at = i;
  });
  return at;
}

}  // namespace

Result<GatedPod> read_gated_pod(json::Value pod) {
  const auto metadata = json::member(pod, "metadata");
  const auto spec = json::member(pod, "spec");
  for (const std::string_view field : {"uid", "resourceVersion"}) {
    if (metadata && spec && !json::text(*metadata, field).empty()) continue;
    return Error{ErrorCode::kInvalid, "metadata." + std::string(field), "",
                 "want a pod as the API server sent it"};
  }
  const auto gate = find_gate(*spec);
  if (!gate) {
    return Error{ErrorCode::kPrecondition, "spec.schedulingGates", "",
                 "want " + std::string(names::kGate) + ", which is gone"};
  }
  GatedPod out;
  out.uid = json::text(*metadata, "uid");
  out.resource_version = json::text(*metadata, "resourceVersion");
  out.gate = *gate;
  const auto annotations = json::member(*metadata, "annotations");
  out.has_annotations = annotations && json::is_object(*annotations);
  if (out.has_annotations) {
    out.has_do_not_disrupt = json::member(*annotations, names::kDoNotDisrupt).has_value();
    out.has_safe_to_evict = json::member(*annotations, names::kSafeToEvict).has_value();
  }
  read_affinity(*spec, out);
  return out;
}

Result<std::string> release_patch(const GatedPod& pod, const Release& release) {
  const std::string at = "/spec/schedulingGates/" + std::to_string(pod.gate);
  PatchWriter patch;
  patch.test_text("/metadata/uid", pod.uid);
  patch.test_text("/metadata/resourceVersion", pod.resource_version);
  patch.test_text(at + "/name", names::kGate);
  if (!release.node.empty() && !narrow(pod, release.node, patch)) {
    return Error{ErrorCode::kPrecondition, "spec.affinity.nodeAffinity." + std::string(kRequired),
                 "", "want a term with a requirement: this accepts no node"};
  }
  std::vector<std::pair<std::string_view, std::string>> annotations{
      {names::kStatus, cut_text(release.status, limits::kMaxMessageBytes)}};
  if (release.protect && !pod.has_do_not_disrupt)
    annotations.emplace_back(names::kDoNotDisrupt, "true");
  if (release.protect && !pod.has_safe_to_evict)
    annotations.emplace_back(names::kSafeToEvict, "false");
  if (!release.request.empty()) {
    annotations.emplace_back(names::kConsumesRequest, release.request);
    annotations.emplace_back(names::kProvisioningClass, release.request_class);
  }
  patch.add_members("/metadata/annotations", pod.has_annotations, annotations);
  patch.remove(at);
  return std::move(patch).finish();
}

Result<std::string> release_patch(json::Value pod, const Release& release) {
  const Result<GatedPod> gated = read_gated_pod(pod);
  if (!gated) return gated.error();
  return release_patch(*gated, release);
}

}  // namespace subak
