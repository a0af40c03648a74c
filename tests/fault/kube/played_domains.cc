#include "played_domains.h"

#include <algorithm>

#include "core/names.h"
#include "kube/domain/domain_objects.h"

namespace subak::fault {
namespace {

using json_out::array;
using json_out::value;

std::string attempt_of(const Object& domain) {
  return text_at(domain, {"metadata", "labels", names::kAttempt.data()});
}
std::string job_of(const Object& domain) {
  const std::string attempt = attempt_of(domain);
  return attempt.substr(0, attempt.find('.'));
}

bool has_finalizer(const Object& domain) {
  const value* const list = find_at(domain, {"metadata", "finalizers"});
  return list != nullptr && !list->as_array().empty();
}

}  // namespace

void PlayedDomains::made(const Object& domain, bool late) {
  const std::string key = key_of(domain), attempt = attempt_of(domain);
  if (attempt.empty()) complaints_.push_back(key + " is a ComputeDomain without an attempt");
  for (const auto& [other, object] : objects_.all(kDomainsOf)) {
    if (other != key && job_of(object) == job_of(domain) && !is_going(object)) {
      complaints_.push_back("job " + job_of(domain) + " has two ComputeDomains, " + other +
                            " and " + key);
    }
  }
  if (rng_.percent(15) && !healed_) withheld_.insert(uid_of(domain));
  if (late) {
    meddled_.insert(key);
    return;
  }
  if (++made_[key + " " + attempt] > 1 && !meddled_.contains(key)) {
    complaints_.push_back(key + " is made twice for attempt " + attempt);
  }
}

// An edge deletes only what an edge has made.
void PlayedDomains::deleting(const Object& domain) {
  if (attempt_of(domain).empty()) {
    complaints_.push_back(key_of(domain) + " was made by hand, and an edge deletes it");
  }
}

void PlayedDomains::end(const std::string& key) {
  const Object& domain = *objects_.find(kDomainsOf, key);
  const Object* const made = objects_.find(kTemplatesOf, key);
  if (made != nullptr &&
      text_at(*made, {"metadata", "labels", kDomainUidLabel}) == uid_of(domain)) {
    return objects_.remove(kTemplatesOf, key);
  }
  objects_.remove(kDomainsOf, key);
}

// A node belongs to the ComputeDomain as long as a pod of it runs there.
void PlayedDomains::note_nodes(const std::string& key, bool all) {
  const std::string ns = key.substr(0, key.find('/'));
  const std::string name = key.substr(key.find('/') + 1);
  std::map<std::string, std::string> nodes;
  for (const auto& [_, pod] : objects_.all(kPods)) {
    if (text_at(pod, {"metadata", "namespace"}) != ns || phase_of(pod) != "Running") continue;
    for (const ClaimRef& ref : claims_in(pod)) {
      const bool ready = all || rng_.percent(70);
      if (ref.from_template == name) nodes[node_of(pod)] = ready ? "Ready" : "NotReady";
    }
  }
  array rows;
  for (const auto& [node, state] : nodes) {
    rows.push_back(Object{{"name", node}, {"status", state}});
  }
  Object& domain = *objects_.find(kDomainsOf, key);
  const value status = Object{{"nodes", rows}};
  if (domain.contains("status") && domain["status"] == status) return;
  domain["status"] = status;
  objects_.changed(kDomainsOf, key);
}

bool PlayedDomains::control_one(const std::string& key, bool all) {
  Object& domain = *objects_.find(kDomainsOf, key);
  if (is_going(domain)) {
    end(key);
    return true;
  }
  if (!has_finalizer(domain)) {
    domain["metadata"].as_object()["finalizers"] = array{kDomainUidLabel};
    objects_.changed(kDomainsOf, key);
    return true;
  }
  const bool withheld = withheld_.contains(uid_of(domain)) && !healed_;
  if (objects_.find(kTemplatesOf, key) == nullptr && !withheld) {
    Object made =
        template_object(text_at(domain, {"metadata", "namespace"}),
                        text_at(domain, {"metadata", "name"}), claim_spec(kChannelClassOf, 1));
    made["metadata"].as_object()["labels"] = Object{{kDomainUidLabel, uid_of(domain)}};
    objects_.create(kTemplatesOf, std::move(made));
    if (plant == Plant::kLosesTemplate) objects_.all(kTemplatesOf).erase(key);
    return true;
  }
  note_nodes(key, all);
  return false;
}

bool PlayedDomains::control(bool all) {
  std::vector<std::string> keys;
  for (const auto& [key, domain] : objects_.all(kDomainsOf)) keys.push_back(key);
  bool some = false;
  for (const std::string& key : keys) {
    if (all || rng_.percent(50)) some = control_one(key, all) || some;
  }
  // A template outlives its ComputeDomain only until the controller sees that.
  std::vector<std::string> left;
  for (const auto& [key, object] : objects_.all(kTemplatesOf)) {
    const std::string uid = text_at(object, {"metadata", "labels", kDomainUidLabel});
    const Object* const of = objects_.find(kDomainsOf, key);
    if (!uid.empty() && (of == nullptr || uid_of(*of) != uid)) left.push_back(key);
  }
  for (const std::string& key : left) objects_.remove(kTemplatesOf, key);
  return some || !left.empty();
}

void PlayedDomains::people(const std::string& wanted) {
  if (!wanted.empty() && rng_.percent(40)) {
    if (objects_.find(kDomainsOf, wanted) != nullptr) return;
    const std::size_t slash = wanted.find('/');
    const std::string name = wanted.substr(slash + 1);
    objects_.create(
        kDomainsOf,
        {{"metadata", Object{{"namespace", wanted.substr(0, slash)}, {"name", name}}},
         {"spec", Object{{"numNodes", 0},
                         {"channel", Object{{"resourceClaimTemplate", Object{{"name", name}}}}}}}});
    by_hand_.insert(wanted);
    meddled_.insert(wanted);
    return;
  }
  const auto& all = objects_.all(kDomainsOf);
  if (all.empty()) return;
  const std::string key =
      std::next(all.begin(), static_cast<std::ptrdiff_t>(rng_.below(all.size())))->first;
  meddled_.insert(key);
  objects_.mark_deleted(kDomainsOf, key);
}

void PlayedDomains::heal() {
  healed_ = true;
  for (const std::string& key : by_hand_) {
    const Object* const domain = objects_.find(kDomainsOf, key);
    if (domain != nullptr && attempt_of(*domain).empty()) objects_.mark_deleted(kDomainsOf, key);
  }
}

bool PlayedDomains::may_open(const std::string& key) const {
  if (meddled_.contains(key)) return true;
  const Object* const domain = objects_.find(kDomainsOf, key);
  const Object* const made = objects_.find(kTemplatesOf, key);
  return domain != nullptr && !is_going(*domain) && made != nullptr &&
         text_at(*made, {"metadata", "labels", kDomainUidLabel}) == uid_of(*domain);
}

std::string PlayedDomains::unfinished() const {
  std::string all;
  for (const auto& [key, domain] : objects_.all(kDomainsOf)) {
    all += " ComputeDomain " + key + " " + attempt_of(domain) + (is_going(domain) ? " going" : "");
  }
  return all;
}

}  // namespace subak::fault
