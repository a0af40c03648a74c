// Provides a valid credential for one API server. The source is one of three: the token in the
// kubeconfig, a token file, or the output of an exec plugin. A token file is read again every
// limits::kTokenFileMs. A plugin runs again when its credential expires. A token or certificate in
// the kubeconfig has precedence over a plugin, as in client-go. Threads: that of
// KubeClient::turn(). It never waits for a plugin.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/quantity.h"
#include "server/edge/client/child.h"
#include "server/edge/client/exec_credential.h"
#include "server/edge/client/kubeconfig.h"

namespace subak {

// The last credential and its source. It starts at most one plugin at a time.
class Credentials {
 public:
  explicit Credentials(KubeAccess access);
  // Kills a plugin that is running.
  ~Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // Returns a credential to set in the client. None: the credential is unchanged, or the plugin
  // still runs. Call it before each turn.
  //
  // `now_ms`: the wall clock, by which credentials expire. If it went back, the credential counts
  // as expired. `refused`: an answer since the last call was kUnauthorized. Then a token file is
  // read at once, and a plugin is run if its last run ended at least
  // limits::kCredentialAgainMs ago.
  //
  // It returns an error once for each failure, with the user and the remedy. The old credential
  // stays, and the next attempt follows after kCredentialAgainMs. No error contains a secret.
  Result<std::optional<Credential>> refresh(TimeMs now_ms, bool refused);

  // True once the first credential was returned. Before that, no call can succeed.
  bool known() const { return last_.has_value(); }
  // True while a plugin runs: call refresh() again soon.
  bool running() const { return plugin_ != nullptr; }

 private:
  // The result of refresh().
  using Changed = Result<std::optional<Credential>>;

  // Returns the result that means "unchanged".
  static Changed as_before() { return std::optional<Credential>(); }
  // Returns the credential if it differs from the last one, and stores it as the last one.
  Changed changed(Credential credential);
  Changed read_token_file();
  Changed start_plugin();
  Changed watch_plugin(TimeMs now_ms);
  // Checks the output of a plugin: an expired credential is an error.
  Changed take(ExecCredential printed, TimeMs now_ms);

  const KubeAccess access_;
  // True: the plugin is the source, since there is no token, token file or certificate.
  const bool by_plugin_;
  // The last credential returned; none: no credential was returned yet.
  std::optional<Credential> last_;
  // The plugin that runs; nullptr: none runs.
  std::unique_ptr<Child> plugin_;
  // The time of the last attempt. While a plugin runs: its start.
  TimeMs since_ms_ = 0;
  // The time from `since_ms_` to the next attempt.
  DurationMs wait_ms_ = 0;
};

}  // namespace subak
