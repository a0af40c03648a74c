// Suggests a first account tree from a cluster's namespaces, as a file for `subak account apply`.
// read_namespaces() reads the cluster. suggest() writes the file, as a pure function. Threads: one.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "core/error.h"
#include "kube/pod.h"

namespace subak::cli {

// What the suggestion covers.
struct SuggestOptions {
  // Its name in Subak; empty: accounts name a namespace in every cluster.
  std::string cluster;
  // The label whose value is the parent account of a namespace; empty: none.
  std::string group_key;
  // Namespaces without GPUs too.
  bool all = false;
  // ResourceQuotas of whole GPUs become limits. Else comments mention them.
  bool limits = false;
  // Resources that count as GPUs, beside nvidia.com/.
  ExtraGpuResources gpu_kinds;
};

// The data read of one namespace.
struct NamespaceFacts {
  // The value of the label `group_key`; empty: none.
  std::string group;
  // The value of its label subak.gpu/account; empty: none.
  std::string account;
  // GPU pods that have not ended.
  std::size_t gpu_pods = 0;
  struct Quota {
    // "q", "requests.nvidia.com/gpu", "8".
    std::string name, key, hard;
    // It counts whole GPUs, and applies to all pods.
    bool whole = false;
  };
  // Its ResourceQuotas of GPUs.
  std::vector<Quota> quotas;
};
using Namespaces = std::map<std::string, NamespaceFacts>;

// Reads all namespaces. An error: one of the lists was unreadable.
Result<Namespaces> read_namespaces(KubeCaller& api, const SuggestOptions& options);

// The accounts that the service has.
struct KnownAccounts {
  // Of all accounts.
  std::set<std::string> paths;
  // The account of each namespace of this cluster that has one.
  std::map<std::string, std::string> by_namespace;
};

// The suggested file with its figures.
struct Suggestion {
  // YAML. Without rows it is a valid file with no accounts.
  std::string text;
  // Namespaces that get an account of their own in the file.
  std::size_t namespaces = 0;
  // Namespaces with GPUs that already have an account.
  std::size_t kept = 0;
  // Namespaces with a name that the file cannot express.
  std::size_t unnamed = 0;
};

// Returns the suggestion, the same for the same input. Names from existing accounts and labels
// stay. New names come from namespaces and label values, made valid. Two equal names are made
// different.
Suggestion suggest(const Namespaces& namespaces, const KnownAccounts& known,
                   const SuggestOptions& options);

}  // namespace subak::cli
