// The pair that the service makes itself, kept up to date while it serves, and what people are told of it.
// Private to server/service. Threads: begin() first; then look() on one thread, the rest on any.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "admission/self_signed.h"
#include "core/error.h"
#include "core/quantity.h"

namespace subak {

class OwnCertificate {
 public:
  // `host`: of the address that the webhook listens on. `by_name`: it is reached as the Service of the
  // cluster that it runs in, whose pods change their address. `now_ms`: the service's own time.
  OwnCertificate(std::string directory, std::string host, bool by_name,
                 std::function<TimeMs()> now_ms);

  // Makes what is missing, and says of a pair that it is for another address.
  Result<CertificateFiles> begin();
  // Does what is due, every limits::kOwnCaLookMs; in between it costs nothing.
  void look();
  // When the pair changes to the next CA; 0: there is no next one.
  TimeMs change_ms() const { return change_ms_; }
  // What `subak status` says; none if nothing is to be done.
  std::vector<std::string> warnings() const;

 private:
  Result<SelfSigned> keep();

  const std::string directory_;
  const std::vector<std::string> names_;
  const bool by_name_;
  const std::function<TimeMs()> now_ms_;
  TimeMs looked_ms_ = 0;
  std::atomic<TimeMs> change_ms_{0};
};

}  // namespace subak
