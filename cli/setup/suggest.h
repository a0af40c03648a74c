// Suggests a first account tree from a cluster's namespaces, as a file for `subak account apply`
// (`subak account suggest`). read_namespaces() reads the cluster. suggest() is a pure function that
// writes the file.
// Threads: one at a time.
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

// The options of a suggestion.
struct SuggestOptions {
  // The cluster's name in Subak. Each account then gets namespaces of this cluster only. Empty:
  // each account gets its namespaces in every cluster.
  std::string cluster;
  // The label whose value is the parent account of a namespace; empty: none.
  std::string group_key;
  // True: the file suggests accounts even for namespaces without GPUs.
  bool all = false;
  // True: ResourceQuotas of whole GPUs become limits. False: the file mentions these ResourceQuotas
  // in comments.
  bool limits = false;
  // Resources that count as GPUs, in addition to those of nvidia.com/.
  ExtraGpuResources gpu_kinds;
};

// What read_namespaces() has read about one namespace.
struct NamespaceFacts {
  // The value of the label `group_key`; empty: none.
  std::string group;
  // The value of the label subak.gpu/account; empty: none.
  std::string account;
  // The number of GPU pods that have not ended.
  std::size_t gpu_pods = 0;
  struct Quota {
    // The name, the key and the hard value: for example "q", "requests.nvidia.com/gpu" and "8".
    std::string name, key, hard;
    // True: the quota counts whole GPUs, and applies to all pods.
    bool whole = false;
  };
  // The namespace's ResourceQuotas of GPUs.
  std::vector<Quota> quotas;
};
using Namespaces = std::map<std::string, NamespaceFacts>;

// Reads all namespaces. An error means that one of the lists was unreadable.
Result<Namespaces> read_namespaces(KubeCaller& api, const SuggestOptions& options);

// The accounts that the service has.
struct KnownAccounts {
  // The paths of all accounts.
  std::set<std::string> paths;
  // The account of each namespace of this cluster that has an account.
  std::map<std::string, std::string> by_namespace;
};

// The suggested file with its figures.
struct Suggestion {
  // The file, in YAML. If there is nothing to suggest, the text is a valid file with no accounts.
  std::string text;
  // The number of namespaces that get an account of their own in the file.
  std::size_t namespaces = 0;
  // The number of namespaces with GPUs that already have an account.
  std::size_t kept = 0;
  // The number of namespaces with a name that the file cannot express.
  std::size_t unnamed = 0;
};

// Returns the suggestion, which is the same for the same input. Names from existing accounts and
// from account labels stay unchanged. New names come from namespaces and label values; suggest()
// changes characters that an account name must not have. If two new names would be equal, suggest()
// makes them different.
Suggestion suggest(const Namespaces& namespaces, const KnownAccounts& known,
                   const SuggestOptions& options);

}  // namespace subak::cli
