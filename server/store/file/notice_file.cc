#include "server/store/file/notice_file.h"

#include "core/limits.h"
#include "server/store/file/whole_file.h"

namespace subak {
namespace {

constexpr SummedKind kNotices{"subak notices 1\n", limits::kMaxFactBytes};

}  // namespace

std::optional<Error> write_notice_file(const std::string& path, std::uint32_t seed,
                                       std::string_view bytes) {
  return write_summed_file(path, kNotices, seed, bytes);
}

Result<std::string> read_notice_file(const std::string& path, std::uint32_t seed) {
  return read_summed_file(path, kNotices, seed);
}

}  // namespace subak
