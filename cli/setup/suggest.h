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

struct SuggestOptions {
  std::string cluster;    // its name in Subak; empty: accounts name a namespace in every cluster
  std::string group_key;  // label whose value is the parent account of a namespace; empty: none
  bool all = false;       // namespaces without GPUs too
  bool limits = false;  // ResourceQuotas of whole GPUs become limits; else they are only mentioned
  ExtraGpuResources gpu_kinds;
};

// The data read of one namespace.
struct NamespaceFacts {
  std::string group;         // value of the label `group_key`; empty: none
  std::string account;       // value of its label subak.gpu/account
  std::size_t gpu_pods = 0;  // that have not ended
  struct Quota {
    std::string name, key, hard;  // "q", "requests.nvidia.com/gpu", "8"
    bool whole = false;           // of whole GPUs, and for all pods
  };
  std::vector<Quota> quotas;  // of GPUs
};
using Namespaces = std::map<std::string, NamespaceFacts>;

// Reads all namespaces. An error: one of the lists was unreadable.
Result<Namespaces> read_namespaces(KubeCaller& api, const SuggestOptions& options);

// The accounts that the service has.
struct KnownAccounts {
  std::set<std::string> paths;
  std::map<std::string, std::string> by_namespace;  // of this cluster
};

// The suggested file with its figures.
struct Suggestion {
  std::string text;            // YAML; without rows it is a valid file with no accounts
  std::size_t namespaces = 0;  // with an account of their own in it
  std::size_t kept = 0;        // with GPUs and with an existing account
  std::size_t unnamed = 0;     // with a name that the file cannot express
};

// Returns the suggestion, the same for the same input. Names from existing accounts and labels
// stay. New names come from namespaces and label values, made valid. Two equal names are made
// different.
Suggestion suggest(const Namespaces& namespaces, const KnownAccounts& known,
                   const SuggestOptions& options);

}  // namespace subak::cli
