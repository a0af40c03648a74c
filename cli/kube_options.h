// The options of commands that connect to a Kubernetes cluster directly. Threads: none.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/setup/kube_caller.h"
#include "cli/text/failure.h"

namespace subak::cli {

// The kubeconfig file and the context in it. Empty: as kubectl chooses them.
struct KubeOptions {
  std::string kubeconfig, context;
};
// Adds --kubeconfig and --context.
void add_kube(Command& command, KubeOptions& options);

// Connects. Throws Failure: no such file (4), or a wrong field in it (2).
std::unique_ptr<KubeCaller> open_kube(const KubeOptions& options);
// Returns the command's failure after a refusal of the API server.
Failure kube_failure(const Error& error);

}  // namespace subak::cli
