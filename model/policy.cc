#include "model/policy.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace subak {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

constexpr std::int32_t kLow = -1000, kHigh = 1000;

std::string names_for(const Policy& policy, std::string_view account) {
  std::string names;
  for (const PriorityClass& one : policy.priority_classes) {
    if (may_use(one, account)) names += (names.empty() ? "" : ", ") + one.name;
  }
  return names;
}

}  // namespace

TargetShareRule target_share_rule(const Policy& policy) {
  TargetShareRule rule;
  const FairShareSettings& set = policy.fair_share;
  if (set.gain_milli != 0) rule.gain = static_cast<double>(set.gain_milli) / 1000;
  if (set.floor_milli != 0) rule.lo = static_cast<double>(set.floor_milli) / 1000;
  return rule;
}

void want_half_life(Policy& policy, DurationMs half_life_ms) {
  HalfLifeChange& change = policy.fair_share.change;
  if (change.seq != 0 && change.half_life_ms == half_life_ms) return;
  policy.half_life_ms = half_life_ms;
  change = {};
}

bool is_system_namespace(const Policy& policy, std::string_view ns) {
  const auto is_it = [ns](std::string_view pattern) { return matches(pattern, ns); };
  return std::any_of(kSystemNamespaces.begin(), kSystemNamespaces.end(), is_it) ||
         std::any_of(policy.system_namespaces.begin(), policy.system_namespaces.end(), is_it);
}

std::optional<std::int32_t> parse_priority(std::string_view text) {
  if (text == "low") return kLow;
  if (text == "normal") return 0;
  if (text == "high") return kHigh;
  std::int32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_zone_name(std::string_view name) {
  constexpr std::size_t kMostBytes = 64;
  if (name.size() > kMostBytes) return false;
  bool after_slash = true;  // a part between slashes begins here
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '_';
    if (c == '/' ? after_slash : !is_letter && (after_slash || !is_other)) return false;
    after_slash = c == '/';
  }
  return name.empty() || !after_slash;
}

bool is_class_name(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= 63 && letter(name.front()) && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

bool may_use(const PriorityClass& priority_class, std::string_view account) {
  const auto& accounts = priority_class.accounts;
  return accounts.empty() || std::any_of(accounts.begin(), accounts.end(), [&](const auto& path) {
           return account == path || (account.starts_with(path) && account.size() > path.size() &&
                                      (account[path.size()] == '.' || account[path.size()] == '/'));
         });
}

const PriorityClass* class_with(const Policy& policy, std::int32_t priority,
                                std::string_view account) {
  const auto& all = policy.priority_classes;
  const auto it = std::find_if(all.begin(), all.end(), [&](const PriorityClass& one) {
    return one.priority == priority && may_use(one, account);
  });
  return it == all.end() ? nullptr : &*it;
}

Result<Priority> read_priority(const Policy& policy, std::string_view account,
                               std::string_view text) {
  const auto refused = [&](std::string want) {
    return Error{ErrorCode::kInvalid, "", cut_text(text), std::move(want)};
  };
  if (policy.priority_classes.empty()) {
    if (const auto number = parse_priority(text)) return Priority{*number, false};
    return refused("want low, normal, high or a whole number");
  }
  for (const PriorityClass& one : policy.priority_classes) {
    if (one.name == text && may_use(one, account)) return Priority{one.priority, true};
  }
  const std::string names = names_for(policy, account);
  const std::string whose = account.empty() ? "a job without an account" : cut_text(account);
  if (names.empty()) return refused("want it unset: no priority class is for " + whose);
  return refused("want a priority class that is for " + whose + ": " + names);
}

namespace {

// True for parts of a-z, 0-9 and "-" with dots between them, in which no part begins or ends with
// "-".
bool is_domain_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char last = '.';
  for (const char c : name) {
    if (!plain(c) && (c == '.' ? !plain(last) : c != '-' || last == '.')) return false;
    last = c;
  }
  return plain(last) && name.size() <= limits::kMaxNameBytes;
}

}  // namespace

std::optional<Error> check_pool(const NodePool& pool) {
  const auto bad = [](const char* field, std::string got, std::string want) {
    return Error{ErrorCode::kInvalid, field, std::move(got), "want " + std::move(want)};
  };
  if (!is_class_name(pool.name)) {
    return bad("name", pool.name, "a name of a-z, 0-9 and -, with a letter first");
  }
  if (pool.label.key.empty()) {
    return bad("label", pool.label.value, "the label of the pool's nodes, such as pool=h100");
  }
  if (pool.most == 0 || pool.most > limits::kMaxPoolNodes) {
    return bad("most", std::to_string(pool.most),
               "1 to " + std::to_string(limits::kMaxPoolNodes) + " nodes");
  }
  if (pool.least > pool.most) {
    return bad("least", std::to_string(pool.least),
               "at most " + std::to_string(pool.most) + ", the most nodes of the pool");
  }
  if (pool.node.gpus < 1 || pool.node.product.empty()) {
    return bad("gpus", std::to_string(pool.node.gpus),
               "at least 1, and their product: the pool is for GPU jobs");
  }
  if (!pool.node.name.empty() || !pool.node.mig.empty() || pool.node.mig_gpus != 0) {
    return bad("new_node", pool.node.name, "a node without a name and without MIG slices");
  }
  const std::vector<Label>& labels = pool.node.labels;
  if (std::find(labels.begin(), labels.end(), pool.label) == labels.end()) {
    return bad("new_node", pool.label.key, "a node with the label of the pool");
  }
  if (!pool.provisioning_class.empty() && !is_domain_name(pool.provisioning_class)) {
    return bad("provisioning_class", pool.provisioning_class,
               "a DNS name of a-z, 0-9, - and ., such as check-capacity.autoscaling.x-k8s.io");
  }
  return std::nullopt;
}

}  // namespace subak
