#include "cli/setup/suggest.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/text/account_names.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/quantity.h"
#include "model/policy.h"

namespace subak::cli {
namespace {

constexpr std::size_t kLabelBytes = 63;  // of a namespace
constexpr std::string_view kRequests = "requests.";

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// True for a Kubernetes DNS label, the form of a namespace's name.
bool is_namespace_name(std::string_view name) {
  return !name.empty() && name.size() <= kLabelBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || c == '-'; });
}

bool is_positive(std::string_view hard) {
  const auto amount = parse_kube_quantity(hard);
  return amount && amount->nano > 0;
}

bool has_gpus(const NamespaceFacts& facts) {
  return facts.gpu_pods > 0 ||
         std::any_of(facts.quotas.begin(), facts.quotas.end(),
                     [](const auto& quota) { return is_positive(quota.hard); });
}

// Returns the whole GPUs that all quotas together allow; nothing without quotas.
std::optional<std::int64_t> gpu_limit(const NamespaceFacts& facts) {
  std::map<std::string, std::int64_t> least;  // by resource
  for (const auto& quota : facts.quotas) {
    const auto amount = parse_kube_quantity(quota.hard);
    if (!quota.whole || !amount) continue;
    const std::int64_t most = limits::kMaxMilliGpu / kMilliPerGpu;
    const std::int64_t gpus = std::clamp<std::int64_t>(amount->units(), 0, most);
    const auto [at, is_new] = least.emplace(quota.key, gpus);
    if (!is_new) at->second = std::min(at->second, gpus);
  }
  if (least.empty()) return std::nullopt;
  std::int64_t sum = 0;
  for (const auto& [key, gpus] : least) {
    sum = std::min(sum + gpus, limits::kMaxMilliGpu / kMilliPerGpu);
  }
  return sum;
}

class Writer {
 public:
  Writer(const Namespaces& namespaces, const KnownAccounts& known, const SuggestOptions& options)
      : all_(namespaces), known_(known), o_(options) {}

  Suggestion write() {
    name_groups();
    for (const auto& [ns, facts] : all_) {
      if (!is_account_path(facts.account)) continue;
      for (std::size_t end = 0; end != std::string::npos;) {
        end = facts.account.find('.', end + 1);
        labelled_.insert(facts.account.substr(0, end));
      }
    }
    for (const auto& [ns, facts] : all_) place(ns, facts);
    return finish();
  }

 private:
  bool counts(const std::string& ns, const NamespaceFacts& facts) const {
    return !is_system_namespace(Policy(), ns) && (o_.all || has_gpus(facts));
  }

  bool is_taken(const std::string& path) const {
    return known_.paths.contains(path) || labelled_.contains(path) || rows_.contains(path) ||
           group_names_.contains(path);
  }

  // Names the groups, also those of kept namespaces, so that each value has the same name the next
  // time. Values that are valid names come before values that must be converted.
  void name_groups() {
    std::set<std::string> values;
    for (const auto& [ns, facts] : all_) {
      if (counts(ns, facts) && !facts.group.empty()) values.insert(facts.group);
    }
    for (const bool valid : {true, false}) {
      for (const std::string& value : values) {
        if (is_account_label(value) != valid) continue;
        const std::string wanted = account_label(value);
        std::string name = wanted;
        for (int n = 2; !group_names_.insert(name).second; ++n) {
          name = wanted + "-" + std::to_string(n);
        }
        groups_[value] = name;
      }
    }
  }

  void place(const std::string& ns, const NamespaceFacts& facts) {
    if (is_system_namespace(Policy(), ns)) {
      const bool is_ours = known_.by_namespace.contains(ns);
      if (has_gpus(facts) && !is_ours)
        note("without a new account: the platform pays for these system namespaces", ns);
      return;
    }
    if (!counts(ns, facts)) return;
    const auto named = known_.by_namespace.find(ns);
    // The service reports labels too, also those that name a missing account.
    if (named != known_.by_namespace.end() && known_.paths.contains(named->second)) {
      ++out_.kept;
      return note("without a new account: an account names the namespace already",
                  ns + " (" + named->second + ")");
    }
    if (!facts.account.empty()) return keep_labelled(ns, facts);
    if (ns == "none" && o_.cluster.empty()) {
      ++out_.unnamed;
      return note(
          "left out: in this file, \"none\" means no namespaces; use --cluster, which writes "
          "CLUSTER/none",
          ns);
    }
    add(ns, facts);
  }

  // The label counts only if the account exists.
  void keep_labelled(const std::string& ns, const NamespaceFacts& facts) {
    ++out_.kept;
    const std::string label = ns + " (" + std::string(names::kAccount) + ": " + facts.account + ")";
    if (!is_account_path(facts.account)) {
      return note("left out: the namespace's label is not the path of an account", label);
    }
    note("without a new account: the namespace's label names its account", label);
    for (std::size_t end = 0; end != std::string::npos;) {
      end = facts.account.find('.', end + 1);
      const std::string path = facts.account.substr(0, end);
      if (!known_.paths.contains(path))
        rows_.emplace(path, "}  # a namespace's label names this account");
    }
  }

  void add(const std::string& ns, const NamespaceFacts& facts) {
    std::string parent;
    if (!facts.group.empty()) {
      parent = groups_.at(facts.group);
      const std::string told = o_.group_key + "=" + facts.group;
      if (parent != facts.group) note("renamed", told + " -> " + parent);
      if (!known_.paths.contains(parent)) rows_[parent] = ", shares: 1}  # " + comment_text(told);
      parent += '.';
    }
    std::string path = parent + ns;
    for (int n = 2; is_taken(path); ++n) path = parent + ns + "-" + std::to_string(n);
    if (path != parent + ns) note("renamed", ns + " -> " + path);
    std::string row = ", shares: 1";
    if (const auto limit = gpu_limit(facts); limit && o_.limits) {
      row += ", limit: gpu=" + std::to_string(*limit);
    }
    const std::string name =
        o_.cluster.empty() ? quoted_name(ns) : '"' + o_.cluster + "/" + ns + '"';
    rows_[path] = row + ", namespaces: [" + name + "]}" + said(facts);
    ++out_.namespaces;
  }

  static std::string said(const NamespaceFacts& facts) {
    std::string out;
    if (facts.gpu_pods > 0) {
      out =
          std::to_string(facts.gpu_pods) + (facts.gpu_pods == 1 ? " pod" : " pods") + " with GPUs";
    }
    for (const auto& quota : facts.quotas) {
      out += (out.empty() ? "" : "; ") + std::string("ResourceQuota ") + comment_text(quota.name) +
             ": " + comment_text(quota.key) + "=" + comment_text(quota.hard);
    }
    return out.empty() ? "" : "  # " + out;
  }

  void note(const std::string& title, const std::string& what) {
    notes_[title].insert(comment_text(what));
  }

  Suggestion finish() {
    std::string& text = out_.text;
    text = "# Accounts for " + std::to_string(out_.namespaces) + " of " +
           std::to_string(all_.size()) + " namespaces" +
           (o_.all ? "" : ": those with pods or ResourceQuotas of GPUs") +
           ".\n# Change names, shares and quotas, then: subak account apply -f FILE --reason TEXT "
           "--dry-run\n";
    for (const auto& [title, whats] : notes_) {
      text += "# " + title + ":\n";
      for (const std::string& what : whats) text += "#   " + what + "\n";
    }
    text += rows_.empty() ? "accounts: []\n" : "accounts:\n";
    for (const auto& [path, row] : rows_) text += "- {path: " + quoted_name(path) + row + "\n";
    return std::move(out_);
  }

  const Namespaces& all_;
  const KnownAccounts& known_;
  const SuggestOptions& o_;
  std::map<std::string, std::string> groups_;  // value of the label -> account
  std::set<std::string> group_names_;          // these accounts
  std::set<std::string> labelled_;             // accounts that labels name, and those above
  std::map<std::string, std::string> rows_;    // path -> the rest of its line
  std::map<std::string, std::set<std::string>> notes_;  // by title
  Suggestion out_;
};

class FleetReader {
 public:
  FleetReader(KubeCaller& api, const SuggestOptions& options) : api_(api), o_(options) {}

  Result<Namespaces> read() {
    auto error = api_.list("/api/v1/namespaces", "", [&](json::Value v) { take_namespace(v); });
    if (!error) {
      error = api_.list("/api/v1/resourcequotas", "", [&](json::Value v) { take_quota(v); });
    }
    if (!error) error = api_.list("/api/v1/pods", "", [&](json::Value v) { take_pod(v); });
    if (error) return *error;
    for (auto& [ns, facts] : all_) {
      std::sort(facts.quotas.begin(), facts.quotas.end(), [](const auto& a, const auto& b) {
        return a.name != b.name ? a.name < b.name : a.key < b.key;
      });
    }
    return std::move(all_);
  }

 private:
  void take_namespace(json::Value object) {
    const std::string_view name = json::text_in(object, "metadata", "name");
    if (!is_namespace_name(name)) return;
    NamespaceFacts& facts = all_[std::string(name)];
    const auto metadata = json::member(object, "metadata");
    const auto labels = json::member(*metadata, "labels");
    if (!labels) return;
    facts.account = json::text(*labels, names::kAccount);
    if (!o_.group_key.empty()) facts.group = json::text(*labels, o_.group_key);
  }

  // nullptr for a namespace created after the namespaces were read.
  NamespaceFacts* of(std::string_view ns) {
    const auto found = all_.find(std::string(ns));
    return found == all_.end() ? nullptr : &found->second;
  }

  void take_quota(json::Value object) {
    NamespaceFacts* const facts = of(json::text_in(object, "metadata", "namespace"));
    const auto spec = json::member(object, "spec");
    const auto hard = spec ? json::member(*spec, "hard") : std::nullopt;
    if (facts == nullptr || !hard) return;
    const bool some_pods = json::member(*spec, "scopes") || json::member(*spec, "scopeSelector");
    json::each_member(*hard, [&](std::string_view key, json::Value amount) {
      if (!key.starts_with(kRequests)) return;
      const GpuKind kind = gpu_kind_of(key.substr(kRequests.size()), o_.gpu_kinds);
      if (kind == GpuKind::kNone) return;
      facts->quotas.push_back({std::string(json::text_in(object, "metadata", "name")),
                               std::string(key), std::string(json::text(amount)),
                               kind == GpuKind::kWhole && !some_pods});
    });
  }

  void take_pod(json::Value object) {
    const std::string_view phase = json::text_in(object, "status", "phase");
    if (phase == "Succeeded" || phase == "Failed") return;
    const Pod pod = read_pod(object, o_.gpu_kinds);
    NamespaceFacts* const facts = pod.asks_gpu() ? of(pod.ns) : nullptr;
    if (facts != nullptr) ++facts->gpu_pods;
  }

  KubeCaller& api_;
  const SuggestOptions& o_;
  Namespaces all_;
};

}  // namespace

Result<Namespaces> read_namespaces(KubeCaller& api, const SuggestOptions& options) {
  return FleetReader(api, options).read();
}

Suggestion suggest(const Namespaces& namespaces, const KnownAccounts& known,
                   const SuggestOptions& options) {
  return Writer(namespaces, known, options).write();
}

}  // namespace subak::cli
