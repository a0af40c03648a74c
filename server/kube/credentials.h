// Who we are at one API server, kept fresh: the token of the kubeconfig as it stands, a token file
// read again every limits::kTokenFileMs, or what an exec plugin prints, until it expires. A token
// or a certificate in the kubeconfig goes before its plugin, as in client-go.
// Threads: one, that of KubeClient::turn(). Nothing here waits for a plugin.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/quantity.h"
#include "server/kube/child.h"
#include "server/kube/exec_credential.h"
#include "server/kube/kubeconfig.h"

namespace subak {

class Credentials {
 public:
  explicit Credentials(KubeAccess access);
  // Kills a plugin that is running.
  ~Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // Before each turn. `now_ms`: the wall clock, as that is what expires; where it went back, all is
  // as if the time were over. `refused`: an answer was kUnauthorized since the last call; a token
  // file is read at once then, a plugin run if limits::kCredentialAgainMs have passed since it last
  // ended.
  //
  // A credential: set it in the client. None: nothing has changed, or the plugin is still running.
  // An error names the user and what to do, once for each time that it fails; what was had stays,
  // and it is tried again after kCredentialAgainMs. No error repeats a secret.
  Result<std::optional<Credential>> refresh(TimeMs now_ms, bool refused);

  // The first credential has been handed out: before that, no call can succeed.
  bool known() const { return last_.has_value(); }
  // A plugin is running: refresh() is wanted soon again.
  bool running() const { return plugin_ != nullptr; }

 private:
  using Changed = Result<std::optional<Credential>>;

  static Changed as_before() { return std::optional<Credential>(); }
  Changed changed(Credential credential);
  Changed read_token_file();
  Changed start_plugin();
  Changed watch_plugin(TimeMs now_ms);
  Changed take(ExecCredential printed, TimeMs now_ms);

  const KubeAccess access_;
  const bool by_plugin_;
  std::optional<Credential> last_;
  std::unique_ptr<Child> plugin_;
  TimeMs since_ms_ = 0;     // the last attempt; while a plugin runs: its start
  DurationMs wait_ms_ = 0;  // from then to the next
};

}  // namespace subak
