#include "server/edge/near/near_cache.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "kube/volume/volume.h"
#include "model/bounds/bounds.h"

namespace subak {
namespace {

TextPairs pairs_of(const std::vector<Label>& labels) {
  TextPairs out;
  out.reserve(labels.size());
  for (const Label& l : labels) out.emplace_back(l.key, l.value);
  return out;
}

const std::string* find_label(const std::vector<Label>& labels, std::string_view key) {
  const auto found =
      std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.key == key; });
  return found == labels.end() ? nullptr : &found->value;
}

// Returns terms that match the nodes with one of the values. A requirement has at most
// limits::kMaxTermValues values, so there may be several terms.
std::vector<AffinityTerm> terms_for(const std::string& key,
                                    const std::map<std::string, std::uint32_t>& values) {
  std::vector<AffinityTerm> out;
  for (const auto& [value, pods] : values) {
    if (out.empty() || out.back().requirements[0].values.size() == limits::kMaxTermValues)
      out.push_back({{{key, "In", {}}}});
    out.back().requirements[0].values.push_back(value);
  }
  return out;
}

}  // namespace

NearCache::NearCache(const std::vector<std::string>& topology_labels)
    : topology_labels_(topology_labels) {}

bool NearCache::knows(std::string_view key) const {
  return key == kHostname || key.starts_with("topology.") ||
         std::find(topology_labels_.begin(), topology_labels_.end(), key) != topology_labels_.end();
}

std::string NearCache::gang_of(const Pod& pod) {
  return pod.gang.id.empty() ? std::string(pod.uid) : pod.gang.id + " " + pod.gang.owner;
}

void NearCache::see_node(const WatchEvent& event) {
  const std::string name(json::text_in(event.object, "metadata", "name"));
  std::vector<Label> labels;
  const auto metadata = json::member(event.object, "metadata");
  const auto all = metadata ? json::member(*metadata, "labels") : std::nullopt;
  if (all && event.kind != WatchKind::kDeleted) {
    json::each_member(*all, [&](Text key, json::Value value) {
      if (knows(key)) labels.push_back({std::string(key), std::string(json::text(value))});
    });
  }
  const auto known = nodes_.find(name);
  if (known == nodes_.end() ? labels.empty() : known->second == labels) return;
  if (labels.empty()) {
    nodes_.erase(known);
  } else {
    nodes_.insert_or_assign(name, std::move(labels));
  }
  recount_all();
}

bool NearCache::selects_all(const User& user, const Placed& pod) {
  const TextPairs labels = pairs_of(pod.labels);
  return std::all_of(user.terms.begin(), user.terms.end(),
                     [&](const NearPods::Term& term) { return selects(term.selector, labels); });
}

bool NearCache::counts(const User& user, const Placed& pod) const {
  return (user.with_gang || user.gang != pod.gang) && selects_all(user, pod);
}

bool NearCache::count(User& user, const Placed& pod, int change) const {
  if (!counts(user, pod)) return false;
  const auto node = nodes_.find(pod.node);
  bool changed = false;
  for (std::size_t i = 0; node != nodes_.end() && i < user.terms.size(); ++i) {
    const std::string* const value = find_label(node->second, user.terms[i].key);
    if (value == nullptr) continue;
    std::uint32_t& pods = user.domains[i][*value];
    changed = changed || (change > 0 ? pods == 0 : pods == 1);
    pods += static_cast<std::uint32_t>(change);
    if (pods == 0) user.domains[i].erase(*value);
  }
  return changed;
}

void NearCache::count_all(User& user) const {
  user.domains.assign(user.terms.size(), {});
  const auto found = placed_.find(user.ns);
  if (found == placed_.end()) return;
  for (const auto& [uid, pod] : found->second) count(user, pod, 1);
}

void NearCache::count_for_all(const Placed& pod, int change) {
  const auto users = users_.find(pod.ns);
  if (users == users_.end()) return;
  for (auto& [uid, user] : users->second) {
    if (count(user, pod, change)) outdated_.insert(uid);
  }
}

void NearCache::recount_all() {
  for (auto& [ns, users] : users_) {
    for (auto& [uid, user] : users) {
      const auto before = user.domains;
      count_all(user);
      if (user.domains != before) outdated_.insert(uid);
    }
  }
}

void NearCache::see_placed(const Pod& pod) {
  const std::string uid(pod.uid);
  Placed now{std::string(pod.ns), std::string(pod.node_name), {}, gang_of(pod)};
  for (const auto& [key, value] : pod.labels) {
    if (now.labels.size() < limits::kMaxPodListItems)
      now.labels.push_back({std::string(key), std::string(value)});
  }
  const bool there =
      !now.node.empty() && pod.status.phase != "Succeeded" && pod.status.phase != "Failed";
  std::map<std::string, Placed>& here = placed_[now.ns];
  const auto known = here.find(uid);
  if (known == here.end() ? there : !there || known->second != now) {
    if (known != here.end()) {
      count_for_all(known->second, -1);
      here.erase(known);
    }
    if (there) {
      count_for_all(now, 1);
      ns_of_[uid] = now.ns;
      here.emplace(uid, std::move(now));
    }
  }
}

std::string NearCache::see_pod(Pod& pod, json::Value object) {
  see_placed(pod);
  const bool waits = pod.gated() && pod.asks_gpu();
  return add_domains(pod, waits ? read_near_pods(object, pod) : NearPods());
}

std::string NearCache::add_domains(Pod& pod, NearPods near) {
  const std::string uid(pod.uid), ns(pod.ns);
  std::map<std::string, User>& here = users_[ns];
  const bool reads = !near.terms.empty() &&
                     std::all_of(near.terms.begin(), near.terms.end(),
                                 [this](const NearPods::Term& term) { return knows(term.key); });
  if (!reads) {
    here.erase(uid);
    return {};
  }
  const auto [at, is_new] = here.try_emplace(uid);
  User& user = at->second;
  ns_of_[uid] = ns;
  user.ns = ns;
  user.gang = gang_of(pod);
  user.terms = std::move(near.terms);
  if (is_new) {
    const auto& others = placed_[ns];
    user.with_gang = complete_ && std::any_of(others.begin(), others.end(), [&](const auto& one) {
                       return one.second.gang == user.gang && selects_all(user, one.second);
                     });
  }
  count_all(user);
  if (!complete_) {
    if (near.own) return {};
    pod.shape.request_no_gpus();
    return "the list of pods is not complete yet";
  }
  const bool none = std::any_of(user.domains.begin(), user.domains.end(),
                                [](const auto& values) { return values.empty(); });
  if (none && near.own) return {};
  if (none) {
    pod.shape.request_no_gpus();
    return "no pod that its pod affinity selects has a node";
  }
  std::vector<AffinityTerm> nodes = pod.shape.affinity;
  std::size_t length = 0;
  for (std::size_t i = 0; i < user.terms.size() && length <= limits::kMaxSelectorTerms; ++i) {
    nodes = both_of(nodes, terms_for(user.terms[i].key, user.domains[i]));
    length = bounds::selector_terms(pod.shape, nodes);
  }
  if (length > limits::kMaxSelectorTerms) return {};
  pod.shape.affinity = std::move(nodes);
  pod.shape.near.clear();
  return {};
}

void NearCache::forget(const std::string& uid) {
  const auto ns = ns_of_.find(uid);
  if (ns == ns_of_.end()) return;
  users_[ns->second].erase(uid);
  std::map<std::string, Placed>& here = placed_[ns->second];
  if (const auto known = here.find(uid); known != here.end()) {
    count_for_all(known->second, -1);
    here.erase(known);
  }
  outdated_.erase(uid);
  ns_of_.erase(ns);
}

void NearCache::forget_pods() {
  placed_.clear();
  users_.clear();
  ns_of_.clear();
  outdated_.clear();
  complete_ = false;
}

void NearCache::complete_pods() {
  if (std::exchange(complete_, true)) return;
  for (auto& [ns, users] : users_) {
    for (const auto& [uid, user] : users) outdated_.insert(uid);
    users.clear();  // with_gang is decided when they are read again
  }
}

std::set<std::string> NearCache::take_outdated() { return std::exchange(outdated_, {}); }

}  // namespace subak
