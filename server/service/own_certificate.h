// The certificate pair that the service makes itself. This class renews the pair while the service
// runs, and returns warnings about the pair. Private to server/service. Threads: call begin()
// first. After that, one thread calls look(), and any thread may call the other members.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "net/self_signed.h"

namespace subak {

class OwnCertificate {
 public:
  // `directory`: the folder of the files. The folder is created if it is missing. `host`: the host
  // of the webhook's address. `by_name`: clients reach the webhook by the name of a Kubernetes
  // Service, since the addresses of pods change. `now_ms`: returns the service's own time.
  OwnCertificate(std::string directory, std::string host, bool by_name,
                 std::function<TimeMs()> now_ms);

  // Makes the files that are missing. If `by_name` is false and the pair is for another address, it
  // logs a warning. The errors are those of keep_self_signed().
  Result<CertificateFiles> begin();
  // If limits::kOwnCaLookMs have passed since the last look, does the step of a renewal that is
  // due. If the step fails, look() logs the error, and the pair in use stays.
  void look();
  // Returns when the pair changes to the next CA, UTC; 0: there is no next CA.
  TimeMs change_ms() const { return change_ms_; }
  // Returns the warnings for `subak status`. There are none if an operator need not act.
  std::vector<std::string> warnings() const;

 private:
  // Calls keep_self_signed() for the time now_ms_(), and logs what that function did.
  Result<SelfSigned> keep();

  // The folder of the files.
  const std::string directory_;
  // The names that the certificate must have. The only name is the host.
  const std::vector<std::string> names_;
  const bool by_name_;
  const std::function<TimeMs()> now_ms_;
  // When look() last did its work, by the service's time; 0: never.
  TimeMs looked_ms_ = 0;
  // The result of change_ms().
  std::atomic<TimeMs> change_ms_{0};
};

}  // namespace subak
