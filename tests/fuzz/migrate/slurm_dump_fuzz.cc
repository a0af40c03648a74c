// A dump of Slurm's accounts, and the account file that is made from it.
#include "tests/fuzz/migrate/migrated.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  // The first line makes each input a dump, whatever follows.
  check_migrated("Cluster - 'c'\n" + std::string(fuzz::text_of(data, size)), {});
  check_migrated(std::string(fuzz::text_of(data, size)), {});
  return 0;
}
