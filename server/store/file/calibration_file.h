// The file beside a store with the data of start-time calibration, in the form of
// server/store/file/whole_file.h. It may be lost. Threads: any; one writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// The file of the store PATH is PATH.told. The functions take the complete name.
inline constexpr char kCalibrationSuffix[] = ".told";

// Replaces the file; after an error the old file stays. The file is durable on return. `seed`: that
// of the store (server/store/proof/head.h). It refuses more than limits::kMaxFactBytes. Other
// errors are those of write_summed_file().
std::optional<Error> write_calibration_file(const std::string& path, std::uint32_t seed,
                                            std::string_view bytes);
// Reads the file; empty: there is none. An error: the file is of another store, damaged, or
// unreadable. The caller then goes on without the data, and the service collects new data.
Result<std::string> read_calibration_file(const std::string& path, std::uint32_t seed);

}  // namespace subak
