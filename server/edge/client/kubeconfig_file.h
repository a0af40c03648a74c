// A kubeconfig on disk. Threads: any.
#pragma once

#include <string>

#include "core/error.h"
#include "server/edge/client/kubeconfig.h"

namespace subak {

// As read_kubeconfig(), for a file. Paths in it begin at its folder. kNotFound: it cannot be read.
// A relative `path` counts from the working folder. It reads limits::kMaxKubeconfigBytes and one
// byte more, so that read_kubeconfig() sees a file that is too large. `context` and other errors as
// there.
Result<KubeAccess> read_kubeconfig_file(const std::string& path, const std::string& context);

}  // namespace subak
