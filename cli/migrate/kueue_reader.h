// Reads Kueue's objects from YAML or JSON: manifests, or the output of `kubectl get -o yaml`.
// kueue_tree.h turns them into accounts.
// Threads: any; pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/migrate/migration.h"

namespace subak::cli {

// The quota of whole GPUs of one flavor.
struct KueueQuota {
  SourceLine at;
  std::string flavor;
  // Whole GPUs. nullopt: no limit.
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing, lending;
};

// A ClusterQueue or a Cohort.
struct KueueNode {
  SourceLine at;
  std::string name;
  // The cohort above; empty: none.
  std::string cohort;
  std::vector<KueueQuota> quotas;
  // The weight in thousandths.
  std::int64_t weight_milli = 1000;
  // For a ClusterQueue: whether stopPolicy holds it, and the two policies of `preemption`.
  bool held = false;
  std::string reclaim = "Never";
  std::string within_queue = "Never";
};

// A LocalQueue: its name, its namespace and the ClusterQueue that it names.
struct KueueLocalQueue {
  SourceLine at;
  std::string name, ns, queue;
};

// The objects of all files.
struct KueueObjects {
  // By name.
  std::map<std::string, KueueNode> queues, cohorts;
  // By namespace and name.
  std::map<std::string, KueueLocalQueue> local_queues;
  // The product of each flavor: "gpu" if its node labels name no product.
  std::map<std::string, std::string> flavors;
  // The number of quotas read so far, of any resource.
  std::size_t quotas = 0;
};

// Reads the file and adds its objects. Priority classes go to `out.classes`, and fields without an
// equivalent to `out.unmatched`. Throws MigrateMistake.
void read_kueue(const SourceFile& file, std::size_t index, const MigrateOptions& options,
                KueueObjects& objects, Migration& out);

}  // namespace subak::cli
