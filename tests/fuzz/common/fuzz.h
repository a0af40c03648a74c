// The base of all fuzz targets. Targets check properties with assert(), which every build type of
// this tree keeps enabled.
#pragma once

#ifdef NDEBUG
#error "the properties of the fuzz targets are assertions"
#endif

#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace subak::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The bytes as a file in memory, for readers that open a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    const ssize_t written = write(fd_, data, size);
    assert(fd_ >= 0 && written == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Asserts that a refusal names a field, and says what the value should be.
inline void check_error(const Error& error) {
  assert(!error.field.empty() && !error.want.empty());
  assert(error.message().starts_with(cut_error(error).field));
}

// Asserts that the engine imports nodes that a reader accepted, or refuses them with a field.
inline void check_fleet(std::vector<NodeSpec> nodes) {
  Engine engine;
  engine.apply({1000, "", "fuzz", in::SetCluster{"c", Mode::kObserve, {}, "", false}});
  const Reply reply =
      engine.apply({2000, "", "fuzz", in::ImportNodes{"c", std::move(nodes), "", false}}).reply;
  if (reply.error) check_error(*reply.error);
  engine.check_invariants();
}

}  // namespace subak::fuzz
