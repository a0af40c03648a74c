// Makes a CA and a server pair signed by it. The CA's key is discarded: a later reader of the
// folder can sign nothing, and a new pair needs a new CA.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// A certificate is valid from so long before it was made, for clients whose clocks are behind.
constexpr DurationMs kClockSlackMs = kHourMs;

// A server pair and the certificate of the CA that signed it, all in PEM.
struct CertificateBundle {
  // The key belongs to `cert_pem`. The CA has no key here: it was discarded.
  std::string ca_pem, cert_pem, key_pem;
};

// Makes ECDSA P-256 certificates, valid from `now` for limits::kOwnCaMs. Names: localhost,
// subak.subak-system.svc, 127.0.0.1, ::1 and `names` (an IP literal becomes an IP name).
// `now` is the wall clock. An error: OpenSSL failed.
Result<CertificateBundle> make_certificate_bundle(const std::vector<std::string>& names,
                                                  TimeMs now);

}  // namespace subak
