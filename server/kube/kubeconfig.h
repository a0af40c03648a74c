// Where an API server is, and who we are there: from a kubeconfig (kubernetes/client-go
// tools/clientcmd/api/v1), or as a pod of the cluster (client-go rest/config.go). Read only: files
// that are named are read by who connects, and again when they change. Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak {

// A program that prints a credential (client-go pkg/apis/clientauthentication/v1).
struct ExecPlugin {
  std::string command;  // absolute, or looked up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;
  bool wants_cluster = false;  // provideClusterInfo
};

// A secret or certificate: as it stands in the file, or where it is.
struct PemOrPath {
  std::string pem;   // decoded
  std::string path;  // absolute
  bool empty() const { return pem.empty() && path.empty(); }
};

struct KubeAccess {
  std::string user;    // as errors call it: "users[ana].user", "serviceaccount"; empty: nobody
  std::string server;  // "https://10.0.0.1:6443", maybe with a path; http of this machine only
  std::string tls_server_name;
  PemOrPath authority;  // empty: the system's
  bool insecure = false;
  PemOrPath certificate, key;  // both or none
  std::string token;
  std::string token_path;  // read again at least once a minute
  std::optional<ExecPlugin> exec;
};

// Could it be a token in a header: nothing in it ends a line or a word?
bool is_one_word(std::string_view text);

// `folder`: of the file, where relative paths begin. `context`: empty for current-context. An error
// names the field as it stands in the file: "users[ana].user.token". Refused, as they would not do
// what they say: proxy-url, auth-provider, as, username.
Result<KubeAccess> read_kubeconfig(std::string_view text, std::string_view folder,
                                   std::string_view context);

// As a pod: `host` and `port` are KUBERNETES_SERVICE_HOST and _PORT, `mount` the folder of the
// service account. kPrecondition: we are not in a cluster.
Result<KubeAccess> in_cluster_access(std::string_view host, std::string_view port,
                                     std::string_view mount);

}  // namespace subak
