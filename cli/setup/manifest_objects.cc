#include "cli/setup/manifest_objects.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "cli/setup/manifest_texts.h"
#include "core/must.h"

namespace subak::cli {
namespace {

struct Kind {
  std::string_view name, plural;
};
constexpr std::array<Kind, 6> kGuards{{
    {"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"},
    {"MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"},
    {"ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
    {"MutatingAdmissionPolicy", "mutatingadmissionpolicies"},
    {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"},
    {"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
}};
constexpr std::array<Kind, 4> kRights{{
    {"PriorityClass", "priorityclasses"},
    {"FlowSchema", "flowschemas"},
    {"ClusterRoleBinding", "clusterrolebindings"},
    {"ClusterRole", "clusterroles"},
}};

std::vector<YAML::Node> documents(std::string_view file) {
  const std::string_view text = manifest_text(file);
  must(!text.empty(), "deploy/kubernetes has the file");
  return YAML::LoadAll(std::string(text));
}

template <std::size_t N>
std::vector<std::string> paths(const std::array<Kind, N>& kinds,
                               std::initializer_list<std::string_view> files) {
  std::vector<YAML::Node> all;
  for (const std::string_view file : files) {
    for (YAML::Node& document : documents(file)) all.push_back(std::move(document));
  }
  std::vector<std::string> out;
  for (const Kind& kind : kinds) {
    for (const YAML::Node& document : all) {
      if (document["kind"].Scalar() != kind.name) continue;
      out.push_back("/apis/" + document["apiVersion"].Scalar() + "/" + std::string(kind.plural) +
                    "/" + document["metadata"]["name"].Scalar());
    }
  }
  return out;
}

}  // namespace

std::vector<ServiceRight> service_rights() {
  std::vector<ServiceRight> out;
  for (const YAML::Node& document : documents("rbac.yaml")) {
    if (document["kind"].Scalar() != "ClusterRole") continue;
    for (const YAML::Node& rule : document["rules"]) {
      for (const YAML::Node& group : rule["apiGroups"]) {
        for (const YAML::Node& resource : rule["resources"]) {
          const std::string& name = resource.Scalar();
          const std::size_t slash = std::min(name.find('/'), name.size());
          const std::string sub = slash == name.size() ? "" : name.substr(slash + 1);
          for (const YAML::Node& verb : rule["verbs"]) {
            out.push_back({verb.Scalar(), group.Scalar(), name.substr(0, slash), sub});
          }
        }
      }
    }
  }
  return out;
}

std::vector<std::string> guard_paths() {
  return paths(kGuards,
               {"webhooks.yaml", "webhook-update.yaml", "policies.yaml", "gate-policy.yaml"});
}

std::vector<std::string> right_paths() {
  return paths(kRights, {"priority-class.yaml", "flow.yaml", "rbac.yaml", "preflight.yaml"});
}

}  // namespace subak::cli
