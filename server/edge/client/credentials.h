// Provides a valid credential for one API server. The source is one of three: the token in the
// kubeconfig, a token file, or the output of an exec plugin. A token file is read again every
// limits::kTokenFileMs. A plugin runs again a short time before its credential expires. A token or
// certificate in the kubeconfig has precedence over a plugin, as in client-go. Threads: only the
// thread of KubeClient::turn(). No function here waits for a plugin.
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

// The last credential and its source. At most one plugin runs at a time.
class Credentials {
 public:
  explicit Credentials(KubeAccess access);
  // Kills a plugin that is running.
  ~Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // Returns a credential that must be set in the client. nullopt: the credential is unchanged, or
  // the plugin still runs. Call it before each turn of the client.
  //
  // `now_ms`: the time of the wall clock, by which credentials expire. If this clock went back, the
  // credential counts as expired. `refused`: an answer since the last call was kUnauthorized. In
  // that case a token file is read at once. A plugin runs again once limits::kCredentialAgainMs
  // have passed since its last run ended.
  //
  // After a failure, it returns one error, which names the user and says what to change. The old
  // credential stays in use, and the next attempt follows after limits::kCredentialAgainMs. No
  // error contains a secret.
  Result<std::optional<Credential>> refresh(TimeMs now_ms, bool refused);

  // True once refresh() has returned the first credential. Before that, no call can succeed.
  bool known() const { return last_.has_value(); }
  // True while a plugin runs: call refresh() again soon.
  bool running() const { return plugin_ != nullptr; }

 private:
  // The result of refresh().
  using Changed = Result<std::optional<Credential>>;

  // Returns the result that means "unchanged".
  static Changed as_before() { return std::optional<Credential>(); }
  // Stores the credential as the last one. Returns it if it differs from the one before, else
  // as_before().
  Changed changed(Credential credential);
  Changed read_token_file();
  Changed start_plugin();
  Changed watch_plugin(TimeMs now_ms);
  // Takes the credential that a plugin printed. It is an error if this credential has expired.
  Changed take(ExecCredential printed, TimeMs now_ms);

  const KubeAccess access_;
  // True: the plugin is the source, since the kubeconfig has no token, token file or certificate.
  const bool by_plugin_;
  // The last credential that refresh() returned; nullopt: it has returned none yet.
  std::optional<Credential> last_;
  // The plugin that runs; nullptr: none runs.
  std::unique_ptr<Child> plugin_;
  // The time of the last attempt. For a plugin that runs, its start; for a plugin that has ended,
  // its end.
  TimeMs since_ms_ = 0;
  // The time from `since_ms_` to the next attempt.
  DurationMs wait_ms_ = 0;
};

}  // namespace subak
