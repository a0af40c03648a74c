#include "server/store/file/calibration_file.h"

#include "core/limits.h"
#include "server/store/file/whole_file.h"

namespace subak {
namespace {

constexpr SummedKind kCalibration{"subak told starts 1\n", limits::kMaxFactBytes};

}  // namespace

std::optional<Error> write_calibration_file(const std::string& path, std::uint32_t seed,
                                            std::string_view bytes) {
  return write_summed_file(path, kCalibration, seed, bytes);
}

Result<std::string> read_calibration_file(const std::string& path, std::uint32_t seed) {
  return read_summed_file(path, kCalibration, seed);
}

}  // namespace subak
