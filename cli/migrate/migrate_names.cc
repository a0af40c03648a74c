#include "cli/migrate/migrate_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/text/account_names.h"
#include "core/account_limits.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

// True if the row becomes a user in Subak. A user directly below the root becomes an account.
bool becomes_user(const MigratedAccount& row) { return row.user && row.parent != 0; }

class Namer {
 public:
  Namer(const std::vector<SourceFile>& files, Migration& out)
      : files_(files), out_(out), labels_(out.accounts.size()), levels_(out.accounts.size()) {}

  void name() {
    // Names that stay as they are come first, so that another name does not take their label.
    for (const bool unchanged : {true, false}) {
      for (std::size_t i = 1; i < out_.accounts.size(); ++i) {
        const MigratedAccount& row = out_.accounts[i];
        const std::string label =
            becomes_user(row) ? user_label(row.name) : account_label(row.name);
        if ((label == row.name) == unchanged) take_label(i, label);
      }
    }
    for (std::size_t i = 1; i < out_.accounts.size(); ++i) set_path(i);
  }

 private:
  void take_label(std::size_t i, const std::string& wanted) {
    const MigratedAccount& row = out_.accounts[i];
    std::string label = wanted;
    // A user and an account of one name have different paths.
    const std::string kind = becomes_user(row) ? "/" : ".";
    for (int n = 2; !taken_.emplace(row.parent, kind + label).second; ++n) {
      label = wanted + "-" + std::to_string(n);
    }
    labels_[i] = label;
  }

  void set_path(std::size_t i) {
    MigratedAccount& row = out_.accounts[i];
    const std::string& above = out_.accounts[row.parent].path;
    row.path = above + (becomes_user(row) ? "/" : above.empty() ? "" : ".") + labels_[i];
    levels_[i] = levels_[row.parent] + 1;
    if (levels_[i] > limits::kMaxAccountDepth) {
      refuse(files_[row.at.file], row.at.line, row.kind, row.name,
             "want at most " + std::to_string(limits::kMaxAccountDepth) + " levels");
    }
    if (row.path.size() > limits::kMaxNameBytes) {
      refuse(files_[row.at.file], row.at.line, row.kind, row.path,
             "want a path of at most " + std::to_string(limits::kMaxNameBytes) + " bytes");
    }
    if (labels_[i] != row.name) {
      out_.renamed.push_back(row.kind + " '" + row.name + "' -> " + row.path);
    }
  }

  const std::vector<SourceFile>& files_;
  Migration& out_;
  // By account.
  std::vector<std::string> labels_;
  std::vector<std::size_t> levels_;
  // The labels of each parent's children.
  std::set<std::pair<std::size_t, std::string>> taken_;
};

// Slurm counts the children of an account with Fairshare=parent among the account's siblings. An
// account with the sum of their shares gives each child the same part. A user with Fairshare=parent
// comes first in Slurm. So the user gets the largest share of its siblings.
void set_shares(Migration& out) {
  struct Children {
    std::int64_t sum = 0, most = 0;
  };
  std::vector<Children> children(out.accounts.size());
  for (std::size_t i = out.accounts.size(); i-- > 1;) {  // children come before their parents
    MigratedAccount& row = out.accounts[i];
    row.own_shares = row.shares;
    if (row.parent_shares) {
      if (row.user) continue;
      row.own_shares = std::clamp<std::int64_t>(children[i].sum, 1, limits::kMaxShares);
    }
    Children& of_parent = children[row.parent];
    of_parent.sum = std::min(of_parent.sum + row.own_shares, limits::kMaxShares);
    of_parent.most = std::max(of_parent.most, row.own_shares);
  }
  for (MigratedAccount& row : out.accounts) {
    if (row.parent_shares && row.user) {
      row.own_shares = std::max<std::int64_t>(children[row.parent].most, 1);
    }
    if (!row.parent_shares || row.left_out) continue;
    out.unmatched.push_back(
        {row.at, "Fairshare=parent",
         row.kind + " '" + row.name + "': " + row.path + " has shares " +
             std::to_string(row.own_shares),
         row.user ? "The user shares the account's GPUs with the other users: it has as many "
                    "shares as the largest of them."
                  : "The account has the sum of its children's shares, so that each child has the "
                    "same part as before."});
  }
}

}  // namespace

void name_accounts(const std::vector<SourceFile>& files, Migration& out) {
  Namer(files, out).name();
  set_shares(out);
}

}  // namespace subak::cli
