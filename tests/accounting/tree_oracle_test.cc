// Random operations on a random tree, against books kept in the most naive way: a list of intervals
// per node and of everything that is open, summed anew in long double at each question.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "accounting/quota/entitlement.h"
#include "random.h"
#include "tree_fixture.h"

namespace subak {
namespace {

using test::Random;
constexpr long double kLn2 = 0.693147180559945309417232121458L;
constexpr int kProducts = 3;

struct Open {
  AccountId leaf;
  ProductId product;
  MilliGpu amount;
  bool running;
};

struct Slice {  // a constant rate over a time
  MilliGpu usage, surplus;
  TimeMs from, to;
};

class Oracle {
 public:
  std::map<AccountId, AccountId> parent;
  std::map<AccountId, std::map<ProductId, MilliGpu>> quota, limit;  // own; absent: not set
  std::set<AccountId> users, live;
  std::vector<Open> open;
  std::map<AccountId, std::vector<Slice>> slices;

  bool is_under(AccountId id, AccountId top) const {
    for (; id; id = parent.at(id)) {
      if (id == top) return true;
    }
    return false;
  }
  std::map<ProductId, MilliGpu> alloc(AccountId id) const {
    std::map<ProductId, MilliGpu> out;
    for (const Open& o : open) {
      if (is_under(o.leaf, id)) out[o.product] += o.amount;
    }
    return out;
  }
  std::map<ProductId, MilliGpu> effective_quota(AccountId id) const {
    if (const auto own = quota.find(id); own != quota.end()) return own->second;
    std::map<ProductId, MilliGpu> out;
    for (const AccountId child : live) {
      if (parent.at(child) != id) continue;
      for (const auto& [p, amount] : effective_quota(child)) out[p] += amount;
    }
    return out;
  }
  MilliGpu covered(AccountId id, ProductId extra_product, MilliGpu extra) const {
    auto have = alloc(id);
    have[extra_product] += extra;
    auto q = effective_quota(id);
    MilliGpu sum = 0, rest = 0;
    for (const auto& [p, amount] : have) {
      const MilliGpu own = p.value == 0 ? 0 : std::min(amount, q[p]);
      sum += own;
      rest += amount - own;
    }
    return sum + std::min(rest, q[ProductId()]);
  }
  static MilliGpu total(const std::map<ProductId, MilliGpu>& amounts) {
    MilliGpu sum = 0;
    for (const auto& [p, amount] : amounts) sum += amount;
    return sum;
  }
  AccountId over(AccountId leaf, ProductId product, MilliGpu amount) const {
    if (amount == 0) return {};
    for (AccountId id = leaf; id; id = parent.at(id)) {
      const auto own = limit.find(id);
      if (own == limit.end()) continue;
      auto have = alloc(id);
      for (const auto& [p, most] : own->second) {
        if (p.value == 0 && total(have) + amount > most) return id;
        if (p.value != 0 && p == product && have[p] + amount > most) return id;
      }
    }
    return {};
  }
  // Time passes: what is open now lasts from `from` to `to`.
  void pass(TimeMs from, TimeMs to) {
    if (from == to) return;
    for (const AccountId id : live) {
      const MilliGpu all = total(alloc(id));
      if (all != 0) slices[id].push_back({all, all - covered(id, ProductId(), 0), from, to});
    }
  }
  long double decayed(AccountId id, TimeMs t, DurationMs h, bool surplus) const {
    long double sum = 0;
    const auto it = slices.find(id);
    if (it == slices.end()) return 0;
    for (const Slice& s : it->second) {
      const auto weight = [&](TimeMs x) { return exp2l(-static_cast<long double>(t - x) / h); };
      const long double rate = surplus ? s.surplus : s.usage;
      sum += rate * h / kLn2 * (weight(s.to) - weight(s.from));
    }
    return sum;
  }
  GpuTime undecayed(AccountId id) const {
    GpuTime sum;
    const auto it = slices.find(id);
    if (it == slices.end()) return sum;
    for (const Slice& s : it->second) sum += GpuTime::of(s.usage, s.to - s.from);
    return sum;
  }
};

class TreeOracleTest : public ::testing::TestWithParam<int> {
 protected:
  using Amounts = std::vector<std::pair<ProductId, MilliGpu>>;
  static constexpr DurationMs kHalfLife = kDayMs;

  void SetUp() override {
    oracle.parent[kRootAccount] = AccountId();
    oracle.live.insert(kRootAccount);
  }

  AccountId any_live() {
    auto it = oracle.live.begin();
    std::advance(it, random.below(static_cast<std::int64_t>(oracle.live.size())));
    return *it;
  }
  Amounts random_amounts() {
    Amounts out;
    for (std::uint16_t p = 0; p < kProducts; ++p) {
      if (random.one_in(2)) out.emplace_back(ProductId(p), 500 * random.below(40));
    }
    return out;
  }
  void apply_spec(AccountId id, const std::string& path, bool edit_quota, bool edit_limit) {
    AccountSpec spec = tree.exists(id) ? tree.node(id).spec : AccountSpec();
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    if (random.one_in(4)) spec.shares = 1 + random.below(20);
    if (edit_quota) remember(oracle.quota, id, random_amounts());
    if (edit_limit) remember(oracle.limit, id, random_amounts());
    const Amounts quota = to_list(oracle.quota, id), limit = to_list(oracle.limit, id);
    spec.quota = test_names(quota);
    spec.limit = test_names(limit);
    const auto error = tree.check(spec);
    ASSERT_FALSE(error) << error->message();
    tree.set(id, spec, 1, now, quota, limit);
  }
  using Book = std::map<AccountId, std::map<ProductId, MilliGpu>>;
  static void remember(Book& book, AccountId id, const Amounts& amounts) {
    book.erase(id);
    for (const auto& [p, amount] : amounts) book[id][p] = amount;
  }
  static Amounts to_list(const Book& book, AccountId id) {
    const auto it = book.find(id);
    return it == book.end() ? Amounts() : Amounts(it->second.begin(), it->second.end());
  }
  static ProductAmounts test_names(const Amounts& amounts) {
    ProductAmounts out;
    for (const auto& [p, amount] : amounts) {
      out.push_back({p.value == 0 ? "gpu" : "p" + std::to_string(p.value), amount});
    }
    return out;
  }

  void create() {
    const AccountId parent = any_live();
    if (oracle.users.contains(parent) || tree.node(parent).depth >= 5) return;
    const AccountId id = tree.next_id();
    const bool user = parent != kRootAccount && random.one_in(2);
    const std::string name = (user ? "u" : "a") + std::to_string(id.value);
    const std::string& above = tree.node(parent).spec.path;
    oracle.parent[id] = parent;
    oracle.live.insert(id);
    if (user) oracle.users.insert(id);
    apply_spec(id,
               above +
                   (user            ? "/"
                    : above.empty() ? ""
                                    : ".") +
                   name,
               random.one_in(3), random.one_in(4));
  }
  void edit() {
    const AccountId id = any_live();
    apply_spec(id, tree.node(id).spec.path, random.one_in(2), random.one_in(2));
  }
  void remove() {
    const AccountId id = any_live();
    if (id == kRootAccount || tree.node(id).alloc() != 0 || !tree.node(id).children.empty()) return;
    tree.remove(id, now);
    oracle.live.erase(id);
    oracle.quota.erase(id);
  }
  void hold() {
    const Open o{any_live(), ProductId(static_cast<std::uint16_t>(1 + random.below(kProducts))),
                 125 * (1 + random.below(64)), false};
    tree.hold(o.leaf, o.product, o.amount, now);
    oracle.open.push_back(o);
  }
  void bind_or_release() {
    if (oracle.open.empty()) return;
    const auto i =
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(oracle.open.size())));
    Open& o = oracle.open[i];
    if (!o.running && random.one_in(2)) {
      tree.bind(o.leaf, o.product, o.amount, now);
      o.running = true;
      return;
    }
    tree.release(o.leaf, o.product, o.amount, o.running, now);
    oracle.open.erase(oracle.open.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void step() {
    const DurationMs gap = random.one_in(3) ? 0 : random.below(kHourMs);
    oracle.pass(now, now + gap);
    now += gap;
    switch (random.below(10)) {
      case 0:
        return create();
      case 1:
        return edit();
      case 2:
        return remove();
      case 3:
      case 4:
      case 5:
        return hold();
      default:
        return bind_or_release();
    }
  }
  void compare() {
    for (const AccountId id : oracle.live) {
      const AccountNode& node = tree.node(id);
      const auto alloc = oracle.alloc(id);
      ASSERT_EQ(node.alloc(), Oracle::total(alloc));
      ASSERT_EQ(node.quota_total, Oracle::total(oracle.effective_quota(id)));
      ASSERT_EQ(tree.usage_undecayed(id, now), oracle.undecayed(id));
      const double bound = 1e-12 * 1e7 * tree.clock().mean_life_ms();
      ASSERT_NEAR(tree.usage(id, now),
                  static_cast<double>(oracle.decayed(id, now, kHalfLife, false)), bound);
      ASSERT_NEAR(surplus_of(tree, id, now),
                  static_cast<double>(oracle.decayed(id, now, kHalfLife, true)), bound);
      const ProductId product(static_cast<std::uint16_t>(random.below(kProducts + 1)));
      const MilliGpu extra = 125 * random.below(64);
      const ProductDemand demand{product, extra};
      ASSERT_EQ(node.alloc() + extra - uncovered(node.quota, node.holdings.levels(), {&demand, 1}),
                oracle.covered(id, product, extra));
      const auto binding = first_binding(tree, {id, {&demand, 1}}, Asking::kAmounts);
      ASSERT_EQ(binding ? binding->subject : AccountId(), oracle.over(id, product, extra));
    }
  }

  Random random{static_cast<std::uint64_t>(GetParam())};
  AccountTree tree{kHalfLife};
  Oracle oracle;
  TimeMs now = 1'772'323'200'000;
};

TEST_P(TreeOracleTest, AgreesAfterEveryOperation) {
  for (int i = 0; i < 600; ++i) {
    step();
    tree.check_invariants();
    if (i % 10 == 0) compare();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(oracle.live.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TreeOracleTest, ::testing::Range(1, 9));

}  // namespace
}  // namespace subak
