// The options of commands that connect to a Kubernetes cluster directly. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/setup/kube_caller.h"
#include "cli/text/failure.h"

namespace subak::cli {

// The kubeconfig file and the context in this file. If a field is empty, the command chooses its
// value as kubectl does.
struct KubeOptions {
  std::string kubeconfig, context;
};
// Adds --kubeconfig and --context.
void add_kube(Command& command, KubeOptions& options);

// Prepares calls to the API server. Throws Failure if the kubeconfig does not exist (exit code 4),
// if one of its fields is wrong (2), or if `kubeconfig` names several files (2).
std::unique_ptr<KubeCaller> open_kube(const KubeOptions& options);
// Returns the failure with which a command ends after the API server refused a call or did not
// answer.
Failure kube_failure(const Error& error);

}  // namespace subak::cli
