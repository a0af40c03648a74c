#include "kube/release.h"

#include <optional>

#include "core/cut.h"
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

bool is_pin(json::Value requirement, std::string_view node) {
  if (json::text(requirement, "key") != "metadata.name") return false;
  if (json::text(requirement, "operator") != "In") return false;
  const auto values = json::member(requirement, "values");
  std::size_t count = 0, same = 0;
  if (values) {
    json::each_item(*values, [&](std::size_t, json::Value value) {
      ++count;
      same += json::text(value) == node ? 1 : 0;
    });
  }
  return count == 1 && same == 1;
}

// A list of a term: how many there are, and whether one of them names the node.
struct Fields {
  std::size_t count = 0;
  bool pinned = false;
};
Fields fields_of(json::Value term, std::string_view list, std::string_view node) {
  Fields fields;
  const auto found = json::member(term, list);
  if (!found) return fields;
  json::each_item(*found, [&](std::size_t, json::Value requirement) {
    ++fields.count;
    fields.pinned = fields.pinned || is_pin(requirement, node);
  });
  return fields;
}

// False if there is no term that could take a node.
bool narrow_terms(json::Value terms, const std::string& path, std::string_view node,
                  PatchWriter& patch) {
  bool any = false;
  json::each_item(terms, [&](std::size_t i, json::Value term) {
    const Fields fields = fields_of(term, "matchFields", node);
    const bool empty = fields.count == 0 && fields_of(term, "matchExpressions", node).count == 0;
    if (empty) return;
    any = true;
    if (fields.pinned) return;
    const std::string at = path + "/" + std::to_string(i) + "/matchFields";
    if (fields.count == 0) {
      patch.add(at, "[" + pin_to(node) + "]");
    } else {
      patch.add(at + "/-", pin_to(node));
    }
  });
  return any;
}

// False if its affinity accepts no node.
bool narrow(json::Value spec, std::string_view node, PatchWriter& patch) {
  const std::string terms = R"({"nodeSelectorTerms":[{"matchFields":[)" + pin_to(node) + "]}]}";
  const std::string required = "\"" + std::string(kRequired) + "\":" + terms;
  const auto affinity = json::member(spec, "affinity");
  if (!affinity) {
    patch.add("/spec/affinity", R"({"nodeAffinity":{)" + required + "}}");
    return true;
  }
  const auto of_nodes = json::member(*affinity, "nodeAffinity");
  if (!of_nodes) {
    patch.add("/spec/affinity/nodeAffinity", "{" + required + "}");
    return true;
  }
  const std::string path = "/spec/affinity/nodeAffinity/" + std::string(kRequired);
  const auto old = json::member(*of_nodes, kRequired);
  if (!old) {
    patch.add(path, terms);
    return true;
  }
  const auto old_terms = json::member(*old, "nodeSelectorTerms");
  return old_terms && narrow_terms(*old_terms, path + "/nodeSelectorTerms", node, patch);
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

void annotate(std::optional<json::Value> metadata, std::string_view status, PatchWriter& patch) {
  const auto annotations = json::member(*metadata, "annotations");
  patch.add_members("/metadata/annotations", annotations && json::is_object(*annotations),
                    {{names::kStatus, cut_text(status, limits::kMaxMessageBytes)}});
}

}  // namespace

Result<std::string> release_patch(json::Value pod, const Release& release) {
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
  const std::string at = "/spec/schedulingGates/" + std::to_string(*gate);
  PatchWriter patch;
  patch.test_text("/metadata/uid", json::text(*metadata, "uid"));
  patch.test_text("/metadata/resourceVersion", json::text(*metadata, "resourceVersion"));
  patch.test_text(at + "/name", names::kGate);
  if (!release.node.empty() && !narrow(*spec, release.node, patch)) {
    return Error{ErrorCode::kPrecondition, "spec.affinity.nodeAffinity." + std::string(kRequired),
                 "", "want a term with a requirement: this accepts no node"};
  }
  annotate(metadata, release.status, patch);
  patch.remove(at);
  return std::move(patch).finish();
}

}  // namespace subak
