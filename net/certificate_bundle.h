// Makes a CA, and a server certificate with its key ("pair") that the CA signs. The CA's key is
// discarded, so that it cannot sign anything later. So each new pair needs a new CA.
// Threads: any; pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// How long before its creation a certificate begins to be valid. The clocks of clients may be
// behind by this time.
constexpr DurationMs kClockSlackMs = kHourMs;

// A server certificate, its key, and the certificate of the CA that signed it, all in PEM.
struct CertificateBundle {
  // `key_pem` is the key of `cert_pem`. There is no key of the CA, because it was discarded.
  std::string ca_pem, cert_pem, key_pem;
};

// Makes ECDSA P-256 certificates, valid from kClockSlackMs before `now` until limits::kOwnCaMs
// after it. `now` is the wall clock. The server certificate is for these names: localhost,
// subak.subak-system.svc, 127.0.0.1, ::1 and `names`. An IP literal in `names` becomes an IP name.
// Other names with one of the characters , ; : or a blank are left out. The call fails only if
// OpenSSL fails.
Result<CertificateBundle> make_certificate_bundle(const std::vector<std::string>& names,
                                                  TimeMs now);

}  // namespace subak
