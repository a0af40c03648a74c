// The certificate pair that the service makes itself. This class keeps it up to date while it
// serves, and has warnings about it. Private to server/service. Threads: begin() first; then look()
// on one thread, the rest on any.
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
  // `host`: of the webhook's address. `by_name`: clients reach it as the Service of its own
  // cluster, whose pods change their address. `now_ms`: the service's own time.
  // `directory`: where the files lie; it is made if it is missing.
  OwnCertificate(std::string directory, std::string host, bool by_name,
                 std::function<TimeMs()> now_ms);

  // Makes missing files, and warns about a pair for another address.
  // Errors are those of keep_self_signed(). `by_name` suppresses the warning.
  Result<CertificateFiles> begin();
  // Renews what is due, every limits::kOwnCaLookMs; in between it costs nothing.
  // A failure is logged, and the pair in use stays.
  void look();
  // Returns when the pair changes to the next CA; 0: there is no next one.
  // UTC.
  TimeMs change_ms() const { return change_ms_; }
  // Returns the warnings of `subak status`; empty if no action is required.
  std::vector<std::string> warnings() const;

 private:
  // Makes or renews what is due now, and logs what it did.
  // By keep_self_signed() at now_ms_().
  Result<SelfSigned> keep();

  // Where the files lie.
  const std::string directory_;
  // The names that the certificate shall have: the host.
  const std::vector<std::string> names_;
  const bool by_name_;
  const std::function<TimeMs()> now_ms_;
  // When look() last looked, by the service's time; 0: never.
  TimeMs looked_ms_ = 0;
  // As change_ms().
  std::atomic<TimeMs> change_ms_{0};
};

}  // namespace subak
