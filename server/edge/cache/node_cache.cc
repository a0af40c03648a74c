#include "server/edge/cache/node_cache.h"

#include <algorithm>
#include <vector>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/text.h"

namespace subak {
namespace {

// Returns since when the node is silent: its condition Ready is Unknown. 0: it reports.
TimeMs silent_since(json::Value node) {
  TimeMs since = 0;
  const auto status = json::member(node, "status");
  const auto conditions = status ? json::member(*status, "conditions") : std::nullopt;
  if (!conditions) return 0;
  json::each_item(*conditions, [&](std::size_t, json::Value condition) {
    if (json::text(condition, "type") != "Ready") return;
    if (json::text(condition, "status") != "Unknown") return;
    const auto at = parse_time(json::text(condition, "lastTransitionTime"), "");
    if (at) since = *at;
  });
  return since;
}

}  // namespace

void NodeCache::clear() {
  entries_.clear();
  silent_.clear();
  outdated_.clear();
  operands_.clear();
  changed_.clear();
}

std::string NodeCache::see(const WatchEvent& event, TimeMs now_ms) {
  if (event.kind == WatchKind::kDeleted) {
    const std::string name(json::text_in(event.object, "metadata", "name"));
    Result<NodeSpec> last = read_kube_node(event.object, options_, devices_.find(name));
    if (last && entries_.contains(name) && may_have_pods_(name)) {
      NodeSpec closed = std::move(last).value();
      closed.unschedulable = true;
      outbox_.first({in::NodeSeen{outbox_.cluster(), std::move(closed)}, ""});
    }
    drop(name, now_ms, version_number(event.resource_version));
    return "";
  }
  const std::string name(json::text_in(event.object, "metadata", "name"));
  Result<NodeSpec> node = read_kube_node(event.object, options_, devices_.find(name));
  if (!node) return node.error().message();
  Entry& entry = entries_[node->name];
  entry.list = round_.number();
  entry.upgrades_driver = subak::upgrades_driver(*node);
  const TimeMs silent_ms = silent_since(event.object);
  silent_.erase(node->name);
  if (silent_ms == 0 || silent_ms != entry.silent_ms) entry.lease_ms = 0;
  entry.silent_ms = silent_ms;
  if (silent_ms == 0 || entry.lease_ms != 0) {
    tell(std::move(node).value());
    return "";
  }
  silent_.insert_or_assign(name, std::move(node).value());
  return "";
}

// Drops a node. A silent node is gone since its last sign of life: by its lease or, if that was not
// read in time, by its status.
void NodeCache::drop(const std::string& name, TimeMs at_ms, std::uint64_t version) {
  const auto known = entries_.find(name);
  if (known == entries_.end()) return;
  const auto unread = silent_.find(name);
  TimeMs heard_ms = known->second.silent_ms != 0 ? known->second.lost_ms : 0;
  if (unread != silent_.end()) {
    heard_ms = std::min(known->second.silent_ms, unread->second.not_ready_since_ms);
    silent_.erase(unread);
  }
  entries_.erase(known);
  outbox_.node_gone(name, in::NodeGone{outbox_.cluster(), name, heard_ms != 0 ? heard_ms : at_ms},
                    may_have_pods_(name) ? version : 0);
}

bool NodeCache::is_silent(const std::string& node) const {
  const auto found = entries_.find(node);
  return found != entries_.end() && found->second.silent_ms != 0;
}

bool NodeCache::upgrades_driver(const std::string& node) const {
  const auto found = entries_.find(node);
  return found != entries_.end() && found->second.upgrades_driver;
}

void NodeCache::see_operand(const std::string& uid, const std::string& node,
                            const OperandPod& pod) {
  if (operands_.see(uid, node, pod)) put_changed(node);
}

void NodeCache::forget_operand(const std::string& uid) { put_changed(operands_.forget(uid)); }

TimeMs NodeCache::lost_ms(const std::string& node) const {
  const auto found = entries_.find(node);
  return found == entries_.end() ? 0 : found->second.lost_ms;
}

void NodeCache::tell(NodeSpec node) {
  Entry& entry = entries_.at(node.name);
  // Times are by the node's clock, except the start of its silence.
  const DurationMs behind_ms = clocks_.behind_ms(node.name).value_or(0);
  if (entry.silent_ms != 0) {
    const TimeMs heard_ms = std::max(node.not_ready_since_ms, entry.lease_ms) + behind_ms;
    node.not_ready_since_ms = std::clamp<TimeMs>(heard_ms, 1, entry.silent_ms);
    entry.lost_ms = node.not_ready_since_ms;
  }
  if (node.gpus > 0 || node.gpus_unknown) operands_.add_to(node);
  node.clock_behind_ms = clocks_.off_ms(node.name);
  if (offers_channel_(node.name)) node.extended.push_back({std::string(names::kChannel), 1});
  const std::uint64_t digest = content_hash(to_text(node));
  if (digest == entry.told) return;
  entry.told = digest;
  outbox_.node_seen(std::move(node));
}

void NodeCache::see_lease(const std::string& node, std::string_view renew_time) {
  auto found = silent_.extract(node);
  if (found.empty()) return;
  const auto at = parse_time(renew_time, "");
  entries_.at(node).lease_ms = at ? std::max<TimeMs>(*at, 1) : 1;
  tell(std::move(found.mapped()));
}

void NodeCache::see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms) {
  const std::string node(json::text_in(event.object, "metadata", "name"));
  if (event.kind == WatchKind::kDeleted) return clocks_.forget(node);
  const auto spec = json::member(event.object, "spec");
  if (!spec) return;
  const auto at = parse_time(json::text(*spec, "renewTime"), "");
  if (at && clocks_.renewed(node, *at, now_ms, monotonic_ms)) outdated_.insert(node);
}

bool NodeCache::complete(TimeMs heard_ms, std::string_view version) {
  std::vector<std::string> gone;
  for (const auto& [name, entry] : entries_) {
    if (entry.list != round_.number()) gone.push_back(name);
  }
  if (!round_.believe(gone.size(), entries_.size())) return false;
  for (const std::string& name : gone) drop(name, heard_ms, version_number(version));
  return true;
}

}  // namespace subak
