// The certificate pair that the service makes by itself. This class renews the pair while the
// service runs, and returns warnings about it. Private to server/service. Threads: begin() first;
// then look() on one thread, and the others on any.
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
  // `directory`: the folder of the files, which is made if it is missing. `host`: the host of the
  // webhook's address. `by_name`: clients reach the webhook by the name of a Service of its
  // cluster, since the addresses of pods change. `now_ms`: the service's own time.
  OwnCertificate(std::string directory, std::string host, bool by_name,
                 std::function<TimeMs()> now_ms);

  // Makes missing files. If `by_name` is false, it warns about a pair for another address.
  // Errors are those of keep_self_signed().
  Result<CertificateFiles> begin();
  // Does the renewal step that is due, if limits::kOwnCaLookMs have passed since the last look.
  // It logs a failure, and the pair in use stays.
  void look();
  // Returns when the pair changes to the next CA, in UTC; 0: there is no next CA.
  TimeMs change_ms() const { return change_ms_; }
  // Returns the warnings of `subak status`; empty if no action is required.
  std::vector<std::string> warnings() const;

 private:
  // Calls keep_self_signed() for the time now_ms_(), and logs what it did.
  Result<SelfSigned> keep();

  // The folder of the files.
  const std::string directory_;
  // The names that the certificate must have: the host.
  const std::vector<std::string> names_;
  const bool by_name_;
  const std::function<TimeMs()> now_ms_;
  // When look() last did its work, by the service's time; 0: never.
  TimeMs looked_ms_ = 0;
  // The result of change_ms().
  std::atomic<TimeMs> change_ms_{0};
};

}  // namespace subak
