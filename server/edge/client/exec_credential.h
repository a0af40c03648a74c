// The input and output of an exec plugin, in the formats client.authentication.k8s.io/v1 and
// v1beta1. The sources of the formats are pkg/apis/clientauthentication/v1 and
// plugin/pkg/client/auth/exec of kubernetes/client-go. Threads: any; pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "server/edge/client/kubeconfig.h"

namespace subak {

// The credential for an API server. A part that is empty is absent.
struct Credential {
  // A bearer token; empty: only the certificate identifies the client.
  std::string token;
  // A certificate and its key in PEM. Either both are set, or neither.
  std::string certificate, key;
  friend bool operator==(const Credential&, const Credential&) = default;
};

// The output of a plugin.
struct ExecCredential {
  Credential credential;
  // When the credential expires; nullopt: it is valid until the server refuses it.
  std::optional<TimeMs> expires_ms;
};

// Returns the value of the environment variable KUBERNETES_EXEC_INFO for the plugin. `authority`:
// the cluster's CA in PEM; empty: the CAs of the system. `access.exec` must be set. The value is
// one line of JSON with the kind ExecCredential. The value says that the plugin cannot ask a
// person. It has the cluster's address and CA if ExecPlugin::wants_cluster is set.
std::string exec_info(const KubeAccess& access, std::string_view authority);

// Reads a plugin's output. `field` names the plugin in errors, such as "users[ana].user.exec". No
// error contains a secret. It fails with kInvalid in these cases:
// - The text is no ExecCredential of this version, or has no status.
// - There is neither a token nor a certificate.
// - There is a certificate without its key, or a key without its certificate.
// - The token has several words.
// - The time of expiry cannot be read.
Result<ExecCredential> read_exec_credential(std::string_view text, std::string_view version,
                                            std::string_view field);

}  // namespace subak
