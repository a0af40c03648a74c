// Keeps the credential for one API server fresh. Its source is the token in the kubeconfig, or a
// token file that is read again every limits::kTokenFileMs. The third source is the output of an
// exec plugin, until that expires. A token or certificate in the kubeconfig has precedence over its
// plugin, as in client-go. Threads: that of KubeClient::turn(). Never waits for a plugin.
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

  // Returns a credential to set in the client; none: it is unchanged, or the plugin still runs.
  // Call before each turn.
  //
  // `now_ms`: the wall clock, by which credentials expire; if it went back, the credential counts
  // as expired. `refused`: an answer since the last call was kUnauthorized. A token file is then
  // read at once. A plugin is then run if limits::kCredentialAgainMs have passed since its last
  // end.
  //
  // An error names the user and the remedy, once per failure. The old credential stays, and the
  // next attempt follows after kCredentialAgainMs. No error contains a secret.
  Result<std::optional<Credential>> refresh(TimeMs now_ms, bool refused);

  // True once the first credential was returned. Before that, no call can succeed.
  bool known() const { return last_.has_value(); }
  // True while a plugin runs: call refresh() again soon.
  bool running() const { return plugin_ != nullptr; }

 private:
  // The result of refresh().
  using Changed = Result<std::optional<Credential>>;

  // Nothing changes.
  static Changed as_before() { return std::optional<Credential>(); }
  // Returns the credential if it differs from the last one, and notes it.
  Changed changed(Credential credential);
  Changed read_token_file();
  Changed start_plugin();
  Changed watch_plugin(TimeMs now_ms);
  // Judges what a plugin printed: an expired credential is an error.
  Changed take(ExecCredential printed, TimeMs now_ms);

  const KubeAccess access_;
  // The plugin is the source: there is no token, token file or certificate.
  const bool by_plugin_;
  // The last credential returned; none: there was none yet.
  std::optional<Credential> last_;
  // The plugin that runs; nullptr: none runs.
  std::unique_ptr<Child> plugin_;
  // When the last attempt was; while a plugin runs: its start.
  TimeMs since_ms_ = 0;
  // The time from then to the next attempt.
  DurationMs wait_ms_ = 0;
};

}  // namespace subak
