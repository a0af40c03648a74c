// Namespaces that name their account by the label subak.gpu/account. It counts where no account names the
// namespace (product contract, "Names and ports"). Threads: any, read-only.
#pragma once

#include <string>

#include "core/shared_map.h"

namespace subak {

struct NamespaceLabel {
  std::string ns;
  std::string account;  // a path; there need be no such account yet
};
using NamespaceLabels = SharedMap<NamespaceLabel>;  // by namespace

}  // namespace subak
