// The address of an API server and the user for it. The source is a kubeconfig
// (kubernetes/client-go tools/clientcmd/api/v1), or the pod's service account (client-go
// rest/config.go). These functions do not read the files that a kubeconfig names. The code that
// connects reads them, and reads them again when they change. Threads: pure functions.
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
  // Its arguments, without the command.
  std::vector<std::string> args;
  // Variables that are added to the service's environment. They replace variables of the same name.
  std::vector<std::pair<std::string, std::string>> env;
  // "client.authentication.k8s.io/v1" or "/v1beta1".
  std::string api_version;
  // A hint for people, shown in the error if there is no such program.
  std::string install_hint;
  // True: the plugin gets the cluster's address and CA (provideClusterInfo).
  bool wants_cluster = false;
};

// A secret or certificate, as its content or its path.
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
  // The name in errors: "users[ana].user", "serviceaccount"; empty: anonymous.
  std::string user;
  // Such as "https://10.0.0.1:6443", maybe with a path.
  // It is http only for a server on this machine.
  std::string server;
  // The name that the server's certificate must have; empty: the host of `server`.
  std::string tls_server_name;
  // The server's CA; empty: the CAs of the system.
  PemOrPath authority;
  // True: the server's certificate is not verified.
  bool insecure = false;
  // The client's certificate and key. Both are set, or none.
  PemOrPath certificate, key;
  // The bearer token; empty: there is none, or it is in the file `token_path`.
  std::string token;
  // The file with the token, which is read again at least once a minute.
  std::string token_path;
  // The plugin that prints the credential; none: there is no plugin.
  std::optional<ExecPlugin> exec;
};

// True if `text` can be a token in a header: it contains no blank and no line end.
bool is_one_word(std::string_view text);

// Reads a kubeconfig. `folder`: the file's folder, where relative paths begin. `context`: its name;
// empty: current-context. An error names the field as in the file: "users[ana].user.token". The
// function refuses fields that Subak does not support: proxy-url, auth-provider, as, username.
Result<KubeAccess> read_kubeconfig(std::string_view text, std::string_view folder,
                                   std::string_view context);

// Reads the access of a pod. `host` and `port` are KUBERNETES_SERVICE_HOST and _PORT, `mount` is
// the folder of the service account. kPrecondition: the process does not run in a cluster.
Result<KubeAccess> in_cluster_access(std::string_view host, std::string_view port,
                                     std::string_view mount);

}  // namespace subak
