// Makes the webhook's certificate and key (the pair) and the CA that signs the certificate. The
// service uses them if no certificate is configured. OwnCertificate renews them while the service
// runs, in these steps:
// 1. Long before the pair expires, the service makes the next CA with its own pair. The file ca.crt
//    then has both CAs.
// 2. When clients have had time to trust both CAs, the service changes to the next CA's pair.
// 3. When the old CA has expired, the service removes it from ca.crt.
// net/self_signed.h has the steps. Private to server/service. Threads: call begin() first. After
// that, one thread calls look(), and any thread may call the other members.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "net/self_signed.h"

namespace subak {

// The own certificate of one webhook.
class OwnCertificate {
 public:
  // `directory`: the folder of the files. The folder is created if it is missing. `host`: the host
  // of the webhook's address. `by_name`: clients reach the webhook by the name of a Kubernetes
  // Service, since the addresses of pods change. `now_ms`: returns the service's own time.
  OwnCertificate(std::string directory, std::string host, bool by_name,
                 std::function<TimeMs()> now_ms);

  // Makes the CA and the pair if they are missing, broken or expired; else it does the step of a
  // renewal that is due. If `by_name` is false and the certificate is not valid for `host`, it logs
  // a warning. The errors are those of keep_self_signed().
  Result<CertificateFiles> begin();
  // Does the step of a renewal that is due, if there is one. It checks this at most once in
  // limits::kOwnCaLookMs. If the step fails, look() logs the error, and the pair in use stays.
  void look();
  // Returns when the service changes to the next CA's pair, UTC; 0: there is no next CA.
  TimeMs change_ms() const { return change_ms_; }
  // Returns the warnings for `subak status`. While there is a next CA, a warning says by when the
  // webhook configuration must have both CAs. Otherwise there is no warning.
  std::vector<std::string> warnings() const;

 private:
  // Calls keep_self_signed() for the time now_ms_(), and logs what that function did.
  Result<SelfSigned> keep();

  // The folder of the files.
  const std::string directory_;
  // The names for which a new certificate is valid: the host alone.
  const std::vector<std::string> names_;
  const bool by_name_;
  const std::function<TimeMs()> now_ms_;
  // When look() last did its work, by the service's time; 0: never.
  TimeMs looked_ms_ = 0;
  // The result of change_ms().
  std::atomic<TimeMs> change_ms_{0};
};

}  // namespace subak
