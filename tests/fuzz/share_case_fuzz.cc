// The written trees of `subak sim share`, through both formulas.
#include <cmath>

#include "sim/read/share_case.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check(const Result<std::vector<ShareFactors>>& factors, const sim::ShareCase& tree) {
  if (!factors.ok()) return fuzz::check_error(factors.error());
  assert(factors->size() == tree.rows.size());
  for (const ShareFactors& f : *factors) {
    assert(!std::isnan(f.norm_shares) && !std::isnan(f.norm_usage));
    assert(!std::isnan(f.effective_usage) && !std::isnan(f.level_fs));
    if (f.fairshare) assert(*f.fairshare >= 0 && *f.fairshare <= 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  const auto tree = sim::read_share_case(file.path());
  if (!tree.ok()) {
    fuzz::check_error(tree.error());
    return 0;
  }
  check(fair_tree(tree->rows), *tree);
  check(fair_tree(tree->rows, TieRule::kAsShipped), *tree);
  check(classic_fair_share(tree->rows, tree->dampening), *tree);
  return 0;
}
