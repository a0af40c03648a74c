// The CA and the pair that the service makes itself, over the years: the next CA appears long before
// the old one ends, and the pair changes to it when whoever trusts the one has had time to trust both.
//
// In the folder: tls.crt and tls.key, the pair in use; ca.crt, who vouches for it, beside the next or
// the last CA while both count; next.crt and next.key, the pair of the next CA. Files of mode 0600, each
// replaced as a whole. A crash between two of them is made good by the next look.
// Threads: one at a time for a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admission/certificates.h"
#include "core/error.h"
#include "core/quantity.h"

namespace subak {

struct SelfSigned {
  enum class Did : std::uint8_t {
    kNothing,
    kMade,  // a first pair, or one in place of what was broken or has ended: nobody trusts it yet
    kAnnounced,  // ca.crt holds the next CA too
    kChanged,    // the pair is the next CA's
    kForgot,     // ca.crt does not hold a CA that has ended any more
  };
  CertificateFiles files;
  Did did = Did::kNothing;
  // The pair changes to the next CA then: by that time both certificates of ca.crt have to be trusted.
  // 0: there is no next CA.
  TimeMs change_ms = 0;
  std::vector<std::string> missing;  // of the names, those that the pair in use does not have
};

// Does what is due at `now` in `directory` (made if it is missing); limits::kNextCaMs and those below
// it say what that is. `names` are those of the pairs that are made (admission/generation.h); a pair for
// other names is kept. An error: the folder cannot be written, or OpenSSL made nothing.
Result<SelfSigned> keep_self_signed(const std::string& directory,
                                    const std::vector<std::string>& names, TimeMs now);

}  // namespace subak
