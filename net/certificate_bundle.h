// Makes a CA, and a server certificate with its key ("pair") that the CA signs. The CA's key is
// discarded. So a later reader of the folder cannot sign with it, and a new pair needs a new CA.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// A certificate is valid from this long before it is made, for clients whose clocks are behind.
constexpr DurationMs kClockSlackMs = kHourMs;

// A server certificate, its key, and the certificate of the CA that signed it, all in PEM.
struct CertificateBundle {
  // `key_pem` is the key of `cert_pem`. The key of the CA is not here: it was discarded.
  std::string ca_pem, cert_pem, key_pem;
};

// Makes ECDSA P-256 certificates, valid from `now` for limits::kOwnCaMs. Names: localhost,
// subak.subak-system.svc, 127.0.0.1, ::1 and `names` (an IP literal becomes an IP name).
// `now` is the wall clock. Fails only if OpenSSL fails.
Result<CertificateBundle> make_certificate_bundle(const std::vector<std::string>& names,
                                                  TimeMs now);

}  // namespace subak
