// One edit of an account among 10,000 accounts in 5 levels and 89,000 users: what the loop does for it, which is
// the input, the pass that ends its batch, and the View that is published. The commit comes on top.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "row.h"

namespace subak {
namespace {

constexpr int kUsers = 89'000;
constexpr int kEdits = 500;

class World {
 public:
  void apply(in::Body body) {
    const ApplyOutcome outcome = engine_.apply(
        {.time_ms = now_, .request_id = {}, .actor = "bench", .body = std::move(body)});
    if (!outcome.reply.error) return;
    std::fprintf(stderr, "bench_account: %s\n", outcome.reply.error->message().c_str());
    std::exit(1);
  }
  void set(const std::string& path, bool user, std::int64_t shares) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.user = user;
    set.spec.shares = shares;
    set.reason = "bench";
    apply(set);
  }
  // `fan` children at each level below `path`.
  void grow(const std::string& path, const std::vector<int>& fan, std::size_t level) {
    for (int i = 0; level < fan.size() && i < fan[level]; ++i) {
      const std::string child = (path.empty() ? "" : path + ".") + "a" + std::to_string(i);
      set(child, false, 1 + i);
      accounts_.push_back(child);
      if (level + 1 == fan.size()) leaves_.push_back(child);
      grow(child, fan, level + 1);
    }
  }
  void add_users() {
    for (int u = 0; u < kUsers; ++u) {
      set(leaves_[static_cast<std::size_t>(u) % leaves_.size()] + "/u" + std::to_string(u), true,
          1);
    }
  }
  // In microseconds.
  double edit(int i) {
    now_ += 1000;
    const std::string& path = accounts_[static_cast<std::size_t>(i) * 7919 % accounts_.size()];
    const bench::Stopwatch editing;
    set(path, false, 100 + i);
    apply(in::Pass{});
    bench::keep(engine_.view());
    return editing.ns() / 1000;
  }
  // Applies shares to all accounts in one edit, and checks the result. In microseconds.
  double edit_all(std::int64_t shares) {
    now_ += 1000;
    in::ApplyAccounts edit;
    edit.reason = "bench";
    for (const std::string& path : accounts_) {
      in::AccountChange change;
      change.spec.path = path;
      change.spec.shares = shares;
      edit.changes.push_back(std::move(change));
    }
    const bench::Stopwatch editing;
    apply(std::move(edit));
    apply(in::Pass{});
    bench::keep(engine_.view());
    const double us = editing.ns() / 1000;
    for (const std::string& path : accounts_) {
      const AccountTree& tree = engine_.accounts();
      if (tree.node(tree.find(path)).spec.shares == shares) continue;
      std::fprintf(stderr, "bench_account: %s was not edited\n", path.c_str());
      std::exit(1);
    }
    return us;
  }
  std::size_t accounts() const { return accounts_.size(); }

 private:
  Engine engine_;
  TimeMs now_ = 1'700'000'000'000;
  std::vector<std::string> accounts_, leaves_;
};

void run() {
  World world;
  world.grow("", {6, 6, 6, 6, 7}, 0);
  world.add_users();
  world.edit(0);  // the first View is made from nothing
  std::vector<double> us;
  for (int i = 1; i <= kEdits; ++i) us.push_back(world.edit(i));
  std::sort(us.begin(), us.end());
  double sum = 0;
  for (const double one : us) sum += one;
  std::fprintf(stderr,
               "account edit: %zu accounts, %d users; mean %.0f us, median %.0f, longest %.0f\n",
               world.accounts(), kUsers, sum / kEdits, us[kEdits / 2], us.back());
  bench::row("account_edit_us", sum / kEdits, "us");
  std::vector<double> all;
  for (std::int64_t shares = 2; shares < 7; ++shares) all.push_back(world.edit_all(shares) / 1000);
  std::sort(all.begin(), all.end());
  std::fprintf(stderr, "edit of all %zu accounts in one input: median %.0f ms, longest %.0f\n",
               world.accounts(), all[2], all.back());
  bench::row("account_apply_ms", all[2], "ms");
}

}  // namespace
}  // namespace subak

int main() { subak::run(); }
