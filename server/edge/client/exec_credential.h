// The input and output of an exec plugin: client.authentication.k8s.io/v1 and v1beta1. Source:
// kubernetes/client-go pkg/apis/clientauthentication/v1 and plugin/pkg/client/auth/exec. Threads:
// pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "server/edge/client/kubeconfig.h"

namespace subak {

// The credential for an API server. An empty part is absent.
struct Credential {
  // A bearer token; empty: the certificate identifies the client.
  std::string token;
  // A certificate and its key in PEM. Both are set, or none.
  std::string certificate, key;
  friend bool operator==(const Credential&, const Credential&) = default;
};

// The output of a plugin.
struct ExecCredential {
  Credential credential;
  // When the credential expires; none: it is valid until the server refuses it.
  std::optional<TimeMs> expires_ms;
};

// Returns the value of KUBERNETES_EXEC_INFO. `authority`: the cluster's CA in PEM; empty: the CAs
// of the system.
// The value is one line of JSON with kind ExecCredential. It says that the plugin cannot ask a
// person. It has the cluster's address if the plugin asks for it. `access.exec` must be set.
std::string exec_info(const KubeAccess& access, std::string_view authority);

// Reads a plugin's output. `field` names the plugin in errors: "users[ana].user.exec". It fails
// with kInvalid if the text is no ExecCredential of this version or has no status. It also fails if
// there is neither token nor certificate, a certificate without its key, or a token of several
// words. No error contains a secret.
Result<ExecCredential> read_exec_credential(std::string_view text, std::string_view version,
                                            std::string_view field);

}  // namespace subak
