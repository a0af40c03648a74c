// A first account tree, made of a cluster's namespaces, as a file for `subak account apply`. What is
// there is read by read_namespaces(); what to write is suggest(), a pure function. Threads: one.
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
  std::string group_key;  // label by whose value namespaces come below one account; empty: none
  bool all = false;       // namespaces without GPUs too
  bool limits = false;    // ResourceQuotas of whole GPUs become limits; else they are only told of
  ExtraGpuResources gpu_kinds;
};

// What is read of one namespace.
struct NamespaceFacts {
  std::string group;         // value of the label `group_key`; empty: it has none
  std::string account;       // value of its label subak.gpu/account
  std::size_t gpu_pods = 0;  // that have not ended
  struct Quota {
    std::string name, key, hard;  // "q", "requests.nvidia.com/gpu", "8"
    bool whole = false;           // of whole GPUs, and for all pods
  };
  std::vector<Quota> quotas;  // of GPUs
};
using Namespaces = std::map<std::string, NamespaceFacts>;

// All namespaces. An error: one of the lists could not be read.
Result<Namespaces> read_namespaces(KubeCaller& api, const SuggestOptions& options);

// What the service has already.
struct KnownAccounts {
  std::set<std::string> paths;
  std::map<std::string, std::string> by_namespace;  // of this cluster
};

struct Suggestion {
  std::string text;            // YAML; without a row it still is a file, of no accounts
  std::size_t namespaces = 0;  // that have an account of their own in it
  std::size_t kept = 0;        // with GPUs, and with an account already
  std::size_t unnamed = 0;     // whose name the file cannot say
};

// The same of the same. What an account or a label names already is kept as it is; new names are those
// of namespaces and label values, made valid, and told apart where two would be the same.
Suggestion suggest(const Namespaces& namespaces, const KnownAccounts& known,
                   const SuggestOptions& options);

}  // namespace subak::cli
