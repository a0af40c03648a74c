// Reads and writes the marks of notices (server/notify/marks.h) in a file beside a store, in the
// form of server/store/file/whole_file.h. The file may be lost: the service then sends notices only
// of facts that come later. Threads: any; only one thread at a time writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// The file for the store PATH is PATH.notices. The functions get this complete path.
inline constexpr char kNoticeSuffix[] = ".notices";

// Replaces the file. The new file is durable when this returns; after an error, the old file stays.
// `seed`: the seed of the store (server/store/proof/head.h). The errors are those of
// write_summed_file().
std::optional<Error> write_notice_file(const std::string& path, std::uint32_t seed,
                                       std::string_view bytes);
// Returns the content of the file; empty: there is no file. An error: the file belongs to another
// store, is damaged, or cannot be read.
Result<std::string> read_notice_file(const std::string& path, std::uint32_t seed);

}  // namespace subak
