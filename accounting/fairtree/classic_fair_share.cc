#include <algorithm>
#include <limits>

#include "accounting/decay.h"
#include "accounting/fairtree/fairtree.h"
#include "accounting/fairtree/share_rows.h"
#include "core/must.h"

namespace subak {
namespace {

double factor(double effective_usage, double norm_shares, double dampening) {
  must(dampening >= 1, "dampening never strengthens");
  if (norm_shares <= 0) return 0;
  const double exponent = -(effective_usage / norm_shares) / dampening;
  if (exponent >= -1022) return exp2_exact(exponent);
  return exponent < -1100 ? 0 : exp2_exact(exponent + 100) * 0x1p-100;  // a subnormal number
}

ShareFactors values_of(const ShareTree& tree, std::size_t i, const std::vector<ShareFactors>& out) {
  const ShareTree::Node& node = tree.nodes[i];
  const double all_usage = tree.nodes[tree.root].row->raw_usage;
  ShareFactors f;
  f.norm_usage = all_usage > 0 ? std::min(1.0, node.row->raw_usage / all_usage) : 0;
  if (i == tree.root) {
    f.norm_shares = f.effective_usage = 1;
    return f;
  }
  const ShareFactors& above = out[node.above];
  if (node.row->parent_shares) {
    f.norm_shares = above.norm_shares;
    f.effective_usage = above.effective_usage;
    return f;
  }
  const double level = tree.nodes[node.above].level_shares;
  const double part = level > 0 ? static_cast<double>(node.row->shares) / level : 0;
  must(part >= 0 && part <= 1, "a row's shares are among its siblings'");
  f.norm_shares = above.norm_shares * part;
  if (node.above == tree.root) {
    f.effective_usage = f.norm_usage;
  } else {
    f.effective_usage = level > 0 ? f.norm_usage + (above.effective_usage - f.norm_usage) * part
                                  : above.effective_usage;
  }
  return f;
}

}  // namespace

Result<std::vector<ShareFactors>> classic_fair_share(const std::vector<ShareRow>& rows,
                                                     double dampening) {
  if (!(dampening >= 1 && dampening <= 65535)) {
    return Error{ErrorCode::kInvalid, "dampening", "", "want a number from 1 to 65535"};
  }
  const auto tree = build_share_tree(rows);
  if (!tree) return tree.error();
  std::vector<ShareFactors> out(rows.size());
  for (const std::size_t i : tree->top_down) {
    ShareFactors f = values_of(*tree, i, out);
    f.account = rows[i].account;
    f.user = rows[i].user;
    f.level_fs = f.norm_shares <= 0       ? 0
                 : f.effective_usage == 0 ? std::numeric_limits<double>::infinity()
                                          : f.norm_shares / f.effective_usage;
    f.fairshare = factor(f.effective_usage, f.norm_shares, dampening);
    out[i] = std::move(f);
  }
  return out;
}

}  // namespace subak
