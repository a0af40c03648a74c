#include "server/api/convert/admission_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/account_limits.h"
#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/api/convert/admission_rules.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// Bounds sums over many nodes or over many accounts' quotas.
constexpr MilliGpu kMostSum = static_cast<MilliGpu>(limits::kMaxAccounts) * limits::kMaxMilliGpu;

// Returns the fields of a cluster that the webhook reads. A new field of the View does not compile
// here until a developer has decided whether replicas need it.
auto read_of(const ClusterView& cluster) {
  const auto& [id, name, mode, namespaces, synced, owned, session, products, mig_slices,
               product_node_gpus, largest_node_gpus, product_container_gpus, largest_node, labels,
               unmanaged_pods, known_as] = cluster;
  return std::tie(id, name, mode, namespaces, synced, owned, mig_slices, product_node_gpus,
                  product_container_gpus, largest_node, labels, known_as);
}

bool is_same(const ClusterView& a, const ClusterView& b) {
  const auto same_totals = [](const ProductTotals& x, const ProductTotals& y) {
    return x.product == y.product && x.milligpu.installed == y.milligpu.installed &&
           x.milligpu.unusable == y.milligpu.unusable;
  };
  return read_of(a) == read_of(b) && std::equal(a.products.begin(), a.products.end(),
                                                b.products.begin(), b.products.end(), same_totals);
}

// --- out -----------------------------------------------------------------------------------------

class PartWriter {
 public:
  // Returns the part to add to; a new one if the last is full.
  v1::StaticResponse& part() {
    if (parts_.empty() || bytes_ >= limits::kAdmissionSnapshotPartBytes) {
      parts_.emplace_back();
      bytes_ = 0;
    }
    return parts_.back();
  }
  void wrote(std::size_t bytes) { bytes_ += bytes; }
  std::vector<v1::StaticResponse> finish(std::uint64_t sequence) {
    for (auto& part : parts_) part.set_sequence(sequence);
    parts_.front().set_begins(true);
    parts_.back().set_complete(true);
    return std::move(parts_);
  }

 private:
  std::vector<v1::StaticResponse> parts_;
  std::size_t bytes_ = 0;
};

ProductAmounts named(const AccountsView& accounts, const std::vector<ProductDemand>& amounts) {
  ProductAmounts out;
  for (const auto& [product, milligpu] : amounts) {
    out.push_back({std::string(product ? accounts.product_name(product) : kAnyProduct), milligpu});
  }
  return out;
}

void put_products(const AccountsView& accounts, PartWriter& writer) {
  const std::size_t count = accounts.products ? accounts.products->size() : 0;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string name(accounts.product_name(ProductId(static_cast<std::uint16_t>(i))));
    writer.part().add_products(name);
    writer.wrote(name.size());
  }
}

void put_row(const AccountsView& accounts, const AccountsView::Row& row, PartWriter& writer) {
  v1::StaticResponse& part = writer.part();
  v1::Account* const account = row.spec.user ? part.add_users() : part.add_accounts();
  put(row.spec, row.revision, account);
  writer.wrote(account->ByteSizeLong());
  if (!row.spec.quota.empty() || row.quota.empty()) return;
  v1::EffectiveQuota* const quota = part.add_effective_quotas();
  quota->set_account(row.spec.path);
  put(named(accounts, row.quota), quota->mutable_quota());
  writer.wrote(quota->ByteSizeLong());
}

// --- in ------------------------------------------------------------------------------------------

// Reads a whole copy. The first mistake is in `check`.
class CopyReader {
 public:
  CopyReader(Check& check, const v1::StaticResponse& in) : check_(check), in_(in) {}

  AdmissionBasis read() {
    auto view = std::make_shared<View>();
    view->seq = in_.sequence();
    auto config = std::make_shared<AdmissionConfig>();
    get_rules(check_, in_.rules(), *view, *config);
    read_products();
    read_quotas();
    view->accounts = read_accounts();
    view->clusters = read_clusters();
    return {std::move(view), std::move(config)};
  }

 private:
  template <class Items>
  bool fits(const char* field, const Items& items, std::size_t most) {
    check_.number(field, items.size(), 0, static_cast<std::int64_t>(most));
    return check_.ok();
  }

  void read_products() {
    if (!fits("products", in_.products(), limits::kMaxProducts)) return;
    for (int i = 0; i < in_.products_size(); ++i) {
      const auto scope = check_.in("products", i);
      const ProductId id(static_cast<std::uint16_t>(i + 1));
      const std::string name = check_.name("", in_.products(i), true);
      if (!products_.emplace(name, id).second) check_.fail("", name, "want each product once");
    }
  }

  ProductId product_of(const char* field, const std::string& name) {
    if (name == kAnyProduct) return {};
    const auto product = products_.find(name);
    if (product != products_.end()) return product->second;
    check_.fail(field, name, "want one of products, or gpu");
    return {};
  }

  std::vector<ProductDemand> by_id(const char* field, const ProductAmounts& amounts) {
    std::vector<ProductDemand> out;
    for (const ProductAmount& a : amounts) {
      out.emplace_back(product_of(field, a.product), a.milligpu);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  void read_quotas() {
    if (!fits("effective_quotas", in_.effective_quotas(), limits::kMaxAccounts)) return;
    for (int i = 0; i < in_.effective_quotas_size() && check_.ok(); ++i) {
      const auto scope = check_.in("effective_quotas", i);
      const v1::EffectiveQuota& row = in_.effective_quotas(i);
      std::vector<ProductDemand> quota;
      for (const v1::ProductAmount& amount : row.quota()) {
        const MilliGpu most = check_.number("quota", amount.milligpu(), 0, kMostSum);
        quota.emplace_back(product_of("quota", amount.product()), most);
      }
      std::sort(quota.begin(), quota.end());
      if (!quotas_.emplace(row.account(), std::move(quota)).second) {
        check_.fail("account", row.account(), "want each account once");
      }
    }
  }

  void read_row(const v1::Account& in, bool user) {
    AccountsView::Row row;
    row.revision = check_.number("revision", in.revision(), 0, INT64_MAX);
    row.spec = get(check_, in, {});
    row.spec.user = user;
    check_.take(tree_.check(row.spec));
    if (!read_.insert(row.spec.path).second) {
      check_.fail("path", row.spec.path, "want each account once");
    }
    row.limit = by_id("limit", row.spec.limit);
    row.quota = by_id("quota", row.spec.quota);
    if (!check_.ok()) return;
    row.id = tree_.id_for(row.spec.path);
    const BorrowBound borrow = parse_borrow(row.spec.borrow, "borrow").value();
    row.borrow = borrow.total;
    row.borrow_of = by_id("borrow", borrow.by_product);
    const UserLimits users = parse_user_limits(row.spec.user_limits, "user_limits").value();
    BorrowAmounts by_product;
    by_product.user_gpus = by_id("user_limits", users.gpus);
    for (const Budget& budget : budgets_of(row.spec.budgets)) {
      const bool named = !budget.product.empty();
      by_product.budgets.push_back(named ? product_of("budgets", budget.product) : kOfAny);
    }
    row.extra = extra_limits_of(row.spec, by_product);
    if (const auto quota = quotas_.find(row.spec.path); quota != quotas_.end()) {
      if (row.spec.quota.empty()) row.quota = std::move(quota->second);
      quotas_.erase(quota);
    }
    AccountSpec place = row.spec;  // the tree only checks; with quotas it would sum at each step
    place.quota.clear();
    tree_.set(row.id, place, row.revision, 0, {}, {});
    const auto path = std::make_shared<const std::string>(row.spec.path);
    for (const std::string& ns : row.spec.namespaces) namespaces_.emplace_back(ns, path);
    rows_.emplace_back(*path, std::make_shared<const AccountsView::Row>(std::move(row)));
  }

  std::shared_ptr<const AccountsView> read_accounts() {
    for (int i = 0; i < in_.accounts_size() && check_.ok(); ++i) {
      const auto scope = check_.in("accounts", i);
      read_row(in_.accounts(i), false);
    }
    for (int i = 0; i < in_.users_size() && check_.ok(); ++i) {
      const auto scope = check_.in("users", i);
      read_row(in_.users(i), true);
    }
    if (!read_.contains("")) check_.fail("accounts", "", "want the root among them");
    if (!quotas_.empty()) {
      check_.fail("effective_quotas", quotas_.begin()->first, "want one of accounts");
    }
    auto out = std::make_shared<AccountsView>();
    out->by_path = out->by_path.changed(std::move(rows_));
    out->by_namespace = out->by_namespace.changed(std::move(namespaces_));
    out->products =
        std::make_shared<const std::map<std::string, ProductId, std::less<>>>(products_);
    return out;
  }

  void read_totals(const v1::Cluster& in, ClusterView& out) {
    if (!fits("products", in.products(), limits::kMaxProducts)) return;
    for (int i = 0; i < in.products_size() && check_.ok(); ++i) {
      const auto scope = check_.in("products", i);
      const v1::ProductTotals& row = in.products(i);
      const auto amount = [&](const char* field, std::int64_t value) {
        return check_.number(field, value, 0, kMostSum);
      };
      ProductTotals& totals = out.products.emplace_back();
      totals.cluster = out.id;
      totals.product = check_.name("product", row.product(), true);
      totals.nodes = check_.number("nodes", row.nodes(), 0, std::int64_t{limits::kMaxNodes});
      totals.milligpu.installed = amount("installed_milligpu", row.installed_milligpu());
      totals.milligpu.allocated = amount("allocated_milligpu", row.allocated_milligpu());
      totals.milligpu.idle = amount("idle_milligpu", row.idle_milligpu());
      totals.milligpu.stranded = amount("stranded_milligpu", row.stranded_milligpu());
      totals.milligpu.unusable = amount("unusable_milligpu", row.unusable_milligpu());
      totals.milligpu.overcommitted =
          amount("overcommitted_milligpu", row.overcommitted_milligpu());
      const std::int64_t gpus = check_.number("largest_node_gpus", row.largest_node_gpus(), 0,
                                              std::int64_t{limits::kMaxGpusPerNode});
      out.product_node_gpus.push_back(gpus);
      out.largest_node_gpus = std::max(out.largest_node_gpus, gpus);
      out.product_container_gpus.push_back(check_.number("largest_container_gpus",
                                                         row.largest_container_gpus(), 0,
                                                         std::int64_t{limits::kMaxGpusPerNode}));
    }
  }

  std::shared_ptr<const NamespaceLabels> read_labels(const v1::Cluster& in) {
    if (!fits("namespace_labels", in.namespace_labels(), limits::kMaxLabelledNamespaces)) return {};
    std::vector<NamespaceLabels::Entry> entries;
    for (int i = 0; i < in.namespace_labels_size() && check_.ok(); ++i) {
      const auto scope = check_.in("namespace_labels", i);
      const v1::NamespaceLabel& row = in.namespace_labels(i);
      NamespaceLabel label{check_.name("namespace", row.namespace_(), true),
                           check_.name("account", row.account(), false)};
      std::string key = label.ns;
      entries.emplace_back(std::move(key),
                           std::make_shared<const NamespaceLabel>(std::move(label)));
    }
    return std::make_shared<const NamespaceLabels>(NamespaceLabels().changed(std::move(entries)));
  }

  void read_largest_node(const v1::Cluster& in, LargestNode& out) {
    out.cpu_milli = check_.number("largest_node_cpu_milli", in.largest_node_cpu_milli(), 0,
                                  limits::kMaxCpuMilli);
    out.memory_bytes = check_.number("largest_node_memory_bytes", in.largest_node_memory_bytes(), 0,
                                     limits::kMaxMemoryBytes);
    out.more = in.more_extended();
    out.container_cpu_milli = check_.number(
        "largest_container_cpu_milli", in.largest_container_cpu_milli(), 0, limits::kMaxCpuMilli);
    if (!fits("largest_node_extended", in.largest_node_extended(), limits::kMaxResourceNames))
      return;
    for (int i = 0; i < in.largest_node_extended_size() && check_.ok(); ++i) {
      const auto scope = check_.in("largest_node_extended", i);
      const v1::ResourceCount& row = in.largest_node_extended(i);
      out.extended.push_back({check_.text("name", row.name(), limits::kMaxTextBytes),
                              check_.number("count", row.count(), 0, limits::kMaxResourceCount)});
    }
    out.mig = read_slices("largest_node_mig", in.largest_node_mig());
  }

  std::vector<MigSlices> read_slices(const char* field,
                                     const google::protobuf::RepeatedPtrField<v1::MigSlices>& in) {
    std::vector<MigSlices> out;
    if (!fits(field, in, limits::kMaxProducts)) return out;
    for (int i = 0; i < in.size() && check_.ok(); ++i) {
      const auto scope = check_.in(field, i);
      out.push_back({check_.name("profile", in[i].profile(), true),
                     check_.number("count", in[i].count(), 0, limits::kMaxResourceCount)});
    }
    return out;
  }

  void read_to_come(const v1::Cluster& in, std::vector<NodesToCome>& out) {
    if (!fits("to_come", in.to_come(), limits::kMaxNodePools)) return;
    for (int i = 0; i < in.to_come_size() && check_.ok(); ++i) {
      const auto scope = check_.in("to_come", i);
      const v1::NodesToCome& row = in.to_come(i);
      NodesToCome& nodes = out.emplace_back();
      nodes.product = check_.name("product", row.product(), true);
      nodes.gpus = check_.number("gpus", row.gpus(), 0, std::int64_t{limits::kMaxGpusPerNode});
      nodes.nodes = check_.number("nodes", row.nodes(), 0, std::int64_t{limits::kMaxPoolNodes});
      nodes.cpu_milli = check_.number("cpu_milli", row.cpu_milli(), 0, limits::kMaxCpuMilli);
      nodes.memory_bytes =
          check_.number("memory_bytes", row.memory_bytes(), 0, limits::kMaxMemoryBytes);
    }
  }

  void read_cluster(const v1::Cluster& in, ClusterView& out) {
    out.id = ClusterId(static_cast<std::uint16_t>(check_.number("id", in.id(), 1, UINT16_MAX)));
    out.name = check_.name("name", in.name(), true);
    out.mode = get_enum<Mode>(check_, "mode", in.mode());
    if (!fits("namespaces", in.namespaces(), limits::kMaxNamespaceModes)) return;
    for (int i = 0; i < in.namespaces_size() && check_.ok(); ++i) {
      const auto scope = check_.in("namespaces", i);
      out.namespaces.push_back({check_.name("namespace", in.namespaces(i).namespace_(), true),
                                get_enum<Mode>(check_, "mode", in.namespaces(i).mode())});
    }
    out.synced = in.synced();
    out.owned = in.owned();
    out.known_as = check_.text("known_as", in.known_as(), limits::kMaxTextBytes);
    out.labels = read_labels(in);
    read_totals(in, out);
    read_largest_node(in, out.largest_node);
    read_to_come(in, out.largest_node.to_come);
    for (MigSlices& slices : read_slices("mig_slices", in.mig_slices())) {
      out.mig_slices.emplace_back(std::move(slices.profile), slices.count);
    }
  }

  std::shared_ptr<const std::vector<ClusterView>> read_clusters() {
    auto out = std::make_shared<std::vector<ClusterView>>();
    if (!fits("clusters", in_.clusters(), limits::kMaxClusters)) return out;
    std::set<std::string> names;
    for (int i = 0; i < in_.clusters_size() && check_.ok(); ++i) {
      const auto scope = check_.in("clusters", i);
      const ClusterId last = out->empty() ? ClusterId() : out->back().id;
      read_cluster(in_.clusters(i), out->emplace_back());
      if (out->back().id <= last)
        check_.fail("id", std::to_string(in_.clusters(i).id()), "want them by id");
      if (!names.insert(out->back().name).second) {
        check_.fail("name", out->back().name, "want each cluster once");
      }
    }
    return out;
  }

  Check& check_;
  const v1::StaticResponse& in_;
  std::map<std::string, ProductId, std::less<>> products_;
  std::map<std::string, std::vector<ProductDemand>> quotas_;  // unread accounts' effective quotas
  AccountTree tree_;
  std::set<std::string> read_;  // paths
  std::vector<SharedMap<AccountsView::Row>::Entry> rows_;
  std::vector<SharedMap<std::string>::Entry> namespaces_;
};

}  // namespace

bool is_same_admission_snapshot(const View& a, const View& b) {
  return a.accounts == b.accounts && a.policy.system_namespaces == b.policy.system_namespaces &&
         a.policy.priority_classes == b.policy.priority_classes &&
         std::equal(a.clusters->begin(), a.clusters->end(), b.clusters->begin(), b.clusters->end(),
                    is_same);
}

std::vector<v1::StaticResponse> admission_snapshot_parts(const View& view,
                                                         const AdmissionConfig& config) {
  PartWriter writer;
  put_rules(view, config, writer.part().mutable_rules());
  put_products(*view.accounts, writer);
  for (const AccountsView::Row* row : view.accounts->by_path.values()) {
    put_row(*view.accounts, *row, writer);
  }
  for (const ClusterView& cluster : *view.clusters) {
    v1::Cluster* const out = writer.part().add_clusters();
    put(cluster, out);
    writer.wrote(out->ByteSizeLong());
  }
  return writer.finish(view.seq);
}

// Concatenated messages are the message that they make together.
std::string admission_snapshot_bytes(const View& view, const AdmissionConfig& config) {
  std::string out;
  for (const v1::StaticResponse& part : admission_snapshot_parts(view, config))
    part.AppendToString(&out);
  return out;
}

Result<AdmissionBasis> read_admission_snapshot(std::string_view bytes) {
  v1::StaticResponse whole;
  const bool is_one = bytes.size() <= limits::kMaxAdmissionSnapshotBytes &&
                      whole.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!is_one || !whole.complete()) {
    return Error{
        ErrorCode::kInvalid, "copy", std::to_string(bytes.size()) + " bytes",
        "want a whole copy of at most " + std::to_string(limits::kMaxAdmissionSnapshotBytes)};
  }
  auto taken = AdmissionSnapshotAssembler().take(whole);
  if (!taken) return taken.error();
  return *std::move(taken).value();
}

std::optional<Error> AdmissionSnapshotAssembler::add(const v1::StaticResponse& part) {
  Check check;
  const bool first = bytes_ == 0;
  bytes_ += part.ByteSizeLong();
  if (part.begins() != first) {
    check.fail("begins", part.begins() ? "true" : "false", "want it in the first part alone");
  }
  if (part.has_rules() != first) {
    check.fail("rules", "",
               first ? "is required in the first part: a leader of this version says "
                       "them"
                     : "want them in the first part alone");
  }
  if (!first && part.sequence() != whole_.sequence()) {
    check.fail("sequence", std::to_string(part.sequence()),
               "want " + std::to_string(whole_.sequence()) + " as in the first part");
  }
  if (bytes_ > limits::kMaxAdmissionSnapshotBytes) {
    check.fail("accounts", std::to_string(bytes_) + " bytes",
               "want a copy of at most " + std::to_string(limits::kMaxAdmissionSnapshotBytes));
  }
  if (!check.ok()) return check.error();
  whole_.MergeFrom(part);
  return std::nullopt;
}

Result<std::optional<AdmissionBasis>> AdmissionSnapshotAssembler::take(
    const v1::StaticResponse& part) {
  std::optional<Error> error = add(part);
  std::optional<AdmissionBasis> basis;
  if (!error && part.complete()) {
    Check check(Check::Texts::kStored);
    basis = CopyReader(check, whole_).read();
    if (!check.ok()) error = check.error();
  }
  if (error || part.complete()) {
    whole_.Clear();
    bytes_ = 0;
  }
  if (error) return *std::move(error);
  return basis;
}

}  // namespace subak::api
