// The NVLink of a node: its clique and the domains inside it.
#include <algorithm>

#include "core/limits.h"
#include "core/names.h"
#include "core/text.h"
#include "kube/node/node_gpus.h"
#include "kube/node/node_labels.h"
#include "model/product.h"

namespace subak {
namespace {

// Checks "<ClusterUUID>.<CliqueID>", the id a decimal number. Returns what is wrong.
std::string wrong_in_clique(std::string_view clique, const std::string& product) {
  const std::size_t dot = clique.rfind('.');
  const std::string_view uuid = clique.substr(0, dot);
  const std::string_view id = dot == std::string_view::npos ? "" : clique.substr(dot + 1);
  const bool number =
      !id.empty() && std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (uuid.empty() || !number) return "is no ClusterUUID.CliqueID";
  if (uuid.find_first_not_of("0-") == std::string_view::npos) return "has a ClusterUUID of zeros";
  if (nvlink_joins_nodes(product)) return "";
  return "contradicts " + label_text(names::kLabelProduct, product) + ": no NVLink between nodes";
}

void read_clique(NodeSpec& node, Contradictions& out) {
  node.clique = find_label(node, names::kLabelClique);
  if (node.clique.empty()) return;
  const std::string wrong = wrong_in_clique(node.clique, node.product);
  if (wrong.empty()) return;
  out.push_back(label_text(names::kLabelClique, node.clique) + " " + wrong);
  node.clique.clear();
}

}  // namespace

void read_nvlink(NodeSpec& node, Contradictions& out) {
  read_clique(node, out);
  if (node.gpus == 0) return;
  node.gpus_per_domain = node.clique.empty() ? gpus_per_nvlink_domain(node.product) : 0;
  const std::string said = find_label(node, names::kLabelGpusPerDomain);
  if (said.empty()) return;
  const std::int64_t joined = label_number(said).value_or(0);
  const auto refuse = [&](const std::string& wrong) {
    out.push_back(label_text(names::kLabelGpusPerDomain, said) + " " + wrong);
  };
  constexpr auto kMost = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
  if (joined == 0 || joined > kMost) {
    if (node.clique.empty()) node.gpus_per_domain = 1;
    return refuse("is no number from 1 to " + std::to_string(kMost));
  }
  if (joined > 1 && !has_nvlink(node.product)) {
    return refuse("contradicts " + label_text(names::kLabelProduct, node.product) + ": no NVLink");
  }
  if (!node.clique.empty()) {
    if (joined >= node.gpus) return;
    return refuse("contradicts " + label_text(names::kLabelClique, node.clique) +
                  ", which joins all " + std::to_string(node.gpus));
  }
  node.gpus_per_domain = joined > 1 && joined >= node.gpus ? 0 : joined;
}

}  // namespace subak
