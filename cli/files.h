// Files named on the command line. Threads: none.
#pragma once

#include <cstddef>
#include <string>

namespace subak::cli {

// A list of 50,000 nodes as kubectl prints it. Larger: refused.
inline constexpr std::size_t kMaxInputFileBytes = 1u << 30;

// The whole file, or standard input for "-". Throws Failure: not found (4), too large or unreadable
// (2).
std::string read_input(const std::string& path);

}  // namespace subak::cli
