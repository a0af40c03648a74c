// The newest version of facts that a program knows, and so writes once a store is finalized to it.
#pragma once

#include <cstdint>

namespace subak {

// kFactVersion (engine/fact.h). It stands in an object file of its own, so that a test links the program of the version
// to come by another one: tests/takeover plays rolling upgrades with that. Threads: any.
std::uint32_t known_fact_version();

}  // namespace subak
