// Warnings about settings of an account that are legal but hardly intended. The edit is done
// anyway: operators write quotas before machines come, and limits before quotas go.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/account_path.h"
#include "core/decimal.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

constexpr std::size_t kProductsNamed = 8, kJobsNamed = 8;  // the most that one warning names

MilliGpu total_of(const ProductAmounts& amounts) {
  MilliGpu sum = 0;
  for (const ProductAmount& amount : amounts) {
    must(amount.milligpu >= 0, "the bounds of an account allow no negative amount");
    sum += amount.milligpu;
  }
  return sum;
}

std::string name_of(const std::string& product) {
  return product == kAnyProduct ? "GPUs" : "GPUs of " + product;
}

// GPUs by product, over all clusters.
class InstalledGpus {
 public:
  explicit InstalledGpus(const Fleet& fleet) {
    for (const ProductTotals& t : fleet.totals()) {
      must(t.milligpu.installed >= 0, "no less than nothing is installed");
      if (t.milligpu.installed == 0) continue;
      of_[t.product] += t.milligpu.installed;
      all_ += t.milligpu.installed;
    }
  }
  MilliGpu all() const { return all_; }
  MilliGpu of(const std::string& product) const {
    if (product == kAnyProduct) return all_;
    const auto it = of_.find(product);
    return it == of_.end() ? 0 : it->second;
  }
  std::string names() const {
    std::string text;
    std::size_t named = 0;
    for (const auto& [product, installed] : of_) {
      if (++named > kProductsNamed) return text + ", ...";
      text += (text.empty() ? "" : ", ") + product;
    }
    return text;
  }

 private:
  std::map<std::string, MilliGpu> of_;
  MilliGpu all_ = 0;
};

class Warnings {
 public:
  Warnings(const AccountSpec& spec, const AccountTree& tree, const Fleet& fleet,
           std::vector<std::string>& out)
      : spec_(spec), tree_(tree), installed_(fleet), out_(out) {}

  void about_all() {
    if (installed_.all() > 0) {
      about_products("quota", spec_.quota);
      about_products("limit", spec_.limit);
      about_products("user_limits",
                     parse_user_limits(spec_.user_limits, "user_limits").value().gpus);
      about_fleet();
      about_all_quotas();
    }
    about_limit(spec_.limit, "its own limit");
    for (AccountId a = parent(); a; a = tree_.node(a).parent) {
      const AccountSpec& above = tree_.node(a).spec;
      about_limit(above.limit, "the limit of " + (above.path.empty() ? "the root" : above.path));
    }
    if (spec_.shares == 0 && total_of(spec_.quota) > 0) {
      say("shares: 0 beside a quota: beyond its quota the account gets only what no other account "
          "wants");
    }
  }

 private:
  void say(std::string text) {
    if (out_.size() < limits::kMaxWarnings) out_.push_back(std::move(text));
  }
  AccountId parent() const {
    return spec_.path.empty() ? AccountId() : tree_.find(parent_path(spec_.path));
  }

  void about_products(const char* field, const ProductAmounts& amounts) {
    for (const ProductAmount& a : amounts) {
      if (a.product == kAnyProduct || installed_.of(a.product) > 0) continue;
      say(std::string(field) + ": no node has the product " + a.product + "; the fleet has " +
          installed_.names());
    }
  }

  void about_fleet() {
    for (const ProductAmount& a : spec_.quota) {
      const MilliGpu there = installed_.of(a.product);
      if (a.milligpu <= there || there == 0) continue;
      say("quota: " + format_milligpu(a.milligpu) + " " + name_of(a.product) +
          ", and the fleet has " + format_milligpu(there) + ": it cannot be guaranteed");
    }
  }

  // Checks the sum of all accounts' quotas, with this edit applied.
  void about_all_quotas() {
    const AccountId old = tree_.find(spec_.path);
    MilliGpu before = old ? tree_.node(old).quota_total : 0;
    MilliGpu after = spec_.quota.empty() ? children_of(old) : total_of(spec_.quota);
    if (after <= before) return;
    MilliGpu all = spec_.path.empty() ? after : tree_.node(kRootAccount).quota_total;
    for (AccountId a = parent(); a; a = tree_.node(a).parent) {
      // An account above has a quota of its own, so the sum of all quotas stays the same.
      if (!tree_.node(a).spec.quota.empty()) return;
      if (a == kRootAccount) all += after - before;
    }
    if (all <= installed_.all() || after > installed_.all()) return;
    say("quota: all quotas together are " + format_milligpu(all) + " GPUs, and the fleet has " +
        format_milligpu(installed_.all()) + ": they cannot all be guaranteed");
  }
  MilliGpu children_of(AccountId id) const {
    MilliGpu sum = 0;
    if (!id) return sum;
    for (const AccountId child : tree_.node(id).children) {
      sum += tree_.node(child).quota_total;
    }
    return sum;
  }

  void about_limit(const ProductAmounts& limit, const std::string& whose) {
    for (const ProductAmount& most : limit) {
      MilliGpu quota = 0;
      for (const ProductAmount& a : spec_.quota) {
        const bool counts = most.product == kAnyProduct || a.product == most.product;
        if (counts) quota += a.milligpu;
      }
      if (quota <= most.milligpu) continue;
      say("quota: " + format_milligpu(quota) + " " + name_of(most.product) + " is above " + whose +
          " of " + format_milligpu(most.milligpu) + ": it can never have them all");
    }
  }

  const AccountSpec& spec_;
  const AccountTree& tree_;
  const InstalledGpus installed_;
  std::vector<std::string>& out_;
};

}  // namespace

// Names the jobs at or below the account that hold these milli-GPU, the latest start first.
static std::string holders_text(const State& s, AccountId id, MilliGpu milligpu) {
  struct Holder {
    TimeMs started_ms;
    JobId job;
    MilliGpu milligpu;
  };
  std::vector<Holder> holders;
  for (const JobId each : s.jobs().table().ids()) {
    const state::Job& job = s.jobs().at(each);
    if (job.leaf == kUnassigned) continue;
    MilliGpu held = 0;
    for (const state::Pod& pod : job.pods) held += pod.slot.milligpu;
    if (held > 0 && is_below(s.tree(), job.leaf, id)) {
      holders.push_back({job.run().started_ms, each, held});
    }
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return std::tie(b.started_ms, b.job) < std::tie(a.started_ms, a.job);
  });
  std::string text;
  MilliGpu named = 0;
  for (std::size_t i = 0; i < holders.size() && i < kJobsNamed && named < milligpu; ++i) {
    named += holders[i].milligpu;
    text += (i == 0 ? " " : ", ") + text::job_id_text(holders[i].job) + " (" +
            format_milligpu(holders[i].milligpu) + " GPUs)";
  }
  return text + (named < milligpu ? ", ..." : "");
}

void warn_of_borrowers(Decision& d, AccountId id, std::span<const ProductDemand> quota) {
  const AccountNode& node = d.s.tree().node(id);
  const MilliGpu now = uncovered(node.quota, node.holdings.levels(), {});
  const MilliGpu then = uncovered(quota, node.holdings.levels(), {});
  if (then <= now || d.out.reply.warnings.size() >= limits::kMaxWarnings) return;
  d.out.reply.warnings.push_back(
      "quota: " + format_milligpu(then) + " GPUs in use would be above it, and now " +
      format_milligpu(now) +
      " are; jobs within quota may reclaim them:" + holders_text(d.s, id, then));
}

// Returns the account at or above this one with a quota of its own. None: there is no such account.
static AccountId quota_holder(const AccountTree& tree, AccountId id) {
  while (id && tree.node(id).spec.quota.empty()) id = tree.node(id).parent;
  return id;
}

// If more GPUs of the account are above quota after the move, names the jobs that hold them.
static void warn_of_lost_quota(Decision& d, AccountId id, const AccountTree& after) {
  const AccountTree& tree = d.s.tree();
  const AccountId from = quota_holder(tree, id), to = quota_holder(after, id);
  if (from == to) return;
  const auto beyond = [](const AccountTree& t, AccountId a) {
    return a ? beyond_quota(t.node(a)) : MilliGpu{0};
  };
  const MilliGpu all = tree.node(id).meters.usage_rate();
  const MilliGpu now = from ? beyond(tree, from) - beyond(after, from) : all;
  const MilliGpu then = to ? beyond(after, to) - beyond(tree, to) : all;
  if (then <= now) return;
  d.out.reply.warnings.push_back(
      "quota: " + format_milligpu(then) + " GPUs of the account would be above quota, and now " +
      format_milligpu(now) +
      " are; jobs within quota may reclaim them:" + holders_text(d.s, id, then));
}

// Warns of limits of the new parents that running jobs exceed after the move.
static void warn_of_full_limits(Decision& d, AccountId id, const AccountTree& after) {
  std::vector<std::string>& warnings = d.out.reply.warnings;
  const AccountId from = d.s.tree().node(id).parent;
  for (AccountId up = after.node(id).parent; !is_below(after, from, up);
       up = after.node(up).parent) {
    const AccountNode& node = after.node(up);
    const std::string whose = "account " + node.spec.path;
    for (const auto& [product, most] : node.limits.gpus) {
      const MilliGpu held =
          product == kOfAny ? node.alloc() : total_of(node.holdings.levels(), product);
      if (held <= most || warnings.size() >= limits::kMaxWarnings) continue;
      warnings.push_back("limit: " + whose + " would hold " + format_milligpu(held) +
                         " GPUs, and "
                         "its limit is " +
                         format_milligpu(most) + ": no job below it starts until it holds fewer");
    }
    const ExtraLimits* const extra = node.limits.extra.get();
    if (extra == nullptr || !extra->jobs.jobs || node.jobs.sums.jobs <= *extra->jobs.jobs) continue;
    if (warnings.size() >= limits::kMaxWarnings) return;
    warnings.push_back("limit: " + whose + " would run " + std::to_string(node.jobs.sums.jobs) +
                       " jobs, and its limit is " + std::to_string(*extra->jobs.jobs) +
                       ": no job below it starts until fewer run");
  }
}

void warn_of_move(Decision& d, AccountId id, const AccountTree& after) {
  warn_of_lost_quota(d, id, after);
  warn_of_full_limits(d, id, after);
  warn_of(d, after, after.node(id).spec);
}

void warn_of(Decision& d, const AccountTree& tree, const AccountSpec& spec) {
  Warnings(spec, tree, d.s.fleet(), d.out.reply.warnings).about_all();
  must(d.out.reply.warnings.size() <= limits::kMaxWarnings, "an edit has few warnings");
}

}  // namespace subak::decide
