// What an exec plugin prints. What is accepted can be shown to a server: a token of one line, or a whole
// pair of certificate and key.
#include "server/edge/client/exec_credential.h"
#include "tests/fuzz/common/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  for (const char* version :
       {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}) {
    const auto printed = read_exec_credential(fuzz::text_of(data, size), version, "user.exec");
    if (!printed.ok()) {
      fuzz::check_error(printed.error());
      continue;
    }
    const Credential& c = printed->credential;
    assert(!c.token.empty() || !c.certificate.empty());
    assert(c.certificate.empty() == c.key.empty());
    assert(c.token.find_first_of(" \t\r\n") == std::string::npos);
    assert(!printed->expires_ms || *printed->expires_ms >= 0);
  }
  return 0;
}
