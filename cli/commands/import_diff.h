// The changes that `subak cluster import`, an import of nodes from a file, makes to its cluster.
// Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/text/account_fields.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {

// The differences between two lists of nodes.
struct ImportDiff {
  // One line for each node that differs, in the order of names: '+' added, '-' removed, '~'
  // changed.
  std::vector<DiffLine> lines;
  // The numbers of added, removed and changed nodes.
  std::size_t added = 0, removed = 0, changed = 0;
  // Returns "2 added, 1 changed, 0 removed".
  std::string summary() const;
};

// Compares two lists of nodes. The order of labels, taints and other lists in a node does not
// count.
ImportDiff import_diff(const std::vector<v1::NodeSpec>& before,
                       const std::vector<v1::NodeSpec>& after);

// Compares the nodes of the request with the nodes that the cluster has now. A cluster that does
// not exist yet has no nodes.
ImportDiff import_diff(Session& session, const v1::ImportNodesRequest& request);

// Prints the first lines of the diff, and the number of lines that it leaves out.
void print_import_diff(Session& session, const ImportDiff& diff);

}  // namespace subak::cli
