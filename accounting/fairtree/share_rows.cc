#include "accounting/fairtree/share_rows.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/account_limits.h"
#include "core/must.h"

namespace subak {
namespace {

std::string name_of(const ShareRow& row) {
  return row.user.empty() ? row.account : row.account + "/" + row.user;
}

Error row_error(ErrorCode code, const ShareRow& row, std::string_view want) {
  return {code, "tree", name_of(row), std::string(want)};
}

// Checks a row by itself.
std::optional<Error> check_row(const ShareRow& row) {
  if (row.account.empty())
    return row_error(ErrorCode::kInvalid, row, "want an account in every row");
  if (row.shares < 0) return row_error(ErrorCode::kInvalid, row, "want shares >= 0");
  if (!(row.raw_usage >= 0 && row.raw_usage <= 1e300)) {
    return row_error(ErrorCode::kInvalid, row, "want a raw usage >= 0");
  }
  if (!row.user.empty() && !row.parent.empty() && row.parent != row.account) {
    return row_error(ErrorCode::kInvalid, row, "want a user's parent to be its account");
  }
  return std::nullopt;
}

class Builder {
 public:
  explicit Builder(const std::vector<ShareRow>& rows) : rows_(rows), children_(rows.size()) {}

  Result<ShareTree> build() {
    if (auto error = index_accounts()) return *std::move(error);
    if (auto error = link_parents()) return *std::move(error);
    if (auto error = walk()) return *std::move(error);
    return std::move(tree_);
  }

 private:
  std::optional<Error> index_accounts() {
    std::set<std::pair<std::string_view, std::string_view>> seen;
    bool has_root = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const ShareRow& row = rows_[i];
      if (auto error = check_row(row)) return error;
      if (!seen.emplace(row.account, row.user).second) {
        return row_error(ErrorCode::kExists, row, "want each account and user once");
      }
      if (!row.user.empty()) continue;
      accounts_.emplace(row.account, i);
      if (!row.parent.empty()) continue;
      if (has_root) return row_error(ErrorCode::kInvalid, row, "want one account without a parent");
      has_root = true;
      tree_.root = i;
    }
    if (!has_root)
      return Error{ErrorCode::kInvalid, "tree", "", "want one account without a parent"};
    return std::nullopt;
  }

  std::optional<Error> link_parents() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == tree_.root) continue;
      const ShareRow& row = rows_[i];
      const auto parent = accounts_.find(row.user.empty() ? row.parent : row.account);
      if (parent == accounts_.end()) {
        return row_error(ErrorCode::kNotFound, row, "want a parent that is a row");
      }
      children_[parent->second].push_back(i);
    }
    return std::nullopt;
  }

  std::optional<Error> walk() {
    tree_.nodes.resize(rows_.size());
    std::vector<std::uint32_t> depth(rows_.size(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) tree_.nodes[i].row = &rows_[i];
    tree_.nodes[tree_.root].above = tree_.root;
    tree_.top_down.push_back(tree_.root);
    for (std::size_t next = 0; next < tree_.top_down.size(); ++next) {
      const std::size_t at = tree_.top_down[next];
      for (const std::size_t child : children_[at]) {
        depth[child] = depth[at] + 1;
        if (depth[child] > limits::kMaxShareTreeDepth) {
          return row_error(
              ErrorCode::kInvalid, rows_[child],
              "want at most " + std::to_string(limits::kMaxShareTreeDepth) + " levels");
        }
        place(at, child);
        tree_.top_down.push_back(child);
      }
    }
    must(tree_.top_down.size() <= rows_.size(), "a row has one place in the tree");
    if (tree_.top_down.size() == rows_.size()) return std::nullopt;
    return Error{ErrorCode::kInvalid, "tree", "",
                 "want every account below the root, in no circle"};
  }

  void place(std::size_t parent, std::size_t child) {
    ShareTree::Node& node = tree_.nodes[child];
    const bool through = parent != tree_.root && rows_[parent].parent_shares;
    node.above = through ? tree_.nodes[parent].above : parent;
    must(node.above != child, "a row is not above itself");
    must(!tree_.nodes[node.above].is_user(), "only an account is above a row");
    ShareTree::Node& above = tree_.nodes[node.above];
    if (!node.row->parent_shares) above.level_shares += static_cast<double>(node.row->shares);
    if (node.is_user() || !node.row->parent_shares) above.below.push_back(child);
  }

  const std::vector<ShareRow>& rows_;
  std::vector<std::vector<std::size_t>> children_;
  std::map<std::string_view, std::size_t> accounts_;
  ShareTree tree_;
};

}  // namespace

Result<ShareTree> build_share_tree(const std::vector<ShareRow>& rows) {
  return Builder(rows).build();
}

}  // namespace subak
