// What commands have that look at a cluster by themselves. Threads: none.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/setup/kube_caller.h"

namespace subak::cli {

struct KubeOptions {
  std::string kubeconfig, context;
};
void add_kube(Command& command, KubeOptions& options);

// Throws Failure: no such file (4), a field of it is wrong (2).
std::unique_ptr<KubeCaller> open_kube(const KubeOptions& options);
// How the command ends where the API server said no.
Failure kube_failure(const Error& error);

}  // namespace subak::cli
