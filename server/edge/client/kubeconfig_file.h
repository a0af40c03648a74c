// Reads a kubeconfig from disk. Threads: any.
#pragma once

#include <string>

#include "core/error.h"
#include "server/edge/client/kubeconfig.h"

namespace subak {

// Works as read_kubeconfig(), for a file on disk. A relative `path` begins at the working folder.
// Relative paths in the file begin at the folder of the file. kNotFound: the file cannot be read.
// The other errors are those of read_kubeconfig(). It reads at most one byte more than
// limits::kMaxKubeconfigBytes, so that read_kubeconfig() refuses a file that is too large.
Result<KubeAccess> read_kubeconfig_file(const std::string& path, const std::string& context);

}  // namespace subak
