// The file beside a store with the data of start-time calibration, in the form of
// server/store/file/whole_file.h. It may be lost. Threads: any; one writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// The file of the store PATH is PATH.told. The functions take the whole name.
inline constexpr char kCalibrationSuffix[] = ".told";

// `seed`: of the store (server/store/proof/head.h). The old file is replaced as a whole, or stays.
// Durable on return. Refuses more than limits::kMaxFactBytes. Errors as of write_summed_file().
std::optional<Error> write_calibration_file(const std::string& path, std::uint32_t seed,
                                            std::string_view bytes);
// Reads the file; empty: there is none. An error: it is not of that store, damaged, or unreadable.
// The caller goes on without the data in that case: the service then learns again.
Result<std::string> read_calibration_file(const std::string& path, std::uint32_t seed);

}  // namespace subak
