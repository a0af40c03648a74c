#include "cli/migrate/kueue_tree.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "cli/migrate/amounts.h"
#include "core/account_limits.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

constexpr char kNever[] = "Never";

class KueueTree {
 public:
  KueueTree(const std::vector<SourceFile>& files, const KueueObjects& objects,
            const MigrateOptions& options, Migration& out)
      : files_(files),
        objects_(objects),
        options_(options),
        out_(out),
        first_(out.accounts.size()) {
    for (const auto& [name, product] : objects.flavors) products_.insert(product);
    products_.erase(kAnyProduct);
  }

  void add() {
    find_cohorts();
    refuse_cycles();
    add_cohorts();
    for (const auto& [name, queue] : objects_.queues) {
      add_node(queue, "ClusterQueue", queue.cohort.empty() ? 0 : rows_.at(queue.cohort));
    }
    set_quotas();
    set_shares();
    set_namespaces();
    set_policy();
  }

 private:
  [[noreturn]] void fail(const SourceLine& at, const std::string& field, const std::string& got,
                         const std::string& want) const {
    refuse(files_[at.file], at.line, field, got, want);
  }

  // A Cohort may exist by its name alone.
  void find_cohorts() {
    cohorts_ = objects_.cohorts;
    const auto name_one = [&](const KueueNode& below) {
      if (below.cohort.empty()) return;
      KueueNode implied;
      implied.name = below.cohort;
      implied.at = below.at;
      cohorts_.emplace(below.cohort, implied);
    };
    for (const auto& [name, node] : objects_.queues) name_one(node);
    for (const auto& [name, node] : objects_.cohorts) name_one(node);
  }

  void refuse_cycles() const {
    std::set<std::string> ends_at_a_root;
    for (const auto& [name, node] : cohorts_) {
      std::vector<std::string> path{name};
      std::set<std::string> seen{name};
      for (const KueueNode* at = &node; !at->cohort.empty() && !ends_at_a_root.contains(at->name);
           at = &cohorts_.at(at->cohort)) {
        path.push_back(at->cohort);
        if (!seen.insert(at->cohort).second) refuse_cycle(path);
      }
      ends_at_a_root.insert(seen.begin(), seen.end());
    }
  }

  [[noreturn]] void refuse_cycle(const std::vector<std::string>& path) const {
    std::string shown;
    for (const std::string& name : path) shown += (shown.empty() ? "" : " -> ") + name;
    fail(cohorts_.at(path.back()).at, "parentName", shown,
         "want a tree of Cohorts: this is a loop");
  }

  // Parents first.
  void add_cohorts() {
    std::map<std::string, std::vector<std::string>> below;
    for (const auto& [name, node] : cohorts_) below[node.cohort].push_back(name);
    std::vector<std::string> waiting(below[""].rbegin(), below[""].rend());
    while (!waiting.empty()) {
      const std::string name = waiting.back();
      waiting.pop_back();
      const KueueNode& node = cohorts_.at(name);
      rows_[name] = add_node(node, "Cohort", node.cohort.empty() ? 0 : rows_.at(node.cohort));
      const auto& children = below[name];
      waiting.insert(waiting.end(), children.rbegin(), children.rend());
    }
  }

  std::size_t add_node(const KueueNode& node, const std::string& kind, std::size_t parent) {
    if (out_.accounts.size() > limits::kMaxAccounts) {
      fail(node.at, kind, node.name,
           "want at most " + std::to_string(limits::kMaxAccounts) + " accounts");
    }
    MigratedAccount& row = out_.accounts.emplace_back();
    row.name = node.name;
    row.kind = kind;
    row.remark = kind + " " + node.name;
    row.parent = parent;
    row.at = node.at;
    row.spec.held = node.held;
    nodes_.push_back(&node);
    return out_.accounts.size() - 1;
  }

  // The product of a flavor. A flavor that is in no file counts as any product.
  std::string product_of(const KueueQuota& quota) {
    const auto found = objects_.flavors.find(quota.flavor);
    if (found != objects_.flavors.end()) return found->second;
    if (missing_.insert(quota.flavor).second) {
      out_.unmatched.push_back({quota.at, "ResourceFlavor", "ResourceFlavor '" + quota.flavor + "'",
                                "The files do not have this flavor, so its quotas are for any "
                                "product. Name the file that has it, too."});
    }
    return kAnyProduct;
  }

  void set_quotas() {
    std::vector<GpuAmounts> below(out_.accounts.size());
    for (std::size_t i = out_.accounts.size(); i-- > first_;) {  // children before parents
      const KueueNode& node = *nodes_[i - first_];
      MigratedAccount& row = out_.accounts[i];
      GpuAmounts own;
      for (const KueueQuota& quota : node.quotas) add_amount(own, product_of(quota), quota.nominal);
      for (const auto& [product, gpus] : own) add_amount(below[i], product, gpus);
      // A Cohort without quota of its own has the sum of the accounts below it.
      if (!own.empty()) row.spec.quota = below[i];
      for (const auto& [product, gpus] : below[i]) add_amount(below[row.parent], product, gpus);
      check_total(row, below[i]);
      if (row.kind == "ClusterQueue") set_limit(row, own);
      set_bounds(row, node, own);
    }
  }

  void check_total(const MigratedAccount& row, const GpuAmounts& amounts) const {
    const std::int64_t most = limits::kMaxMilliGpu / kMilliPerGpu;
    if (std::max(amounts.size(), products_.size()) > limits::kMaxProductsPerAccount) {
      fail(row.at, row.kind + " " + row.name + ": flavors", "",
           "want flavors of at most " + std::to_string(limits::kMaxProductsPerAccount) +
               " products");
    }
    for (const auto& [product, gpus] : amounts) {
      if (gpus <= most) continue;
      fail(row.at, row.kind + " " + row.name + ": nominalQuota", std::to_string(gpus),
           "want at most " + std::to_string(most) + " GPUs of " + product + " in all");
    }
  }

  // A ClusterQueue uses only flavors that it lists.
  void set_limit(MigratedAccount& row, const GpuAmounts& own) const {
    if (own.empty()) return set_amount(row.spec.limit, kAnyProduct, 0);
    if (find_amount(own, kAnyProduct) != nullptr) return;
    for (const std::string& product : products_) {
      if (find_amount(own, product) == nullptr) set_amount(row.spec.limit, product, 0);
    }
  }

  void set_bounds(MigratedAccount& row, const KueueNode& node, const GpuAmounts& own) {
    if (row.parent == 0) {
      // A tree of Cohorts has no more GPUs than its quotas.
      row.spec.borrow = "none";
      row.remark += ", which borrows from no other";
      return;
    }
    row.spec.borrow = bound_text(node, own, "borrowingLimit",
                                 [](const KueueQuota& quota) { return quota.borrowing; });
    row.spec.lend = bound_text(node, own, "lendingLimit", [](const KueueQuota& quota) {
      return quota.lending && *quota.lending < quota.nominal ? quota.lending : std::nullopt;
    });
  }

  // Returns the bounds of all products that have one. A product has none if one of its flavors has
  // none, except that a flavor without a lending limit lends all of its quota.
  template <class Bound>
  std::optional<std::string> bound_text(const KueueNode& node, const GpuAmounts& own,
                                        const std::string& field, Bound bound) {
    GpuAmounts amounts;
    std::set<std::string> unlimited;
    const bool lends = field == "lendingLimit";
    bool any = false;
    for (const KueueQuota& quota : node.quotas) {
      const std::string product = product_of(quota);
      const auto gpus = bound(quota);
      any = any || gpus;
      if (!gpus && !lends) unlimited.insert(product);
      add_amount(amounts, product, gpus.value_or(quota.nominal));
    }
    if (!any) return std::nullopt;
    for (auto& [product, gpus] : amounts) {
      gpus = std::min(gpus, limits::kMaxMilliGpu / kMilliPerGpu);
    }
    std::erase_if(amounts, [&](const auto& entry) {
      const std::int64_t* const quota = find_amount(own, entry.first);
      return unlimited.contains(entry.first) || (lends && entry.second >= *quota);
    });
    // In `borrow` and `lend`, gpu is the bound on all products together.
    if (own.size() > 1 && find_amount(amounts, kAnyProduct) != nullptr) {
      std::erase_if(amounts, [](const auto& entry) { return entry.first == kAnyProduct; });
      out_.unmatched.push_back({node.at, field, node.name + ": " + field + " of any product",
                                "The account also has flavors of one product. A bound of `gpu` "
                                "would count these too, so the account has no such bound."});
    }
    return amounts.empty() ? std::nullopt : std::optional(amounts_of(amounts));
  }

  // Weights of siblings become whole numbers with the same proportions.
  void set_shares() {
    std::map<std::size_t, std::int64_t> divisors;  // by parent
    for (std::size_t i = first_; i < out_.accounts.size(); ++i) {
      std::int64_t& divisor = divisors[out_.accounts[i].parent];
      divisor = std::gcd(divisor, nodes_[i - first_]->weight_milli);
    }
    for (std::size_t i = first_; i < out_.accounts.size(); ++i) {
      MigratedAccount& row = out_.accounts[i];
      const std::int64_t divisor = std::max<std::int64_t>(divisors[row.parent], 1);
      row.shares = nodes_[i - first_]->weight_milli / divisor;
    }
  }

  void set_namespaces() {
    std::map<std::string, std::size_t> queues;  // the account of each ClusterQueue
    for (std::size_t i = first_; i < out_.accounts.size(); ++i) {
      if (out_.accounts[i].kind == "ClusterQueue") queues[out_.accounts[i].name] = i;
    }
    std::map<std::string, std::string> owners;  // the ClusterQueue of each namespace
    for (const KueueLocalQueue& local : in_file_order()) {
      const auto unmatched = [&](const std::string& todo) {
        out_.unmatched.push_back({local.at, "LocalQueue",
                                  "LocalQueue '" + local.name + "' of namespace " + local.ns +
                                      ": clusterQueue=" + local.queue,
                                  todo});
      };
      const auto queue = queues.find(local.queue);
      if (queue == queues.end()) {
        unmatched("The files do not have this ClusterQueue. Name the file that has it, too.");
      } else if (local.ns == "none" && options_.cluster.empty()) {
        unmatched("In an account file, `none` means no namespace. Use --cluster.");
      } else if (const auto [at, is_new] = owners.emplace(local.ns, local.queue); is_new) {
        add_namespace(local, out_.accounts[queue->second]);
      } else if (at->second != local.queue) {
        unmatched(
            "A namespace belongs to one account. This one belongs to that of another "
            "ClusterQueue already.");
      }
    }
  }

  // The first LocalQueue of a namespace decides its account.
  std::vector<KueueLocalQueue> in_file_order() const {
    std::vector<KueueLocalQueue> out;
    for (const auto& [key, local] : objects_.local_queues) out.push_back(local);
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return std::pair(a.at.file, a.at.line) < std::pair(b.at.file, b.at.line);
    });
    return out;
  }

  void add_namespace(const KueueLocalQueue& local, MigratedAccount& row) const {
    if (row.spec.namespaces.size() == limits::kMaxNamespacesPerAccount) {
      fail(local.at, "metadata.namespace", local.ns,
           "want at most " + std::to_string(limits::kMaxNamespacesPerAccount) +
               " namespaces for one ClusterQueue");
    }
    row.spec.namespaces.push_back(options_.cluster.empty() ? local.ns
                                                           : options_.cluster + "/" + local.ns);
  }

  // Subak has one rule of reclaim, and classes preempt or not. So the rule of most ClusterQueues
  // becomes the setting, and the others are in the report.
  void set_policy() {
    const auto& queues = objects_.queues;
    if (queues.empty()) return;
    const bool none_reclaims = std::all_of(queues.begin(), queues.end(), [](const auto& entry) {
      return entry.second.cohort.empty() || entry.second.reclaim == kNever;
    });
    const bool all_preempt = std::all_of(queues.begin(), queues.end(), [](const auto& entry) {
      return entry.second.within_queue != kNever;
    });
    if (none_reclaims) {
      out_.settings.emplace_back("reclaim: off  # no ClusterQueue has reclaimWithinCohort");
    }
    for (PriorityClass& one : out_.classes) one.preempts = all_preempt;
    for (const auto& [name, queue] : queues) {
      const auto unmatched = [&, &queue = queue](const std::string& field, const std::string& value,
                                                 const std::string& todo) {
        out_.unmatched.push_back(
            {queue.at, field, "ClusterQueue '" + queue.name + "': " + field + "=" + value, todo});
      };
      if (!none_reclaims && !queue.cohort.empty() && queue.reclaim != "Any") {
        unmatched("preemption.reclaimWithinCohort", queue.reclaim,
                  "Reclaim is one setting for all accounts. It is on, as other ClusterQueues "
                  "have it, and takes GPUs from jobs of any priority.");
      }
      if (!all_preempt && queue.within_queue != kNever) {
        unmatched("preemption.withinClusterQueue", queue.within_queue,
                  "A priority class preempts within all accounts or none. Other ClusterQueues "
                  "have Never, so no class has `preempts: true`.");
      } else if (queue.within_queue == "LowerOrNewerEqualPriority") {
        unmatched("preemption.withinClusterQueue", queue.within_queue,
                  "A job preempts jobs of lower priority only, not newer jobs of its own.");
      }
    }
  }

  const std::vector<SourceFile>& files_;
  const KueueObjects& objects_;
  const MigrateOptions& options_;
  Migration& out_;
  // The first account of this tree in `out_.accounts`.
  const std::size_t first_;
  std::set<std::string> products_;
  // All Cohorts, also those that only a name refers to.
  std::map<std::string, KueueNode> cohorts_;
  // The account of each Cohort.
  std::map<std::string, std::size_t> rows_;
  // The object of each account from `first_` on.
  std::vector<const KueueNode*> nodes_;
  // Flavors that are in no file.
  std::set<std::string> missing_;
};

}  // namespace

void add_kueue_tree(const std::vector<SourceFile>& files, const KueueObjects& objects,
                    const MigrateOptions& options, Migration& out) {
  KueueTree(files, objects, options, out).add();
}

}  // namespace subak::cli
