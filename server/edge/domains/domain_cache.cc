#include "server/edge/domains/domain_cache.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/text.h"

namespace subak {
namespace {

// Erases the entries that the list did not name, and calls gone(key, entry) for each before that.
template <class Map, class Gone>
void sweep(Map& map, std::uint32_t list, Gone&& gone) {
  for (auto it = map.begin(); it != map.end();) {
    if (it->second.list == list) {
      ++it;
      continue;
    }
    gone(it->first, it->second);
    it = map.erase(it);
  }
}

ComputeDomainState state_of(const DomainCache::Entry& entry, const ClaimTemplate* made) {
  const ComputeDomain& object = entry.object;
  if (object.going) return ComputeDomainState::kEnding;
  if (made == nullptr || made->domain_uid != object.uid) return ComputeDomainState::kWaiting;
  if (!object.not_ready.empty()) return ComputeDomainState::kNotReady;
  return object.nodes == 0 ? ComputeDomainState::kJoining : ComputeDomainState::kReady;
}

}  // namespace

std::string domain_path(std::string_view key, bool named) {
  const std::string_view path = kDomainsPath;
  const std::size_t last = path.rfind('/'), slash = key.find('/');
  std::string out = std::string(path.substr(0, last)) + "/namespaces/";
  out += std::string(key.substr(0, slash)) + std::string(path.substr(last));
  if (named) out += key.substr(slash);
  return out;
}

void DomainCache::put(ComputeDomain object, std::int64_t monotonic_ms) {
  Entry& entry = domains_[namespaced_name(object.ns, object.name)];
  std::map<std::string, std::int64_t> since;
  for (const std::string& node : object.not_ready) {
    const auto known = entry.not_ready_since.find(node);
    const bool same = entry.object.uid == object.uid && known != entry.not_ready_since.end();
    since.emplace(node, same ? known->second : monotonic_ms);
  }
  entry.not_ready_since = std::move(since);
  entry.object = std::move(object);
  entry.list = domain_list_;
  ++version_;
}

void DomainCache::see_domain(const WatchEvent& event, std::int64_t monotonic_ms) {
  Result<ComputeDomain> object = read_compute_domain(event.object);
  if (!object) return hooks_.unreadable("a ComputeDomain: " + object.error().message());
  heard_version_ = std::max(heard_version_, version_number(object->resource_version));
  if (event.kind == WatchKind::kDeleted) {
    forget_domain(namespaced_name(object->ns, object->name));
  } else {
    put(std::move(object).value(), monotonic_ms);
  }
}

void DomainCache::complete_domains() {
  sweep(domains_, domain_list_, [this](const auto&, const auto&) { ++version_; });
  if (std::exchange(domains_known_, true)) return;
  for (const auto& [node, count] : offers_) hooks_.offers_changed(node);
}

void DomainCache::see_answered_domain(json::Value value, std::int64_t monotonic_ms) {
  Result<ComputeDomain> object = read_compute_domain(value);
  if (!object) return;
  const Entry* const known = find(namespaced_name(object->ns, object->name));
  const std::uint64_t version = version_number(object->resource_version);
  const bool older = known != nullptr && version < version_number(known->object.resource_version);
  // The watch has reported all changes up to this version, so the object was deleted since then.
  const bool gone = known == nullptr && version != 0 && version <= heard_version_;
  if (!older && !gone) put(std::move(object).value(), monotonic_ms);
}

void DomainCache::forget_domain(const std::string& key) {
  if (domains_.erase(key) > 0) ++version_;
}

void DomainCache::see_template(const WatchEvent& event) {
  const Result<ClaimTemplate> object = read_claim_template(event.object);
  if (!object) return hooks_.unreadable("a ResourceClaimTemplate: " + object.error().message());
  const std::string key = namespaced_name(object->ns, object->name);
  const ClaimTemplate* const known = find_template(key);
  const bool was = known != nullptr && known->of_channel;
  const bool is = event.kind != WatchKind::kDeleted && object->of_channel;
  // Other templates matter only where their name is Subak's, so that an error names the field.
  const bool named = object->name.starts_with(names::kDomainTemplatePrefix);
  if (is || was || named) ++version_;
  if (event.kind == WatchKind::kDeleted || (!is && !named)) {
    templates_.erase(key);
  } else {
    templates_.insert_or_assign(key, Template{*object, template_list_});
  }
}

void DomainCache::complete_templates() {
  sweep(templates_, template_list_, [this](const auto&, const auto&) { ++version_; });
}

void DomainCache::tell_offer(const std::string& node) const {
  if (domains_known_) hooks_.offers_changed(node);
}

void DomainCache::drop_slice(const Slice& slice) {
  if (--offers_[slice.node] > 0) return;
  offers_.erase(slice.node);
  tell_offer(slice.node);
}

void DomainCache::see_slice(const WatchEvent& event) {
  const Result<ChannelSlice> slice = read_channel_slice(event.object);
  if (!slice) return hooks_.unreadable("a ResourceSlice: " + slice.error().message());
  const bool offers =
      event.kind != WatchKind::kDeleted && slice->has_channel && !slice->node.empty();
  const auto known = slices_.find(slice->name);
  if (offers && known != slices_.end() && known->second.node == slice->node) {
    known->second.list = slice_list_;
    return;
  }
  if (known != slices_.end()) {
    const Slice before = known->second;
    slices_.erase(known);
    drop_slice(before);
  }
  if (!offers) return;
  slices_.emplace(slice->name, Slice{slice->node, slice_list_});
  if (++offers_[slice->node] == 1) tell_offer(slice->node);
}

void DomainCache::complete_slices() {
  sweep(slices_, slice_list_, [this](const auto&, const Slice& slice) { drop_slice(slice); });
}

bool DomainCache::offers_channel(const std::string& node) const {
  return domains_known_ && offers_.contains(node);
}

const DomainCache::Entry* DomainCache::find(const std::string& key) const {
  const auto found = domains_.find(key);
  return found == domains_.end() ? nullptr : &found->second;
}

const ClaimTemplate* DomainCache::find_template(const std::string& key) const {
  const auto found = templates_.find(key);
  return found == templates_.end() ? nullptr : &found->second.object;
}

void DomainCache::recognise(Pod& pod) const {
  if (!pod.asks_gpu() || pod.claims.templates.empty()) return;
  std::size_t of_channel = 0;
  for (const Text name : pod.claims.templates) {
    const ClaimTemplate* const of = find_template(namespaced_name(pod.ns, name));
    if (of != nullptr && of->of_channel) ++of_channel;
  }
  if (of_channel == 0) return;
  pod.join_domain();
  if (of_channel == pod.claims.templates.size() && pod.claims.by_template)
    pod.claims.device.clear();
  // While no node is known to offer a channel, the request could not be met anywhere.
  const bool counted =
      std::any_of(pod.shape.extended.begin(), pod.shape.extended.end(),
                  [](const ResourceCount& r) { return r.name == names::kChannel; });
  if (!counted && domains_known_ && !offers_.empty())
    pod.shape.extended.push_back({std::string(names::kChannel), 1});
}

void DomainCache::add_user(const std::string& key, bool going) {
  if (key.empty()) return;
  Users& users = users_[key];
  ++users.all;
  if (!going) ++users.staying;
}

void DomainCache::remove_user(const std::string& key, bool going) {
  const auto found = users_.find(key);
  if (found == users_.end()) return;
  if (!going) --found->second.staying;
  if (--found->second.all == 0) users_.erase(found);
}

DomainCache::Users DomainCache::users(const std::string& key) const {
  const auto found = users_.find(key);
  return found == users_.end() ? Users() : found->second;
}

std::vector<ComputeDomainRow> domain_rows(const DomainCache& cache) {
  std::vector<ComputeDomainRow> rows;
  for (const auto& [key, entry] : cache.all()) {
    const ComputeDomain& object = entry.object;
    if (!object.is_ours()) continue;
    ComputeDomainRow& row = rows.emplace_back();
    row.name = key;
    row.job = text::job_id_text(object.job);
    row.attempt = object.attempt;
    row.state = state_of(entry, cache.find_template(key));
    row.nodes = object.nodes;
    row.ready = object.nodes - static_cast<std::uint32_t>(object.not_ready.size());
    const std::size_t shown =
        std::min<std::size_t>(object.not_ready.size(), limits::kMaxNodesShown);
    row.not_ready.assign(object.not_ready.begin(),
                         object.not_ready.begin() + static_cast<std::ptrdiff_t>(shown));
  }
  return rows;
}

}  // namespace subak
