// A kubeconfig on disk. Threads: any.
#pragma once

#include <string>

#include "core/error.h"
#include "server/edge/client/kubeconfig.h"

namespace subak {

// As read_kubeconfig(), for a file. Relative paths in the file begin at its folder. A relative
// `path` begins at the working folder. kNotFound: the file cannot be read. `context` and other
// errors are as for read_kubeconfig().
// It reads at most limits::kMaxKubeconfigBytes and one byte more, so that read_kubeconfig() refuses
// a file that is too large.
Result<KubeAccess> read_kubeconfig_file(const std::string& path, const std::string& context);

}  // namespace subak
