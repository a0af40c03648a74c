// The kinds of the small files beside a SQLite store, which the store replaces as a whole
// (server/store/file/whole_file.h). Constants only. Each of the files may be lost. Pass the kind of
// a file to write_summed_file() and read_summed_file(), with the path PATH + suffix and the seed of
// the store PATH (server/store/proof/head.h).
#pragma once

#include "core/limits.h"
#include "server/store/file/whole_file.h"

namespace subak {

// The data for start-time calibration. Without the file, the service collects new data.
inline constexpr char kCalibrationSuffix[] = ".told";
inline constexpr SummedKind kCalibrationFile{"subak told starts 1\n", limits::kMaxFactBytes};

// The marks of notices (server/notify/marks.h). Without the file, the service sends notices only of
// facts that come later.
inline constexpr char kNoticeSuffix[] = ".notices";
inline constexpr SummedKind kNoticeFile{"subak notices 1\n", limits::kMaxFactBytes};

}  // namespace subak
