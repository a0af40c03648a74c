#include "accounting/fairtree/fairtree.h"

#include <algorithm>
#include <limits>

#include "accounting/fairtree/share_rows.h"
#include "core/must.h"

namespace subak {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The values of each row that need no ranking.
std::vector<ShareFactors> level_values(const ShareTree& tree) {
  std::vector<ShareFactors> out(tree.nodes.size());
  const double all_usage = tree.nodes[tree.root].row->raw_usage;
  for (const std::size_t i : tree.top_down) {
    const ShareTree::Node& node = tree.nodes[i];
    const ShareTree::Node& above = tree.nodes[node.above];
    const ShareRow& row = *node.row;
    ShareFactors& f = out[i];
    f.account = row.account;
    f.user = row.user;
    f.norm_usage = ratio(row.raw_usage, all_usage);
    if (i == tree.root) {
      f.norm_shares = f.effective_usage = 1;
      f.level_fs = 1;
      continue;
    }
    f.norm_shares = row.parent_shares ? out[node.above].norm_shares
                                      : ratio(static_cast<double>(row.shares), above.level_shares);
    f.effective_usage = ratio(row.raw_usage, above.row->raw_usage);
    if (row.parent_shares || (f.norm_shares > 0 && f.effective_usage == 0)) {
      f.level_fs = std::numeric_limits<double>::infinity();
    } else {
      f.level_fs = f.norm_shares > 0 ? f.norm_shares / f.effective_usage : 0;
    }
  }
  return out;
}

class Ranking {
 public:
  Ranking(const ShareTree& tree, TieRule ties, std::vector<ShareFactors>& out)
      : tree_(tree), ties_(ties), out_(out) {
    for (const auto& node : tree.nodes) users_ += node.is_user() ? 1 : 0;
    rank_ = next_rank_ = users_;
  }

  // Ranks the users at and below `children`. `tied`: the first of these users shares the rank that
  // was given last.
  void rank(std::vector<std::size_t> children, bool tied) {
    std::sort(children.begin(), children.end(),
              [&](std::size_t a, std::size_t b) { return before(a, b); });
    for (std::size_t i = 0; i < children.size();) {
      if (i > 0) tied = level_fs(children[i - 1]) == level_fs(children[i]);
      if (tree_.nodes[children[i]].is_user()) {
        rank_user(children[i++], tied);
        continue;
      }
      std::vector<std::size_t> below;
      const std::size_t first = i;
      do {
        const auto& more = tree_.nodes[children[i]].below;
        below.insert(below.end(), more.begin(), more.end());
        ++i;
      } while (ties_ == TieRule::kDocumented && i < children.size() &&
               level_fs(children[i]) == level_fs(children[first]));
      rank(std::move(below), tied);
    }
  }

  // True if rank() has met every user.
  bool complete() const { return next_rank_ == 0; }

 private:
  double level_fs(std::size_t i) const { return out_[i].level_fs; }

  bool before(std::size_t a, std::size_t b) const {
    if (level_fs(a) != level_fs(b)) return level_fs(a) > level_fs(b);
    const auto& x = tree_.nodes[a];
    const auto& y = tree_.nodes[b];
    if (x.is_user() != y.is_user()) return x.is_user();
    if (x.row->order != y.row->order) return x.row->order < y.row->order;
    return a < b;
  }

  void rank_user(std::size_t i, bool tied) {
    must(next_rank_ > 0 && next_rank_ <= users_, "each user gets one rank");
    if (!tied) rank_ = next_rank_;
    must(rank_ >= next_rank_ && rank_ <= users_, "users that tie share the rank of the first");
    out_[i].fairshare = static_cast<double>(rank_) / static_cast<double>(users_);
    --next_rank_;
  }

  const ShareTree& tree_;
  TieRule ties_;
  std::vector<ShareFactors>& out_;
  std::int64_t users_ = 0;
  std::int64_t rank_ = 0;
  std::int64_t next_rank_ = 0;
};

}  // namespace

Result<std::vector<ShareFactors>> fair_tree(const std::vector<ShareRow>& rows, TieRule ties) {
  auto tree = build_share_tree(rows);
  if (!tree) return tree.error();
  auto out = level_values(*tree);
  Ranking ranking(*tree, ties, out);
  ranking.rank(tree->nodes[tree->root].below, false);
  must(ranking.complete(), "every user has a rank");
  return out;
}

}  // namespace subak
