// The CA and the pair that the service makes itself, over the years. The next CA appears long
// before the old one ends. The pair changes to it once clients have had time to trust both.
//
// The folder has tls.crt and tls.key, the pair in use. ca.crt is its CA, beside the next or the
// last CA while both count. next.crt and next.key are the pair of the next CA. Files have mode
// 0600, and each is replaced as a whole. The next call repairs a crash between two of them.
// Threads: one at a time for a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "net/certificates.h"

namespace subak {

// The state of the folder after keep_self_signed().
struct SelfSigned {
  // The step that was due.
  enum class Did : std::uint8_t {
    // Nothing was due.
    kNothing,
    // A first pair, or a new one for a broken or ended pair. Clients do not trust it yet.
    kMade,
    // ca.crt holds the next CA too.
    kAnnounced,
    // The pair is now the next CA's.
    kChanged,
    // ca.crt no longer holds a CA that has ended.
    kForgot,
  };
  // The paths of the pair in use and of ca.crt.
  CertificateFiles files;
  // At most one step a call.
  Did did = Did::kNothing;
  // When the pair changes to the next CA: by then clients must trust both certificates of ca.crt.
  // 0: there is no next CA.
  TimeMs change_ms = 0;
  // The names that the pair in use lacks.
  std::vector<std::string> missing;
};

// Does what is due at `now` in `directory` (made if it is missing), by limits::kNextCaMs and those
// below it. `names` are the names of new pairs (net/certificate_bundle.h); an existing pair for
// other names stays. Error: the folder cannot be written, or OpenSSL failed.
Result<SelfSigned> keep_self_signed(const std::string& directory,
                                    const std::vector<std::string>& names, TimeMs now);

}  // namespace subak
