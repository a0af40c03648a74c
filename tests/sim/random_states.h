// Shared by tests over random states: numbers from environment variables, and an engine that is
// made from another engine's checkpoint.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "engine/engine.h"

namespace subak::sim {

// Returns the number in an environment variable, or `usual` if the variable is not set.
inline std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

// Returns an engine that is restored from a checkpoint of this one, with empty caches.
inline std::unique_ptr<Engine> copy_of(const Engine& engine) {
  auto copy = std::make_unique<Engine>();
  engine.checkpoint([&](const Fact& fact) { copy->evolve(fact); });
  copy->set_seq(engine.seq());
  return copy;
}

}  // namespace subak::sim
