#include "cli/setup/kube_context.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "server/yaml/document.h"

namespace subak::cli {
namespace {

Error bad(std::string field, std::string_view got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), cut_text(got), "want " + std::move(want)};
}

std::string text_of(const YAML::Node& node, const char* key) {
  if (!node.IsMap()) return "";
  const YAML::Node value = node[key];
  return value && value.IsScalar() ? value.Scalar() : "";
}

// Returns the context of this name; nullopt if the file has no such context.
std::optional<YAML::Node> find_context(const YAML::Node& root, std::string_view name) {
  const YAML::Node list = root["contexts"];
  if (!list || !list.IsSequence()) return std::nullopt;
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap() || text_of(entry, "name") != name) continue;
    const YAML::Node context = entry["context"];
    return context ? context : YAML::Node();
  }
  return std::nullopt;
}

}  // namespace

bool is_namespace(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

Result<std::string> context_namespace(const std::vector<std::string>& texts,
                                      std::string_view context) {
  std::vector<YAML::Node> roots;
  std::string name(context);
  for (const std::string& text : texts) {
    const YamlDocument document = read_yaml(text);
    if (document.mistake) {
      return bad("kubeconfig line " + std::to_string(document.mistake->line),
                 document.mistake->what, "YAML");
    }
    if (document.root.IsNull()) continue;
    if (!document.root.IsMap()) return bad("kubeconfig", text, "a map with contexts");
    roots.push_back(document.root);
    if (name.empty()) name = text_of(document.root, "current-context");
  }
  if (name.empty()) return std::string(kDefaultNamespace);
  for (const YAML::Node& root : roots) {
    const auto found = find_context(root, name);
    if (!found) continue;
    std::string ns = text_of(*found, "namespace");
    if (ns.empty()) return std::string(kDefaultNamespace);
    if (!is_namespace(ns)) {
      return bad("contexts[" + cut_text(name) + "].context.namespace", ns,
                 "the name of a namespace");
    }
    return ns;
  }
  return Error{ErrorCode::kNotFound, "context", cut_text(name), "want a context of the kubeconfig"};
}

}  // namespace subak::cli
