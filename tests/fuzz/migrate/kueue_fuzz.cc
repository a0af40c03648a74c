// YAML of Kueue's objects, and the account file that is made from it.
#include "tests/fuzz/migrate/migrated.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const std::string text(fuzz::text_of(data, size));
  check_migrated(text, {});
  check_migrated(text, {"main", {"example.com/gpu"}});
  return 0;
}
