// Fleets of the simulator as CSV, and sizes such as "80x8:H100".
#include "core/limits.h"
#include "sim/read/trace.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check(const Result<std::vector<NodeSpec>>& nodes) {
  if (!nodes.ok()) return fuzz::check_error(nodes.error());
  assert(!nodes->empty() && nodes->size() <= limits::kMaxNodes);
  for (const NodeSpec& node : *nodes) {
    assert(!node.name.empty() && node.gpus >= 0 && node.cpu_milli >= 0 && node.memory_bytes >= 0);
  }
  if (nodes->size() < 1000) fuzz::check_fleet(*nodes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  check(sim::read_nodes(file.path()));
  const std::string text(fuzz::text_of(data, size));
  if (size < 32 && text.find('x') < 4) check(sim::read_nodes(text));  // else it would name a file
  return 0;
}
