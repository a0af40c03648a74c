#include "server/kube/cards.h"

#include <algorithm>
#include <charconv>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/text.h"
#include "kube/node.h"

namespace subak {
namespace {

constexpr std::size_t kFewObjects = 8;  // so many may go at once without a second look

// Versions of one object rise (KEP-5504). One that is no number is always news.
std::uint64_t version_of(std::string_view text) {
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

std::string_view metadata_text(json::Value object, std::string_view key) {
  const auto metadata = json::member(object, "metadata");
  return metadata ? json::text(*metadata, key) : std::string_view();
}

// Since when nothing is heard of the node: its condition Ready is Unknown. 0: it speaks.
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

TimeMs end_of(const Pod& pod) {
  if (pod.status.finished_at.empty()) return 0;
  const auto at = parse_time(pod.status.finished_at, "");
  return at ? *at : 0;
}

}  // namespace

std::string OwnerCard::path() const {
  const std::size_t slash = collection.rfind('/');
  return collection.substr(0, slash) + "/namespaces/" + ns + collection.substr(slash) + "/" + name;
}

std::string OwnerCard::api_version() const {
  constexpr std::size_t kBefore = std::string_view("/apis/").size();
  return collection.substr(kBefore, collection.rfind('/') - kBefore);
}

std::string_view OwnerCard::kind() const {
  return collection.ends_with("/jobsets") ? "JobSet" : "Job";
}

Cards::Cards(std::string cluster, ExtraGpuResources extra,
             std::vector<std::string> other_schedulers)
    : cluster_(std::move(cluster)),
      extra_(std::move(extra)),
      other_schedulers_(std::move(other_schedulers)) {}

void Cards::forget_told() {
  queue_.clear();
  untold_.clear();
  put_back_.clear();
  pods_.clear();
  nodes_.clear();
  silent_nodes_.clear();
  of_owner_.clear();
  orphans_.clear();
  orphans_of_.clear();
  unschedulable_.clear();
  gated_.clear();
  unsized_.clear();
}

// --- pods ----------------------------------------------------------------------------------------

// How many start together, where only what makes the pod says so. False: that is not known yet.
bool Cards::find_gang(Pod& pod) const {
  const OwnerCard* const owner = find_owner(std::string(pod.owner.uid));
  if (owner == nullptr) return false;
  const auto size_of = [](const OwnerCard& of, std::string_view role) {
    for (const auto& [name, size] : of.gangs) {
      if (name == role) return size;
    }
    return std::uint32_t{1};
  };
  const Text role = find_text(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  if (role.empty()) {
    join_gang(pod, size_of(*owner, ""), true);
    return true;
  }
  const OwnerCard* const set = find_owner(owner->parent);
  if (set == nullptr) return false;
  join_gang(pod, size_of(*set, role), set->together == Together::kEachJob);
  return true;
}

// Only while a gate of ours is closed does it matter.
bool Cards::waits_for_owner(const Pod& pod, const WatchEvent& event, std::int64_t monotonic_ms) {
  const bool set = has_key(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  const bool read = known_collections_.contains(set ? kJobSetsPath : kJobsPath);
  if (pod.owner.kind != "Job" || !read || !pod.gated() || event.kind == WatchKind::kDeleted ||
      orphans_.size() >= limits::kMaxEarlyPods) {
    return false;
  }
  const std::string uid(pod.uid);
  const auto [at, is_new] = orphans_.try_emplace(uid);
  at->second.text = simdjson::minify(event.object);
  if (!is_new) return true;
  at->second.since_ms = monotonic_ms;
  orphans_of_.emplace(pod.owner.uid, uid);
  const OwnerCard* const owner = find_owner(std::string(pod.owner.uid));
  if (owner != nullptr) orphans_of_.emplace(owner->parent, uid);
  return true;
}

void Cards::see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner) {
  const auto found = orphans_.find(uid);
  if (found == orphans_.end()) return;
  const std::string text = std::move(found->second.text);
  const std::int64_t since_ms = found->second.since_ms;
  orphans_.erase(found);
  simdjson::dom::parser parser;
  WatchEvent event;
  event.kind = WatchKind::kModified;
  if (parser.parse(text).get(event.object) != simdjson::SUCCESS) return;
  see_pod(event, with_owner ? since_ms : monotonic_ms, with_owner);
}

void Cards::adopt_orphans(std::int64_t monotonic_ms) {
  std::vector<std::string> due;
  for (const auto& [uid, orphan] : orphans_) {
    if (monotonic_ms - orphan.since_ms >= limits::kOwnerMs) due.push_back(uid);
  }
  for (const std::string& uid : due) see_orphan(uid, monotonic_ms, false);
  std::erase_if(orphans_of_,
                [this](const auto& entry) { return !orphans_.contains(entry.second); });
}

void Cards::see_pod(const WatchEvent& event, std::int64_t monotonic_ms) {
  see_pod(event, monotonic_ms, true);
}

void Cards::see_pod(const WatchEvent& event, std::int64_t monotonic_ms, bool with_owner) {
  Pod pod = read_pod(event.object, extra_);
  if (pod.uid.empty() || pod.ns.empty() || pod.name.empty()) {
    ++unreadable_;
    last_unreadable_ = "a pod without uid, namespace or name";
    return;
  }
  const std::string uid(pod.uid);
  const std::uint64_t version = version_of(pod.resource_version);
  const auto [at, is_new] = pods_.try_emplace(uid);
  PodCard& card = at->second;
  card.list = pod_list_;
  if (!is_new && version != 0 && version < card.version) return;
  card.version = version;
  const bool unsure = with_owner && pod.asks_gpu() && asks_owner(pod) && !find_gang(pod);
  if (unsure && waits_for_owner(pod, event, monotonic_ms)) return;
  orphans_.erase(uid);
  PodRecord record = pod_record(pod, !other_manager_of(pod, other_schedulers_).empty());
  if (event.kind == WatchKind::kDeleted && record.ended == Cause::kNone) {
    return drop_pod(uid, {cluster_, {uid, {}, 0, 0}, end_of(pod), Cause::kCancelled});
  }
  card.ns = pod.ns;
  card.name = pod.name;
  card.node = pod.node_name;
  if (pod.asks_gpu() || pod.gated() || card.gpu)
    see_gpu_pod(uid, card, pod, record, event.object, monotonic_ms);
  if (pod.asks_gpu() && record.gated && record.ended == Cause::kNone && lacks_gang_size(pod)) {
    unsized_.insert(uid);
    return;
  }
  const bool counts =
      pod.asks_gpu() || card.told != 0 || (!card.node.empty() && record.ended == Cause::kNone);
  if (counts) tell_pod(uid, std::move(record));
  if (event.kind != WatchKind::kDeleted) return;
  count_owner(card, -1);
  unschedulable_.erase(uid);
  gated_.erase(uid);
  pods_.erase(uid);
}

void Cards::see_gpu_pod(const std::string& uid, PodCard& card, const Pod& pod,
                        const PodRecord& record, json::Value object, std::int64_t monotonic_ms) {
  count_owner(card, -1);
  if (!card.gpu) card.gpu = std::make_unique<GpuCard>();
  GpuCard& gpu = *card.gpu;
  gpu.asks_gpu = pod.asks_gpu();
  gpu.claims = !pod.device_claim.empty();
  gpu.gated = record.gated;
  gpu.foreign_gates = record.foreign_gates;
  gpu.ended = record.ended != Cause::kNone;
  gpu.going = !pod.deleted_at.empty();
  gpu.gang = record.gang_size > 1;
  gpu.owner_api = pod.owner.api_version;
  gpu.owner_kind = pod.owner.kind;
  gpu.owner_name = pod.owner.name;
  gpu.owner_uid = pod.owner.uid;
  gpu.release = {};
  if (record.gated) {
    if (auto read = read_gated_pod(object)) gpu.release = std::move(read).value();
  }
  count_owner(card, 1);
  if (gpu.gated && !gpu.ended && !gpu.going) {
    gated_.insert(uid);
  } else {
    gated_.erase(uid);
  }
  const bool stuck = !record.gated && card.node.empty() && !gpu.ended && !gpu.going;
  const Text words = stuck ? pod.status.unschedulable : Text();
  if (words.empty()) {
    gpu.unschedulable.clear();
    unschedulable_.erase(uid);
    return;
  }
  if (gpu.unschedulable.empty()) gpu.unschedulable_since_ms = monotonic_ms;
  gpu.unschedulable = words;
  unschedulable_.insert(uid);
}

void Cards::count_owner(const PodCard& card, int by) {
  if (!card.gpu || card.gpu->owner_uid.empty() || card.gpu->ended) return;
  std::size_t& count = of_owner_[card.gpu->owner_uid];
  by > 0 ? ++count : --count;
  if (count == 0) of_owner_.erase(card.gpu->owner_uid);
}

std::size_t Cards::pods_of(const std::string& owner_uid) const {
  const auto count = [this](const std::string& uid) {
    const auto found = of_owner_.find(uid);
    return found == of_owner_.end() ? 0 : found->second;
  };
  std::size_t pods = count(owner_uid);
  for (const auto& [uid, owner] : owners_) {
    if (owner.parent == owner_uid) pods += count(uid);
  }
  return pods;
}

void Cards::drop_pod(const std::string& uid, in::PodGone gone) {
  const auto at = pods_.find(uid);
  const bool told = at->second.told != 0 || untold_.contains("p" + uid);
  if (told || at->second.gpu) tell_gone("p" + uid, std::move(gone));
  count_owner(at->second, -1);
  unschedulable_.erase(uid);
  gated_.erase(uid);
  pods_.erase(at);
}

bool Cards::believe(std::size_t going, std::size_t all, bool& asked) {
  const bool many = going > kFewObjects && 2 * going > all;
  asked = many && !asked;
  return !asked;
}

bool Cards::complete_pods(TimeMs heard_ms) {
  std::vector<std::string> gone;
  for (const auto& [uid, card] : pods_) {
    if (card.list != pod_list_) gone.push_back(uid);
  }
  if (!believe(gone.size(), pods_.size(), pods_asked_)) return false;
  std::sort(gone.begin(), gone.end());
  for (const std::string& uid : gone) {
    drop_pod(uid, {cluster_, {uid, {}, 0, 0}, heard_ms, Cause::kVanished});
  }
  return true;
}

const PodCard* Cards::find_gpu_pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() || !found->second.gpu ? nullptr : &found->second;
}

void Cards::each_unschedulable(
    const std::function<void(const std::string& uid, const PodCard& pod)>& take) const {
  for (const std::string& uid : unschedulable_) take(uid, pods_.at(uid));
}

void Cards::put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms) {
  pods_.at(uid).gpu->unschedulable_since_ms = monotonic_ms;
}

// --- nodes ---------------------------------------------------------------------------------------

void Cards::see_node(const WatchEvent& event) {
  if (event.kind == WatchKind::kDeleted) {
    const std::string name(metadata_text(event.object, "name"));
    silent_nodes_.erase(name);
    if (nodes_.erase(name) > 0) tell_gone("n" + name, in::NodeGone{cluster_, name});
    return;
  }
  Result<NodeSpec> node = read_kube_node(event.object);
  if (!node) {
    ++unreadable_;
    last_unreadable_ = node.error().message();
    return;
  }
  NodeCard& card = nodes_[node->name];
  card.list = node_list_;
  const TimeMs silent_ms = silent_since(event.object);
  silent_nodes_.erase(node->name);
  if (silent_ms == 0 || silent_ms != card.silent_ms) card.lease_ms = 0;
  card.silent_ms = silent_ms;
  if (silent_ms == 0 || card.lease_ms != 0) return tell_node(std::move(node).value());
  std::string name = node->name;
  silent_nodes_.insert_or_assign(std::move(name), std::move(node).value());
}

void Cards::tell_node(NodeSpec node) {
  NodeCard& card = nodes_.at(node.name);
  if (card.silent_ms != 0) {
    node.not_ready_since_ms =
        std::min(card.silent_ms, std::max(node.not_ready_since_ms, card.lease_ms));
  }
  const std::uint64_t digest = content_hash(to_text(node));
  if (digest == card.told) return;
  card.told = digest;
  Untold& news = untold("n" + node.name);
  news.gone.reset();
  news.node = std::move(node);
}

void Cards::see_lease(const std::string& node, std::string_view renew_time) {
  auto found = silent_nodes_.extract(node);
  if (found.empty()) return;
  const auto at = parse_time(renew_time, "");
  nodes_.at(node).lease_ms = at ? std::max<TimeMs>(*at, 1) : 1;
  tell_node(std::move(found.mapped()));
}

bool Cards::complete_nodes() {
  std::vector<std::string> gone;
  for (const auto& [name, card] : nodes_) {
    if (card.list != node_list_) gone.push_back(name);
  }
  if (!believe(gone.size(), nodes_.size(), nodes_asked_)) return false;
  for (const std::string& name : gone) {
    nodes_.erase(name);
    silent_nodes_.erase(name);
    tell_gone("n" + name, in::NodeGone{cluster_, name});
  }
  return true;
}

// --- owners --------------------------------------------------------------------------------------

void Cards::see_owner(const WatchEvent& event, const std::string& collection) {
  const std::string uid(metadata_text(event.object, "uid"));
  if (event.kind == WatchKind::kDeleted) {
    owners_.erase(uid);
    marked_owners_.erase(uid);
    return;
  }
  OwnerCard& card = owners_[uid];
  card.ns = metadata_text(event.object, "namespace");
  card.name = metadata_text(event.object, "name");
  card.collection = collection;
  card.gangs.clear();
  card.together = Together::kNone;
  const OwnerKind kind = collection == kJobSetsPath ? OwnerKind::kJobSet : OwnerKind::kJob;
  if (const auto owner = read_owner(kind, event.object, extra_)) {
    card.together = owner->together;
    card.has_deadline = owner->has_deadline;
    for (std::size_t role = 0; role < owner->roles.size(); ++role) {
      card.gangs.emplace_back(owner->roles[role].name, owner->gang_size(role));
    }
  }
  card.list = owner_lists_[collection];
  card.resource_version = metadata_text(event.object, "resourceVersion");
  card.parent.clear();
  card.mark.clear();
  if (const auto metadata = json::member(event.object, "metadata")) {
    if (const auto owners = json::member(*metadata, "ownerReferences")) {
      json::each_item(*owners, [&](std::size_t, json::Value owner) {
        const auto controls = json::member(owner, "controller");
        if (controls && json::boolean(*controls)) card.parent = json::text(owner, "uid");
      });
    }
    if (const auto annotations = json::member(*metadata, "annotations")) {
      card.mark = json::text(*annotations, names::kSuspendedBy);
    }
  }
  if (card.mark.empty()) {
    marked_owners_.erase(uid);
  } else {
    marked_owners_.insert(uid);
  }
  const auto spec = json::member(event.object, "spec");
  const auto suspend = spec ? json::member(*spec, "suspend") : std::nullopt;
  const auto parallelism = spec ? json::member(*spec, "parallelism") : std::nullopt;
  card.one_pod = !parallelism || json::integer(*parallelism, 1) <= 1;
  card.suspended = suspend && json::boolean(*suspend);
  std::vector<std::string> orphans;
  const auto [first, last] = orphans_of_.equal_range(uid);
  for (auto at = first; at != last; ++at) orphans.push_back(at->second);
  orphans_of_.erase(first, last);
  for (const std::string& orphan : orphans) see_orphan(orphan, 0, true);
}

void Cards::complete_owners(const std::string& collection) {
  known_collections_.insert(collection);
  std::erase_if(owners_, [&](const auto& entry) {
    return entry.second.collection == collection &&
           entry.second.list != owner_lists_.at(collection);
  });
  std::erase_if(marked_owners_, [&](const std::string& uid) { return !owners_.contains(uid); });
}

const OwnerCard* Cards::find_owner(const std::string& uid) const {
  const auto found = owners_.find(uid);
  return found == owners_.end() ? nullptr : &found->second;
}

// --- what is to be told --------------------------------------------------------------------------

Cards::Untold& Cards::untold(const std::string& key) {
  const auto [at, is_new] = untold_.try_emplace(key);
  if (is_new) queue_.push_back(key);
  return at->second;
}

void Cards::tell_pod(const std::string& uid, PodRecord record) {
  PodCard& card = pods_.at(uid);
  const std::uint64_t digest = content_hash(to_text(record));
  if (digest == card.told) return;
  card.told = digest;
  untold("p" + uid).seen = std::move(record);
}

void Cards::tell_gone(const std::string& key, in::Body gone) {
  Untold& news = untold(key);
  news.node.reset();
  news.gone = std::move(gone);
}

std::optional<News> Cards::next() {
  if (!put_back_.empty()) {
    News news = std::move(put_back_.front());
    put_back_.pop_front();
    return news;
  }
  if (queue_.empty()) return std::nullopt;
  const std::string key = queue_.front();
  Untold& news = untold_.at(key);
  News out;
  if (key[0] == 'p') out.uid = key.substr(1);
  if (news.seen) {
    out.body = in::PodSeen{cluster_, std::move(*news.seen)};
    news.seen.reset();
    if (news.gone) return out;
  } else if (news.node) {
    out.body = in::NodeSeen{cluster_, std::move(*news.node)};
  } else {
    out.body = std::move(*news.gone);
  }
  untold_.erase(key);
  queue_.pop_front();
  return out;
}

void Cards::put_back(News news) { put_back_.push_front(std::move(news)); }

}  // namespace subak
