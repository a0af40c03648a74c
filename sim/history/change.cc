#include "sim/history/change.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "engine/decide/account_edit.h"
#include "sim/history/history_limits.h"
#include "sim/read/rng.h"

namespace subak::sim {
namespace {

constexpr char kReason[] = "what if";

// A node by cluster and name.
using NodeKey = std::pair<std::string, std::string>;
using Nodes = std::map<NodeKey, NodeSpec>;

std::string field(const char* list, std::size_t index, const char* name) {
  return std::string(list) + "[" + std::to_string(index) + "]." + name;
}

Error not_found(std::string where, const std::string& got, const char* what) {
  return {ErrorCode::kNotFound, std::move(where), got,
          std::string("want ") + what + " that exists in the window"};
}

// What a state has of accounts and nodes.
struct Content {
  std::map<std::string, AccountSpec> accounts;
  Nodes nodes;
};

Content content_of(const StartState& state) {
  Content out;
  std::map<ClusterId, std::string> clusters;
  for (const Fact& fact : state.facts) {
    if (const auto* f = std::get_if<fact::ClusterSet>(&fact.body)) clusters[f->id] = f->name;
    if (const auto* f = std::get_if<fact::AccountSet>(&fact.body)) {
      out.accounts[f->spec.path] = f->spec;
    }
    if (const auto* f = std::get_if<fact::NodeSet>(&fact.body)) {
      out.nodes[{clusters[f->cluster], f->spec.name}] = f->spec;
    }
  }
  return out;
}

// What the change means for nodes: the nodes that come, each with the node that it is like, and the
// nodes that go.
struct NodePlan {
  std::vector<std::pair<NodeKey, std::string>> added;
  std::set<NodeKey> removed;
};

// A new node `name`, which is like `spec`. New nodes of a multi-node NVLink domain are a domain of
// their own.
NodeSpec new_node(NodeSpec spec, const std::string& name) {
  spec.name = name;
  if (!spec.clique.empty()) spec.clique += "-whatif";
  spec.clique_lost_ms = 0;
  spec.former_clique.clear();
  return spec;
}

// Finds the node of a line of the change.
Result<NodeKey> find_node(const Nodes& nodes, const NodeChange& change, std::size_t index) {
  const bool is_removed = !change.remove.empty();
  const std::string& name = is_removed ? change.remove : change.like;
  const std::string where = field("nodes", index, is_removed ? "remove" : "like");
  std::vector<NodeKey> found;
  for (const auto& [key, spec] : nodes) {
    if (key.second != name) continue;
    if (change.cluster.empty() || change.cluster == key.first) found.push_back(key);
  }
  if (found.empty()) return not_found(where, name, "a node");
  if (found.size() == 1) return found.front();
  return Error{ErrorCode::kInvalid, field("nodes", index, "cluster"), "",
               "want the cluster: " + found[0].first + " and " + found[1].first +
                   " have a node with this name"};
}

// Removes `count` nodes that are similar to this node, the last by name first.
std::optional<Error> remove_similar(const Nodes& nodes, const NodeKey& like, std::int64_t count,
                                    std::size_t index, std::set<NodeKey>& removed) {
  const NodeSpec& spec = nodes.at(like);
  std::int64_t left = count;
  for (auto it = nodes.rbegin(); it != nodes.rend() && left > 0; ++it) {
    const bool is_similar = it->first.first == like.first && it->second.product == spec.product &&
                            it->second.gpus == spec.gpus;
    if (is_similar && removed.insert(it->first).second) --left;
  }
  if (left == 0) return std::nullopt;
  return Error{ErrorCode::kInvalid, field("nodes", index, "count"), std::to_string(-count),
               "want at least " + std::to_string(left - count) + ": the window has only " +
                   std::to_string(count - left) + " nodes like " + like.second};
}

Result<NodePlan> plan_nodes(const Nodes& nodes, const std::vector<NodeChange>& changes) {
  NodePlan plan;
  std::map<NodeKey, std::int64_t> made;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Result<NodeKey> key = find_node(nodes, changes[i], i);
    if (!key.ok()) return key.error();
    if (!changes[i].remove.empty()) {
      plan.removed.insert(*key);
    } else if (changes[i].count < 0) {
      if (auto error = remove_similar(nodes, *key, -changes[i].count, i, plan.removed)) {
        return *error;
      }
    }
    for (std::int64_t n = 0; n < changes[i].count; ++n) {
      const std::string name = key->second + "-whatif-" + std::to_string(++made[*key]);
      plan.added.emplace_back(*key, name);
    }
  }
  return plan;
}

in::ApplyAccounts apply_accounts(std::vector<in::AccountChange> changes) {
  in::ApplyAccounts out;
  out.changes = std::move(changes);
  out.reason = kReason;
  out.override_managed = true;
  return out;
}

void add_policy(const StartState& state, const Policy& policy, const Change& change,
                const std::vector<MeterValues>& meters, TimeMs t, std::vector<Edit>& out) {
  if (!change.policy) return;
  const Policy wanted = change.policy(policy);
  in::SetPolicy set{wanted, {}};
  set.edit.reason = kReason;
  out.push_back({t, std::move(set)});
  // The engine begins a change of the half-life with the next fact, and this input completes it.
  if (wanted.half_life_ms != policy.half_life_ms && !meters.empty()) {
    out.push_back({t, in::HalfLifeRead{state.seq + 1, meters}});
  }
}

// Returns the history's edit with the new values; nullopt if the change drops it.
class Overlay {
 public:
  Overlay(const Change& change, const NodePlan& nodes) : change_(change), nodes_(nodes) {
    for (const in::AccountChange& account : change.accounts) {
      accounts_[account.spec.path] = &account;
    }
  }
  // True if the edit stays.
  bool apply(in::Body& body) const {
    if (auto* set = std::get_if<in::SetPolicy>(&body)) {
      if (change_.policy) set->policy = change_.policy(set->policy);
    } else if (auto* apply = std::get_if<in::ApplyAccounts>(&body)) {
      for (in::AccountChange& account : apply->changes) apply_account(account);
    } else if (const auto* seen = std::get_if<in::NodeSeen>(&body)) {
      return !nodes_.removed.contains({seen->cluster, seen->node.name});
    } else if (const auto* gone = std::get_if<in::NodeGone>(&body)) {
      return !nodes_.removed.contains({gone->cluster, gone->node});
    } else if (const auto* drain = std::get_if<in::DrainNode>(&body)) {
      return !nodes_.removed.contains({drain->cluster, drain->node});
    } else if (const auto* pod = std::get_if<in::PodSeen>(&body)) {
      return !nodes_.removed.contains({pod->cluster, pod->pod.node});
    }
    return true;
  }

 private:
  void apply_account(in::AccountChange& account) const {
    const auto found = accounts_.find(account.spec.path);
    if (account.remove || found == accounts_.end()) return;
    const in::AccountChange& change = *found->second;
    const bool user = account.spec.user;
    account.spec = decide::edited_spec(account.spec, change.spec, change.unchanged);
    account.spec.user = user;
  }
  const Change& change_;
  const NodePlan& nodes_;
  std::map<std::string, const in::AccountChange*> accounts_;
};

bool is_below(const std::string& path, const std::string& account) {
  return account.empty() || path == account || path.starts_with(account + ".");
}

// The nodes of the window: those at its beginning, and those that come, as they came first.
Nodes nodes_of(const History& history, Content content) {
  Nodes out = std::move(content.nodes);
  for (const Edit& edit : history.workload.edits) {
    const auto* const seen = std::get_if<in::NodeSeen>(&edit.body);
    if (seen != nullptr) out.emplace(NodeKey{seen->cluster, seen->node.name}, seen->node);
  }
  return out;
}

std::optional<Error> check_accounts(const History& history, const Content& content,
                                    const Change& change) {
  std::set<std::string> known;
  for (const auto& [path, spec] : content.accounts) known.insert(path);
  for (const Edit& edit : history.workload.edits) {
    const auto* const apply = std::get_if<in::ApplyAccounts>(&edit.body);
    if (apply == nullptr) continue;
    for (const in::AccountChange& account : apply->changes) known.insert(account.spec.path);
  }
  for (std::size_t i = 0; i < change.accounts.size(); ++i) {
    const std::string& path = change.accounts[i].spec.path;
    if (!path.empty() && !known.contains(path)) {
      return not_found(field("accounts", i, "path"), path, "an account");
    }
  }
  for (std::size_t i = 0; i < change.load.size(); ++i) {
    const std::string& path = change.load[i].account;
    if (!path.empty() && !known.contains(path)) {
      return not_found(field("load", i, "like"), path, "an account");
    }
  }
  return std::nullopt;
}

// The jobs that come again, by time.
std::vector<SimJob> jobs_again(const Change& change, const Workload& workload) {
  Rng random(change.seed);
  std::vector<SimJob> out;
  for (const SimJob& job : workload.jobs) {
    if (job.past.known) continue;
    for (const LoadChange& load : change.load) {
      if (!is_below(workload.teams[job.team].account, load.account)) continue;
      const auto rest = static_cast<std::uint64_t>(load.times_milli % 1000);
      const std::int64_t times = load.times_milli / 1000 + (random.below(1000) < rest ? 1 : 0);
      for (std::int64_t i = 0; i < times; ++i) {
        SimJob& again = out.emplace_back(job);
        again.name += "-whatif";
        again.past.extra = true;
        again.past.after_pass = again.past.held = false;
        again.submit_ms += random.between(0, limits::kLoadSpreadMs - 1);
      }
    }
  }
  std::erase_if(out, [&](const SimJob& job) { return job.submit_ms >= workload.to_ms; });
  std::stable_sort(out.begin(), out.end(),
                   [](const SimJob& a, const SimJob& b) { return a.submit_ms < b.submit_ms; });
  return out;
}

// Adds the jobs that come again, before the jobs of later times.
void add_load(const Change& change, Workload& workload) {
  if (change.load.empty()) return;
  std::vector<SimJob> again = jobs_again(change, workload);
  std::vector<SimJob> jobs;
  std::vector<std::uint32_t> moved;  // the new index of each job
  std::size_t next = 0;
  for (SimJob& job : workload.jobs) {
    while (!job.past.known && next < again.size() && again[next].submit_ms < job.submit_ms) {
      jobs.push_back(std::move(again[next++]));
    }
    moved.push_back(static_cast<std::uint32_t>(jobs.size()));
    jobs.push_back(std::move(job));
  }
  for (; next < again.size(); ++next) jobs.push_back(std::move(again[next]));
  workload.jobs = std::move(jobs);
  for (Edit& edit : workload.edits) {
    if (edit.job != kNoJob) edit.job = moved[edit.job];
  }
}

std::optional<Error> try_edits(const StartState& state, const std::vector<Edit>& edits) {
  if (edits.empty()) return std::nullopt;
  const auto engine = engine_of(state);
  for (const Edit& edit : edits) {
    const Reply reply = engine->apply({edit.at_ms, "", "", edit.body}).reply;
    if (reply.error) return reply.error;
  }
  return std::nullopt;
}

// Returns the edits of the history with the new values. A new node comes with the first report of
// the node that it is like, unless that node is there at the beginning.
std::vector<Edit> overlaid(std::vector<Edit> edits, const Content& content, const Change& change,
                           const NodePlan& plan) {
  const Overlay overlay(change, plan);
  const std::multimap<NodeKey, std::string> added(plan.added.begin(), plan.added.end());
  std::set<NodeKey> known;
  for (const auto& [key, spec] : content.nodes) known.insert(key);
  std::vector<Edit> out;
  for (Edit& edit : edits) {
    const auto* const seen = std::get_if<in::NodeSeen>(&edit.body);
    std::vector<Edit> new_nodes;
    if (seen != nullptr && known.insert({seen->cluster, seen->node.name}).second) {
      const auto [from, to] = added.equal_range({seen->cluster, seen->node.name});
      for (auto it = from; it != to; ++it) {
        new_nodes.push_back(
            {edit.at_ms, in::NodeSeen{seen->cluster, new_node(seen->node, it->second)}});
      }
    }
    if (overlay.apply(edit.body)) out.push_back(std::move(edit));
    std::move(new_nodes.begin(), new_nodes.end(), std::back_inserter(out));
  }
  return out;
}

// Adds the nodes that come or go in a state with these nodes.
void add_nodes(const Nodes& nodes, const NodePlan& plan, TimeMs t, std::vector<Edit>& out) {
  for (const auto& [like, name] : plan.added) {
    const auto at = nodes.find(like);
    if (at == nodes.end()) continue;
    out.push_back({t, in::NodeSeen{like.first, new_node(at->second, name)}});
  }
  for (const NodeKey& key : plan.removed) {
    if (nodes.contains(key)) out.push_back({t, in::NodeGone{key.first, key.second, 0}});
  }
}

// The edits of the policy and of the accounts that the state has.
std::vector<Edit> settings_edits(const StartState& state, const Policy& policy,
                                 const Content& content, const Change& change,
                                 const std::vector<MeterValues>& meters, TimeMs t) {
  std::vector<Edit> out;
  add_policy(state, policy, change, meters, t, out);
  std::vector<in::AccountChange> accounts;
  for (const in::AccountChange& account : change.accounts) {
    const bool is_root = account.spec.path.empty();
    if (is_root || content.accounts.contains(account.spec.path)) accounts.push_back(account);
  }
  if (!accounts.empty()) out.push_back({t, apply_accounts(std::move(accounts))});
  return out;
}

}  // namespace

Result<std::vector<Edit>> edits_of(const StartState& state, const Policy& policy,
                                   const Change& change, const std::vector<MeterValues>& meters,
                                   TimeMs t) {
  const Content content = content_of(state);
  std::vector<NodeChange> nodes;
  for (const NodeChange& node : change.nodes) {
    if (find_node(content.nodes, node, 0).ok()) nodes.push_back(node);
  }
  const Result<NodePlan> plan = plan_nodes(content.nodes, nodes);
  if (!plan.ok()) return plan.error();
  std::vector<Edit> out = settings_edits(state, policy, content, change, meters, t);
  add_nodes(content.nodes, *plan, t, out);
  if (auto error = try_edits(state, out)) return *error;
  return out;
}

Result<Workload> changed(const History& history, const Change& change) {
  const Content content = content_of(history.start);
  if (auto error = check_accounts(history, content, change)) return *error;
  const Result<NodePlan> plan = plan_nodes(nodes_of(history, content), change.nodes);
  if (!plan.ok()) return plan.error();
  Workload out = history.workload;
  std::vector<Edit> edits = settings_edits(history.start, history.start_policy, content, change,
                                           change.start_meters, out.from_ms);
  add_nodes(content.nodes, *plan, out.from_ms, edits);
  if (auto error = try_edits(history.start, edits)) return *error;
  std::vector<Edit> later = overlaid(std::move(out.edits), content, change, *plan);
  std::move(later.begin(), later.end(), std::back_inserter(edits));
  out.edits = std::move(edits);
  add_load(change, out);
  out.capacity = mean_capacity(history.start, out);
  return out;
}

}  // namespace subak::sim
