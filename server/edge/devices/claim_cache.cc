#include "server/edge/devices/claim_cache.h"

#include <algorithm>
#include <utility>

#include "core/duration.h"
#include "kube/domain/domain_objects.h"

namespace subak {
namespace {

// Returns true if the ResourceClaim requests a channel of a ComputeDomain.
bool of_channel(const ClaimSpec& spec) {
  return std::any_of(spec.requests.begin(), spec.requests.end(), [](const auto& request) {
    return std::any_of(request.begin(), request.end(), [](const DeviceRequest& one) {
      return one.device_class == names::kChannelClass;
    });
  });
}

}  // namespace

void ClaimCache::see_claim(const WatchEvent& event) {
  const std::string key = namespaced_name_of(event.object);
  if (event.kind == WatchKind::kDeleted) return claim_gone(key);
  Claim& claim = claims_[key];
  const bool is_new = claim.list == 0;
  claim.list = claim_list_;
  if (is_new) claim.spec = read_claim_spec(event.object);  // a ResourceClaim's spec never changes
  std::string reserved(reserved_for(event.object));
  const bool same = reserved == claim.reserved_for;
  claim.reserved_for = std::move(reserved);
  if (is_new || !same) outdate_users(key);
}

void ClaimCache::claim_gone(const std::string& name) {
  claims_.erase(name);
  payer_ends_.erase(name);
  outdate_users(name);
}

void ClaimCache::complete_claims() {
  std::vector<std::string> gone;
  for (const auto& [name, claim] : claims_) {
    if (claim.list != claim_list_) gone.push_back(name);
  }
  for (const std::string& name : gone) claim_gone(name);
}

void ClaimCache::see_template(const WatchEvent& event) {
  const std::string key = namespaced_name_of(event.object);
  if (event.kind == WatchKind::kDeleted) {
    // Existing pods have their ResourceClaims already. Only pods of a ComputeDomain still depend on
    // the template.
    const auto gone = templates_.extract(key);
    if (gone && of_channel(gone.mapped().spec)) outdate_pods_of(key);
    return;
  }
  const auto spec = json::member(event.object, "spec");
  const auto [at, is_new] = templates_.try_emplace(key);
  at->second.list = template_list_;
  if (!is_new || !spec) return;
  at->second.spec = read_claim_spec(*spec);
  outdate_pods_of(key);
}

void ClaimCache::outdate_pods_of(const std::string& claim_template) {
  for (const auto& [uid, pod] : pods_) {
    if (pod.waits && pod.templates.contains(claim_template)) outdated_.insert(uid);
  }
}

void ClaimCache::complete_templates() {
  std::erase_if(templates_, [this](const auto& one) { return one.second.list != template_list_; });
}

void ClaimCache::outdate_users(const std::string& claim) {
  const auto users = users_.find(claim);
  if (users == users_.end()) return;
  outdated_.insert(users->second.pods.begin(), users->second.pods.end());
}

PodDevices ClaimCache::resolve(const std::string& uid, std::string_view ns, json::Value pod) {
  const ClaimRefs claims = read_pod_claims(pod);
  const auto before = pods_.find(uid);
  std::optional<ClaimedGpus> known;
  if (before != pods_.end()) known = std::move(before->second.known);
  leave_claims(uid);
  PodUses& uses = pods_[uid];
  for (const ClaimRefs::One& one : claims.claims) {
    if (!one.claim.empty()) uses.claims.insert(namespaced_name(ns, one.claim));
    if (!one.claim_template.empty()) uses.templates.insert(namespaced_name(ns, one.claim_template));
  }
  for (const std::string& name : uses.claims) users_[name].pods.insert(uid);
  PodDevices out = resolve_claims(uid, ns, claims);
  uses.known = out.state == PodDevices::State::kUnknown ? std::move(known) : out.gpus;
  uses.waits =
      json::text_in(pod, "spec", "nodeName").empty() || out.state == PodDevices::State::kUnknown;
  return out;
}

PodDevices ClaimCache::resolve_claims(const std::string& uid, std::string_view ns,
                                      const ClaimRefs& claims) {
  PodDevices out;
  for (const ClaimRefs::One& one : claims.claims) {
    if (one.claim_template.empty()) {
      if (!one.claim.empty() && !add_claim(uid, namespaced_name(ns, one.claim), out)) return out;
      continue;
    }
    const auto found = templates_.find(namespaced_name(ns, one.claim_template));
    if (found == templates_.end()) {
      out.state = PodDevices::State::kUnknown;
      out.why = "there is no ResourceClaimTemplate " + one.claim_template;
      return out;
    }
    if (!add(found->second.spec, out)) return out;
  }
  ClaimSpec by_class;
  for (const auto& [name, count] : claims.classes) {
    DeviceRequest request;
    request.device_class = name;
    request.count = count;
    by_class.requests.push_back({std::move(request)});
  }
  (void)add(by_class, out);
  return out;
}

std::string ClaimCache::add_gpus(Pod& pod, json::Value object) {
  const std::string uid(pod.uid);
  if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") {
    const bool known = note_end(uid, pod, object);
    forget(uid, known);
    return {};
  }
  PodDevices devices = resolve(uid, pod.ns, object);
  const std::optional<ClaimedGpus>& known = pods_.at(uid).known;
  if (devices.state == PodDevices::State::kUnknown && known && !pod.gated())
    devices = {PodDevices::State::kKnown, *known, ""};
  if (devices.why.empty() && devices.gpus.add_to(pod.shape)) {
    pod.claims.device.clear();
    return {};
  }
  if (devices.why.empty())
    devices.why = "its ResourceClaims and its containers request GPUs of two kinds";
  if (ignores_unknown_) return {};
  if (devices.state == PodDevices::State::kAfterPayer) pod.claims.device.clear();
  if (pod.gated()) pod.shape.request_no_gpus();
  return std::move(devices.why);
}

bool ClaimCache::add_claim(const std::string& uid, const std::string& name, PodDevices& out) {
  const auto found = claims_.find(name);
  if (found == claims_.end()) {
    out.state = PodDevices::State::kUnknown;
    out.why = "there is no ResourceClaim " + name.substr(name.find('/') + 1);
    return false;
  }
  Users& users = users_[name];
  const std::string& reserved = found->second.reserved_for;
  if (!reserved.empty()) set_payer(users, reserved);
  if (users.payer.empty() || !users.pods.contains(users.payer)) {
    // If the ResourceClaim is reserved, its payer may be a pod that was not seen yet.
    if (reserved.empty()) set_payer(users, uid);
  }
  if (users.payer == uid) return add(found->second.spec, out);
  if (!reserved.empty()) return true;  // another pod pays for the claim
  out.state = PodDevices::State::kAfterPayer;
  out.why = "another pod gets the ResourceClaim " + name.substr(name.find('/') + 1) + " first";
  return false;
}

void ClaimCache::set_payer(Users& users, const std::string& uid) {
  if (users.payer == uid) return;
  users.before = std::move(users.payer);
  users.payer = uid;
}

bool ClaimCache::add(const ClaimSpec& spec, PodDevices& out) const {
  Result<ClaimedGpus> gpus = claimed_gpus(spec, devices_.devices(), extra_);
  if (!gpus.ok()) {
    out.state = PodDevices::State::kUnknown;
    out.why = gpus.error().field + ": " + gpus.error().want;
    return false;
  }
  if (out.gpus.add(*gpus)) return true;
  out.state = PodDevices::State::kUnknown;
  out.why =
      "its ResourceClaims request GPUs of two kinds; split the pod into one pod for each kind";
  return false;
}

// A pod that ended before this session was never among the users, so it may have paid.
bool ClaimCache::note_end(const std::string& uid, const Pod& pod, json::Value object) {
  const auto at = parse_time(pod.status.finished_at, "");
  if (!at) return false;
  const bool was_seen = pods_.contains(uid);
  for (const ClaimRefs::One& one : read_pod_claims(object).claims) {
    if (one.claim.empty()) continue;
    const std::string name = namespaced_name(pod.ns, one.claim);
    const auto users = users_.find(name);
    const bool paid =
        users != users_.end() && (users->second.payer == uid || users->second.before == uid);
    PayerEnd& end = payer_ends_[name];
    if (was_seen ? paid : *at > end.at_ms) end = {uid, *at};
  }
  return true;
}

TimeMs ClaimCache::payer_ended_ms(const std::string& uid, bool listed) const {
  const auto pod = pods_.find(uid);
  TimeMs last = 0;
  if (pod == pods_.end()) return last;
  for (const std::string& claim : pod->second.claims) {
    const auto end = payer_ends_.find(claim);
    const auto users = users_.find(claim);
    if (end == payer_ends_.end() || users == users_.end()) continue;
    const std::string& before = users->second.before;
    if (listed || before.empty() || before == end->second.uid)
      last = std::max(last, end->second.at_ms);
  }
  return last;
}

TimeMs ClaimCache::pays_from_ms(const std::string& uid, TimeMs bound_at_ms) const {
  const TimeMs ended_ms = payer_ended_ms(uid, false);
  return ended_ms > bound_at_ms ? ended_ms : 0;
}

bool ClaimCache::hold_back(const std::string& uid, const PodRecord& record) {
  const auto pod = pods_.find(uid);
  const bool runs = !record.node.empty() && record.ended == Cause::kNone;
  const bool pays = record.shape.kind != GpuKind::kNone;
  if (!lists_pods_ || !runs || !pays || pod == pods_.end() || pod->second.claims.empty())
    return false;
  held_back_.insert_or_assign(uid, record);
  return true;
}

std::map<std::string, PodRecord> ClaimCache::take_held_back() {
  lists_pods_ = false;
  return std::exchange(held_back_, {});
}

std::optional<TimeMs> ClaimCache::listed_pays_from_ms(const PodRecord& record) const {
  if (!record.let_go_to.empty()) return std::nullopt;  // the core gave it a node, so it paid itself
  const TimeMs from_ms = std::max(payer_ended_ms(record.uid, true), seen_until_ms_);
  return from_ms > record.bound_at_ms ? std::optional(from_ms) : std::nullopt;
}

void ClaimCache::forget(const std::string& uid, bool knows_end) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  // Another pod of the ResourceClaim now pays.
  for (const std::string& claim : pod->second.claims) {
    const auto users = users_.find(claim);
    if (users == users_.end() || users->second.payer != uid) continue;
    if (!knows_end) payer_ends_.erase(claim);
    outdate_users(claim);
  }
  leave_claims(uid);
  outdated_.erase(uid);
}

void ClaimCache::leave_claims(const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  for (const std::string& claim : pod->second.claims) {
    const auto users = users_.find(claim);
    if (users == users_.end()) continue;
    users->second.pods.erase(uid);
    if (users->second.pods.empty()) users_.erase(users);
  }
  pods_.erase(pod);
}

void ClaimCache::forget_pods() {
  pods_.clear();
  users_.clear();
  payer_ends_.clear();
  held_back_.clear();
  lists_pods_ = false;
  outdated_.clear();
}

std::set<std::string> ClaimCache::take_outdated() {
  if (std::exchange(seen_version_, devices_.version()) != devices_.version()) {
    for (const auto& [uid, pod] : pods_) {
      if (pod.waits) outdated_.insert(uid);
    }
  }
  return std::exchange(outdated_, {});
}

}  // namespace subak
