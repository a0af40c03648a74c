// The namespace that a command of the plugin `kubectl subak` is about, and its account.
// Threads: one at a time.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/kube_options.h"
#include "cli/session.h"

namespace subak::cli {

// The options that choose a namespace, as kubectl has them.
struct NamespaceOptions {
  // The namespace of --namespace. Empty: the namespace of the kubeconfig's context.
  std::string ns;
  // The cluster's name in Subak. Empty: the only cluster.
  std::string cluster;
  // True: all namespaces.
  bool all = false;
  KubeOptions kube;
};
// Adds --namespace, --all-namespaces, --cluster, --kubeconfig and --context. If `all_too` is
// false, it leaves out --all-namespaces.
void add_namespace(Command& command, NamespaceOptions& options, bool all_too);

// Returns the namespace. Reads the kubeconfig only if --namespace is missing. Throws Failure if the
// kubeconfig is unreadable or wrong (2), or has no such context (4).
std::string namespace_of(const NamespaceOptions& options);
// Returns the path of the account whose pods are in the namespace. Returns "", which means all
// accounts, with --all-namespaces. Also returns "" if the service is unreachable, because the next
// call reports that. Throws Failure if no account has the namespace or there is no such cluster
// (4), or if there are several clusters and no --cluster (2). Also throws the failures of
// namespace_of() and Client::call().
std::string account_of(Session& session, const NamespaceOptions& options);

// The most jobs whose pods job_of() reads to find a pod.
inline constexpr int kMostJobs = 1000;
// Returns the id of the job that `name` means: an id such as "1-42", the name of a job, or the name
// of a pod ("train-0", "pod/train-0"). Lists all jobs of the namespace's account, unless `name` is
// an id. To find a pod, it asks the service for the pods of at most kMostJobs of these jobs, those
// with a similar name first. Throws Failure (4) if there is no such job, and (2) if several jobs
// have this name.
std::string job_of(Session& session, const NamespaceOptions& options, const std::string& name);

}  // namespace subak::cli
