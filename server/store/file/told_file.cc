#include "server/store/file/told_file.h"

#include "core/limits.h"
#include "server/store/file/whole_file.h"

namespace subak {
namespace {

constexpr SummedKind kTold{"subak told starts 1\n", limits::kMaxFactBytes};

}  // namespace

std::optional<Error> write_told_file(const std::string& path, std::uint32_t seed,
                                     std::string_view bytes) {
  return write_summed_file(path, kTold, seed, bytes);
}

Result<std::string> read_told_file(const std::string& path, std::uint32_t seed) {
  return read_summed_file(path, kTold, seed);
}

}  // namespace subak
