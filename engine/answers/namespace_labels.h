// Namespaces that name their account with the label subak.gpu/account. The label counts only if no
// account names the namespace in its settings (AccountSpec::namespaces). The state has one such map
// for each cluster, and the View (view.h) shows it to the webhook.
// Threads: any, because all data is read-only.
#pragma once

#include <string>

#include "core/shared_map.h"

namespace subak {

// One namespace of one cluster with its label.
struct NamespaceLabel {
  std::string ns;
  // The path of the account. The account need not exist yet.
  std::string account;
};
// The labels of one cluster, by namespace. Views share this map until a label changes.
using NamespaceLabels = SharedMap<NamespaceLabel>;

}  // namespace subak
