// A kubeconfig. What is accepted has a server, both or none of certificate and key, and no relative path.
#include "server/edge/client/kubeconfig.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check(const KubeAccess& access) {
  assert(access.server.starts_with("https://") || access.server.starts_with("http://"));
  assert(access.server.find_first_of(" \n\r\"@") == std::string::npos);
  assert(access.certificate.empty() == access.key.empty());
  for (const PemOrPath& file : {access.authority, access.certificate, access.key}) {
    assert(file.path.empty() || file.path.front() == '/');
  }
  assert(access.token.find_first_of(" \n\r") == std::string::npos);
  if (access.exec) assert(!access.exec->command.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const std::string_view context : {"", "prod"}) {
    const auto access = read_kubeconfig(text, "/etc", context);
    if (access.ok()) {
      check(*access);
    } else {
      fuzz::check_error(access.error());
    }
  }
  return 0;
}
