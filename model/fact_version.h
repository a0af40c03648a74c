// The newest fact version that a program knows. The program writes it once a store is finalized to
// it.
#pragma once

#include <cstdint>

namespace subak {

// Returns kFactVersion (model/fact.h). The function has an object file of its own, so that a test
// can link a later version in its place: tests/takeover plays rolling upgrades that way.
// Threads: any.
std::uint32_t known_fact_version();

}  // namespace subak
