// Namespaces that name their account with the label subak.gpu/account. The label counts if no
// account names the namespace (product contract, "Names and ports"). Threads: any, read-only.
#pragma once

#include <string>

#include "core/shared_map.h"

namespace subak {

struct NamespaceLabel {
  std::string ns;
  std::string account;  // a path; the account need not exist yet
};
using NamespaceLabels = SharedMap<NamespaceLabel>;  // by namespace

}  // namespace subak
