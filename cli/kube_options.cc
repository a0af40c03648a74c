#include "cli/kube_options.h"

#include <cstdlib>

namespace subak::cli {

void add_kube(Command& command, KubeOptions& options) {
  command.option("--kubeconfig", options.kubeconfig,
                 "kubeconfig of an operator; default ~/.kube/config", "FILE", "KUBECONFIG");
  command.option("--context", options.context, "context of the kubeconfig; default its current one",
                 "NAME");
}

std::unique_ptr<KubeCaller> open_kube(const KubeOptions& options) {
  std::string path = options.kubeconfig;
  if (path.find(':') != std::string::npos) {
    throw usage_failure("--kubeconfig: was \"" + path + "\", want one file",
                        "kubectl config view --flatten makes one of several");
  }
  if (path.empty()) {
    const char* const home = std::getenv("HOME");
    path = std::string(home == nullptr ? "" : home) + "/.kube/config";
  }
  auto api = open_kube(path, options.context);
  if (api) return std::move(api).value();
  const Error& error = api.error();
  throw Failure{error.code == ErrorCode::kNotFound ? kExitNotFound : kExitUsage, error.message(),
                "--kubeconfig FILE names another"};
}

Failure kube_failure(const Error& error) {
  const bool away = error.code == ErrorCode::kPrecondition;
  Failure failure{away ? kExitUnreachable : kExitRefused, error.field + ": " + error.got,
                  error.want};
  if (error.got.empty()) failure.what = error.field;
  return failure;
}

}  // namespace subak::cli
