// The CA and the pair (certificate and key) that the service makes by itself if none is configured,
// and their renewal. The service makes the next CA long before the old CA expires. It changes to
// the next CA's pair once clients have had time to trust both CAs.
//
// In the folder, tls.crt and tls.key are the pair in use. ca.crt has the CA of this pair. The file
// ca.crt also has the next CA, or the previous CA while that is valid. next.crt and next.key are
// the pair of the next CA. Files have mode 0600, and each file is replaced atomically. After a
// crash between two files, the next call repairs the folder.
// Threads: one at a time for each folder.
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
    // The call made the first pair, or a new pair because the old pair is broken or expired.
    // Clients do not trust the new pair yet.
    kMade,
    // The call added the next CA to ca.crt.
    kAnnounced,
    // The call changed to the pair of the next CA.
    kChanged,
    // The call removed an expired CA from ca.crt.
    kForgot,
  };
  // The paths of the pair in use and of ca.crt.
  CertificateFiles files;
  // The last step that this call took. A call takes one step at most, with one exception: if the
  // pair in use expires soon, it adds the next CA and changes to its pair at once.
  Did did = Did::kNothing;
  // When the service changes to the pair of the next CA. By then clients must trust both CAs in
  // ca.crt. 0: there is no next CA.
  TimeMs change_ms = 0;
  // The names in `names` for which the pair in use is not valid.
  std::vector<std::string> missing;
};

// Does the step that is due at `now` in `directory`, which it creates if it is missing.
// limits::kNextCaMs and the limits after it say when a step is due. `names` are the names of new
// pairs (net/certificate_bundle.h). An existing pair for other names stays. Error: the folder
// cannot be written, or OpenSSL failed.
Result<SelfSigned> keep_self_signed(const std::string& directory,
                                    const std::vector<std::string>& names, TimeMs now);

}  // namespace subak
