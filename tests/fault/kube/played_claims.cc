#include "played_claims.h"

#include <algorithm>
#include <utility>

namespace subak::fault {
namespace {

using json_out::array;
using json_out::value;

constexpr const char* kOwnerPod = "owner-pod";  // label: "ns/name uid" would not be one

array& reserved_in(Object& claim) {
  value& status = claim["status"];
  if (!status.is_object()) status = Object();
  value& list = status.as_object()["reservedFor"];
  if (!list.is_array()) list = array();
  return list.as_array();
}

}  // namespace

std::size_t class_requests(const Object& pod) {
  const value& container = pod.at("spec").at("containers").at(0);
  const value* const of = find_at(container.as_object(), {"resources", "limits", kClassResource});
  return of == nullptr ? 0 : std::stoul(std::string(of->as_string()));
}

std::optional<PlayedClaims::Request> PlayedClaims::request(const Object& claim) const {
  const Object& wanted = request_of(claim.at("spec"));
  Request out{text_at(wanted, {"deviceClassName"}),
              static_cast<std::size_t>(wanted.at("count").to_number<std::int64_t>())};
  if (objects_.find(kClassesOf, "/" + out.of) == nullptr) return std::nullopt;
  return out;
}

std::vector<std::string> PlayedClaims::claims_of(const Object& pod) const {
  std::vector<std::string> keys;
  const std::string ns = text_at(pod, {"metadata", "namespace"});
  for (const ClaimRef& ref : claims_in(pod)) {
    std::string name = ref.claim;
    if (name.empty()) {
      const value* const made = find_at(pod, {"status", "resourceClaimStatuses"});
      for (std::size_t i = 0; made != nullptr && i < made->as_array().size(); ++i) {
        const value& one = made->as_array()[i];
        if (text_at(one, {"name"}) == ref.name) name = text_at(one, {"resourceClaimName"});
      }
    }
    keys.push_back(name.empty() ? "" : ns + "/" + name);
  }
  return keys;
}

bool PlayedClaims::can_give(const Request& request, const std::string& node) const {
  if (request.channel()) return devices_.has_channel(node);
  return devices_.free(node, true, request.slices()).size() >= request.count;
}

bool PlayedClaims::fits(const Object& pod, const std::string& node) const {
  const std::size_t by_class = class_requests(pod);
  if (by_class > 0 && !can_give({kGpuClass, by_class}, node)) return false;
  for (const std::string& key : claims_of(pod)) {
    const Object* const claim = key.empty() ? nullptr : objects_.find(kClaimsOf, key);
    if (claim == nullptr || is_going(*claim)) return false;
    const auto given = nodes_.find(key);
    if (given != nodes_.end() && given->second != node) return false;
    if (given != nodes_.end()) continue;
    const std::optional<Request> wanted = request(*claim);
    if (!wanted || !can_give(*wanted, node)) return false;
  }
  return true;
}

void PlayedClaims::give(const std::string& key, const Request& request, const std::string& node) {
  Object& claim = *objects_.find(kClaimsOf, key);
  const std::string uid = uid_of(claim);
  if (request.channel()) {
    devices_.take_channel(node, uid);
  } else {
    devices_.take(node, true, request.slices(), request.count, uid);
    constexpr MilliGpu kSlice = 125;
    const MilliGpu each = request.slices() ? kSlice : kMilliPerGpu;
    present_[key] = stays_.size();
    stays_.push_back(
        {key + " (" + uid + ")", each * static_cast<MilliGpu>(request.count), now_, 0, {}});
    const bool odd = json_out::serialize(claim.at("spec")).find(kOddSelector) != std::string::npos;
    stays_.back().known = !odd;
  }
  nodes_[key] = node;
  value& status = claim["status"];
  if (!status.is_object()) status = Object();
  status.as_object()["allocation"] =
      Object{{"devices", Object{{"results", array{Object{{"request", "r"}, {"pool", node}}}}}}};
}

void PlayedClaims::add_user(const std::string& key, const Object& pod) {
  reserved_in(*objects_.find(kClaimsOf, key))
      .push_back(Object{{"resource", "pods"},
                        {"name", text_at(pod, {"metadata", "name"})},
                        {"uid", uid_of(pod)}});
  const auto stay = present_.find(key);
  if (stay != present_.end()) stays_[stay->second].pods.insert(uid_of(pod));
  objects_.changed(kClaimsOf, key);
}

void PlayedClaims::reserve(const Object& pod, const std::string& node) {
  std::vector<std::string> keys = claims_of(pod);
  if (const std::size_t count = class_requests(pod); count > 0) {
    // The special claim that stands for the resource.
    const std::string ns = text_at(pod, {"metadata", "namespace"});
    Object claim = claim_object(
        ns, text_at(pod, {"metadata", "name"}) + "-extended-" + std::to_string(++serial_),
        claim_spec(kGpuClass, static_cast<std::int64_t>(count)));
    claim["metadata"].as_object()["annotations"] =
        Object{{"resource.kubernetes.io/extended-resource-claim", "true"}};
    claim["metadata"].as_object()["labels"] = Object{{kOwnerPod, uid_of(pod)}};
    keys.push_back(key_of(claim));
    objects_.create(kClaimsOf, std::move(claim));
  }
  for (const std::string& key : keys) {
    if (!nodes_.contains(key)) give(key, *request(*objects_.find(kClaimsOf, key)), node);
    add_user(key, pod);
  }
}

void PlayedClaims::control_pod(const std::string& pod_key) {
  Object& pod = *objects_.find(kPods, pod_key);
  if (has_gate(pod, true) || has_gate(pod, false) || has_ended(pod) || is_going(pod)) return;
  const std::vector<std::string> known = claims_of(pod);
  const std::vector<ClaimRef> refs = claims_in(pod);
  bool some = false;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (refs[i].from_template.empty() || !known[i].empty()) continue;
    const std::string ns = text_at(pod, {"metadata", "namespace"});
    const Object* const from = objects_.find(kTemplatesOf, ns + "/" + refs[i].from_template);
    if (from == nullptr) continue;
    const std::string name =
        text_at(pod, {"metadata", "name"}) + "-" + refs[i].name + "-" + std::to_string(++serial_);
    Object claim = claim_object(ns, name, from->at("spec").at("spec").as_object());
    claim["metadata"].as_object()["labels"] = Object{{kOwnerPod, uid_of(pod)}};
    objects_.create(kClaimsOf, std::move(claim));
    value& made = pod["status"].as_object()["resourceClaimStatuses"];
    if (!made.is_array()) made = array();
    made.as_array().push_back(Object{{"name", refs[i].name}, {"resourceClaimName", name}});
    some = true;
  }
  if (some) objects_.changed(kPods, pod_key);
}

bool PlayedClaims::lives(const std::string& key, const std::string& uid) const {
  const Object* const pod = objects_.find(kPods, key);
  return pod != nullptr && uid_of(*pod) == uid && !has_ended(*pod);
}

void PlayedClaims::end_stay(const std::string& key) {
  const auto stay = present_.find(key);
  if (stay != present_.end()) stays_[stay->second].until_ms = now_;
  present_.erase(key);
  nodes_.erase(key);
}

// One claim. False: nothing of it changes.
bool PlayedClaims::settle(const std::string& key) {
  Object& claim = *objects_.find(kClaimsOf, key);
  const std::string ns = text_at(claim, {"metadata", "namespace"});
  array& users = reserved_in(claim);
  const std::size_t before = users.size();
  for (auto it = users.begin(); it != users.end();) {
    it = lives(ns + "/" + text_at(*it, {"name"}), text_at(*it, {"uid"})) ? it + 1 : users.erase(it);
  }
  bool some = users.size() != before;
  if (users.empty() && nodes_.contains(key)) {
    devices_.give_back(uid_of(claim));
    end_stay(key);
    claim["status"].as_object().erase("allocation");
    some = true;
  }
  const std::string owner = text_at(claim, {"metadata", "labels", kOwnerPod});
  const auto& pods = objects_.all(kPods);
  const bool owned = std::any_of(pods.begin(), pods.end(), [&](const auto& one) {
    return uid_of(one.second) == owner && !has_ended(one.second);
  });
  if (!nodes_.contains(key) && (is_going(claim) || (!owner.empty() && !owned))) {
    objects_.remove(kClaimsOf, key);
    return true;
  }
  if (some) objects_.changed(kClaimsOf, key);
  return some;
}

bool PlayedClaims::control() {
  std::vector<std::string> keys;
  for (const auto& [key, claim] : objects_.all(kClaimsOf)) keys.push_back(key);
  bool some = false;
  for (const std::string& key : keys) some = settle(key) || some;
  return some;
}

// What is in use has a finalizer until it is not.
void PlayedClaims::delete_some() {
  std::vector<std::string> keys;
  for (const auto& [key, claim] : objects_.all(kClaimsOf)) {
    const bool of_pod = find_at(claim, {"metadata", "labels"}) != nullptr;
    if (!of_pod && !is_going(claim)) keys.push_back(key);
  }
  if (keys.empty()) return;
  const std::string key = keys[rng_.below(keys.size())];
  Object& claim = *objects_.find(kClaimsOf, key);
  Object again = claim_object(text_at(claim, {"metadata", "namespace"}),
                              text_at(claim, {"metadata", "name"}), claim["spec"].as_object());
  make_later(kClaimsOf, std::move(again));
  if (!nodes_.contains(key)) return objects_.remove(kClaimsOf, key);
  claim["metadata"].as_object()["deletionTimestamp"] = format_time(now_);
  objects_.changed(kClaimsOf, key);
}

void PlayedClaims::make_late(bool all) {
  for (std::size_t left = later_.size(); left > 0; --left) {
    auto [collection, object] = std::move(later_.front());
    later_.pop_front();
    if (objects_.find(collection, key_of(object)) != nullptr) {
      later_.emplace_back(collection, std::move(object));  // the old one is not gone yet
    } else {
      objects_.create(collection, std::move(object));
    }
    if (!all) return;
  }
}

bool PlayedClaims::has_devices_off(const Object& pod, const std::string& node) const {
  const std::vector<std::string> keys = claims_of(pod);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const auto given = nodes_.find(key);
    return given != nodes_.end() && given->second != node;
  });
}

std::string PlayedClaims::unfinished() const {
  std::string all;
  for (const auto& [key, node] : nodes_) all += " claim " + key + " on " + node;
  return all;
}

}  // namespace subak::fault
