// What an import of nodes changes in its cluster. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "cli/account_fields.h"
#include "cli/session.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {

struct ImportDiff {
  std::vector<DiffLine> lines;  // '+' added, '-' removed, '~' changed; by name
  std::size_t added = 0, removed = 0, changed = 0;
  std::string summary() const;  // "2 added, 1 changed, 0 removed"
};

// `before` and `after` as lists of nodes. The order of labels, taints and the like does not count.
ImportDiff import_diff(const std::vector<v1::NodeSpec>& before,
                       const std::vector<v1::NodeSpec>& after);

// Against what the cluster has now; a cluster that does not exist yet has nothing.
ImportDiff import_diff(Session& session, const v1::ImportNodesRequest& request);

// The first lines of it; the rest is counted.
void print_import_diff(Session& session, const ImportDiff& diff);

}  // namespace subak::cli
