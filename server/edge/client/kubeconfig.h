// The address of an API server and the user for it. The source is a kubeconfig
// (kubernetes/client-go tools/clientcmd/api/v1), or the pod's service account (client-go
// rest/config.go). These functions do not read the files that a kubeconfig names, for example a
// token file. The code that connects reads these files, and reads them again when they change.
// Threads: any; pure functions.
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
  // An absolute path, or a name that is looked up in PATH.
  std::string command;
  // The arguments of the command.
  std::vector<std::string> args;
  // Variables that are added to the service's environment. These variables replace variables of the
  // same name.
  std::vector<std::pair<std::string, std::string>> env;
  // The version of its output: "client.authentication.k8s.io/v1" or
  // "client.authentication.k8s.io/v1beta1".
  std::string api_version;
  // A hint for people. The error has it if the plugin cannot be started.
  std::string install_hint;
  // True: the plugin gets the cluster's address and CA (provideClusterInfo).
  bool wants_cluster = false;
};

// A secret or a certificate: either its content or the path of its file.
struct PemOrPath {
  // The content, decoded from base64.
  std::string pem;
  // An absolute path.
  std::string path;
  // True if there is neither content nor path.
  bool empty() const { return pem.empty() && path.empty(); }
};

// Everything that is needed to reach an API server as one user.
struct KubeAccess {
  // The user's name in errors, such as "users[ana].user" or "serviceaccount"; empty: the user is
  // anonymous.
  std::string user;
  // The server's address, such as "https://10.0.0.1:6443", maybe with a path. The address begins
  // with "http:" only if the server is on this machine.
  std::string server;
  // The name that the server's certificate must have; empty: the host of `server`.
  std::string tls_server_name;
  // The server's CA; empty: the CAs of the system.
  PemOrPath authority;
  // True: the server's certificate is not verified.
  bool insecure = false;
  // The client's certificate and key. Either both are set, or neither.
  PemOrPath certificate, key;
  // The bearer token; empty: there is no token, or it is in the file `token_path`.
  std::string token;
  // The path of the file with the token; empty: there is no such file. The file is read again every
  // limits::kTokenFileMs.
  std::string token_path;
  // The plugin that prints the credential; nullopt: there is no plugin.
  std::optional<ExecPlugin> exec;
};

// True if `text` can be a token in a header: it contains no blank and no line end.
bool is_one_word(std::string_view text);

// Reads a kubeconfig. `folder`: the folder of the file; relative paths in the file begin there.
// `context`: the name of the context; empty: the one that current-context names. An error names the
// field as in the file, such as "users[ana].user.token". The function refuses the fields proxy-url,
// auth-provider, as and username, which Subak does not support.
Result<KubeAccess> read_kubeconfig(std::string_view text, std::string_view folder,
                                   std::string_view context);

// Returns the access that a pod has to the API server of its cluster. `host` and `port`: the values
// of the environment variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. `mount`: the
// folder of the service account. kPrecondition: the process does not run in a cluster.
Result<KubeAccess> in_cluster_access(std::string_view host, std::string_view port,
                                     std::string_view mount);

}  // namespace subak
