// How full the openb fleet gets (tests/sim/packing.h), as rows. Arguments: trace, its CPU and memory,
// fleet, seeds.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "row.h"
#include "tests/sim/packing.h"

namespace subak {
namespace {

void print(const packing::World& world, std::uint64_t seeds) {
  std::map<std::string, double> sums;  // % of the fleet's GPUs
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const auto& [rule, percent] : packing::allocated(world, seed)) {
      sums[rule] += percent / static_cast<double>(seeds);
    }
  }
  for (const auto& [rule, percent] : sums) {
    if (!rule.empty()) bench::row(("pack_openb_" + rule).c_str(), percent, "% of GPUs");
  }
  bench::row("pack_openb", sums[""], "% of GPUs", sums["fgd"], bench::Better::kMore,
             "FGD, which knows beforehand what will come");
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_packing TRACE EXTRA FLEET SEEDS\n");
    return 2;
  }
  const auto world = subak::packing::read(argv[1], argv[2], argv[3]);
  if (!world.ok()) {
    std::fprintf(stderr, "bench_packing: %s\n", world.error().message().c_str());
    return 1;
  }
  subak::print(world.value(), std::strtoull(argv[4], nullptr, 10));
}
