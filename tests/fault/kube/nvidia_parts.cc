#include "nvidia_parts.h"

#include <algorithm>
#include <utility>

#include "kube/domain/domain_objects.h"

namespace subak::fault {
namespace {

using json_out::array;
using json_out::serialize;
using json_out::value;

constexpr Ask kAsks[] = {Ask::kGpus,  Ask::kGpus,   Ask::kTemplate, Ask::kTemplate,
                         Ask::kClaim, Ask::kShared, Ask::kResource, Ask::kSlices,
                         Ask::kMig,   Ask::kDomain, Ask::kDomain,   Ask::kLateClass,
                         Ask::kNever};

std::string template_name(const std::string& job) { return job + "-devices"; }
std::string claim_name(const std::string& job, std::uint32_t rank) {
  return job + "-claim-" + std::to_string(rank);
}

bool by_plugin(Ask ask) { return ask == Ask::kGpus || ask == Ask::kDomain || ask == Ask::kSlices; }

// The name that the webhook chooses for the ComputeDomain of the pod's gang.
std::string domain_name(const Object& pod) {
  simdjson::dom::parser parser;
  const std::string text = serialize(pod);
  const Pod read = read_pod(parser.parse(text), {});
  return domain_name_of(read, text_at(pod, {"metadata", "name"}));
}

Object& container_of(Object& pod) {
  return pod["spec"].as_object()["containers"].as_array()[0].as_object();
}

void name_claim(Object& pod, const std::string& name, const char* member, const std::string& of) {
  value& list = pod["spec"].as_object()["resourceClaims"];
  if (!list.is_array()) list = array();
  list.as_array().push_back(Object{{"name", name}, {member, of}});
  container_of(pod)["resources"].as_object()["claims"] = array{Object{{"name", name}}};
}

}  // namespace

bool is_slice(Ask ask) { return ask == Ask::kSlices || ask == Ask::kMig; }

std::string domain_of(const Object& pod) {
  for (const ClaimRef& ref : claims_in(pod)) {
    if (ref.name == kDomainClaimName) {
      return text_at(pod, {"metadata", "namespace"}) + "/" + ref.from_template;
    }
  }
  return {};
}

// --- what users make -----------------------------------------------------------------------------

void NvidiaParts::plan(const std::string& name, KubeJob& job) {
  job.ask = kAsks[rng_.below(std::size(kAsks))];
  if (job.ask == Ask::kDomain) {
    job.gang = job.pods > 1;
    job.pods = std::min<std::uint32_t>(job.pods, 3);
  }
  if (job.ask == Ask::kNever) job.gang = false;
  const bool late = rng_.percent(35);
  const auto make = [&](const char* collection, Object object) {
    if (late) return claims_.make_later(collection, std::move(object));
    objects_.create(collection, std::move(object));
  };
  const auto make_template = [&](const char* of, const char* selector = nullptr) {
    make(kTemplatesOf,
         template_object(job.ns, template_name(name), claim_spec(of, job.gpus, selector)));
  };
  switch (job.ask) {
    case Ask::kTemplate:
      return make_template(kGpuClass);
    case Ask::kMig:
      return make_template(kMigClass);
    case Ask::kLateClass:
      if (objects_.find(kClassesOf, std::string("/") + kLateClass) == nullptr) {
        claims_.make_later(kClassesOf,
                           device_class(kLateClass,
                                        "device.driver == 'gpu.nvidia.com'"
                                        " && device.attributes['gpu.nvidia.com'].type == 'gpu'"));
      }
      return make_template(kLateClass);
    case Ask::kNever:
      if (rng_.percent(50)) return;  // the template never comes
      return rng_.percent(50) ? make_template(kGpuClass, kOddSelector)
                              : make_template("never.example.com");
    case Ask::kClaim:
      for (std::uint32_t rank = 0; rank < job.pods; ++rank) {
        make(kClaimsOf,
             claim_object(job.ns, claim_name(name, rank), claim_spec(kGpuClass, job.gpus)));
      }
      return;
    case Ask::kShared:
      return make(kClaimsOf,
                  claim_object(job.ns, claim_name(name, 0), claim_spec(kGpuClass, job.gpus)));
    default:
      return;
  }
}

void NvidiaParts::plan_other(const std::string& name, KubeJob& alone, Object& pod) {
  if (!rng_.percent(40)) return;
  alone.ask = rng_.percent(70) ? Ask::kTemplate : Ask::kMig;
  const char* const of = alone.ask == Ask::kMig ? kMigClass : kGpuClass;
  objects_.create(kTemplatesOf,
                  template_object(alone.ns, template_name(name), claim_spec(of, alone.gpus)));
  add(alone, name, 0, pod);
}

void NvidiaParts::add(const KubeJob& job, const std::string& job_name, std::uint32_t rank,
                      Object& pod) {
  Object& limits = container_of(pod)["resources"].as_object()["limits"].as_object();
  const std::string gpus = std::to_string(job.gpus);
  if (job.ask == Ask::kGpus) return;
  if (job.ask == Ask::kDomain) {
    const std::string name = domain_name(pod);
    return name_claim(pod, kDomainClaimName, "resourceClaimTemplateName", name);
  }
  limits.clear();
  switch (job.ask) {
    case Ask::kSlices:
      limits[kSliceResource] = gpus;
      return;
    case Ask::kResource:
      limits[kClassResource] = gpus;
      return;
    case Ask::kClaim:
      return name_claim(pod, "devices", "resourceClaimName", claim_name(job_name, rank));
    case Ask::kShared:
      return name_claim(pod, "devices", "resourceClaimName", claim_name(job_name, 0));
    default:
      return name_claim(pod, "devices", "resourceClaimTemplateName", template_name(job_name));
  }
}

// --- the scheduler and the kubelet ---------------------------------------------------------------

bool NvidiaParts::has_room(const Object& pod, const KubePod& mine, const std::string& node) const {
  const bool plugin = by_plugin(mine.ask);
  const auto wanted = static_cast<std::size_t>(mine.gpus);
  if (plugin && devices_.free(node, false, is_slice(mine.ask)).size() < wanted) return false;
  return claims_.fits(pod, node);
}

void NvidiaParts::bound(const Object& pod, const KubePod& mine, const std::string& node) {
  if (by_plugin(mine.ask)) {
    devices_.take(node, false, is_slice(mine.ask), static_cast<std::size_t>(mine.gpus),
                  uid_of(pod));
  }
  claims_.reserve(pod, node);
}

std::set<std::size_t> NvidiaParts::there() const {
  std::set<std::size_t> all;
  for (const auto& [key, node] : objects_.all(kNodesOf)) {
    all.insert(PlayedDevices::index_of(key.substr(1)));
  }
  return all;
}

// Of some pod that waits.
std::string NvidiaParts::wanted_domain() const {
  std::vector<std::string> all;
  for (const auto& [key, pod] : objects_.all(kPods)) {
    if (has_gate(pod, true) && !domain_of(pod).empty()) all.push_back(domain_of(pod));
  }
  return all.empty() ? std::string() : all[rng_.below(all.size())];
}

void NvidiaParts::act(bool people) {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 35) {
    devices_.act(there());
  } else if (dice < 55) {
    const auto& pods = objects_.all(kPods);
    if (pods.empty()) return;
    claims_.control_pod(
        std::next(pods.begin(), static_cast<std::ptrdiff_t>(rng_.below(pods.size())))->first);
  } else if (dice < 70) {
    claims_.control();
  } else if (dice < 88) {
    domains_.control(false);
  } else if (dice < 92) {
    claims_.make_late(false);
  } else if (people) {
    dice < 96 ? claims_.delete_some() : domains_.people(wanted_domain());
  }
}

void NvidiaParts::progress() {
  devices_.progress(there());
  claims_.make_late(true);
  std::vector<std::string> keys;
  for (const auto& [key, pod] : objects_.all(kPods)) keys.push_back(key);
  for (const std::string& key : keys) claims_.control_pod(key);
  claims_.control();
  domains_.control(true);
}

void NvidiaParts::plant(Plant what) {
  devices_.plant = domains_.plant = what;
  objects_.forgets_deletions = what == Plant::kForgetsDeletion;
  objects_.loses_made = what == Plant::kLosesDomain;
}

std::vector<std::string> NvidiaParts::wrong_with(const Engine& engine) const {
  std::vector<std::string> all = wrong_nodes(engine, devices_);
  const auto lives = [this](const std::string& uid) {
    const auto& pods = objects_.all(kPods);
    return std::any_of(pods.begin(), pods.end(), [&](const auto& one) {
      return uid_of(one.second) == uid && !has_ended(one.second) && !is_going(one.second);
    });
  };
  for (std::string& one : wrong_payers(engine, claims_.stays(), lives)) {
    all.push_back(std::move(one));
  }
  return all;
}

void NvidiaParts::heal() {
  devices_.heal();
  domains_.heal();
}

std::string NvidiaParts::unfinished() const { return claims_.unfinished() + domains_.unfinished(); }

// --- the judge -----------------------------------------------------------------------------------

std::string NvidiaParts::wrong_release(const Object& pod, const KubePod& mine) const {
  if (mine.ask == Ask::kNever) return "is let go, and nobody can know what it claims";
  const std::string domain = domain_of(pod);
  if (domain.empty() || domains_.may_open(domain)) return {};
  return "is let go without the ComputeDomain " + domain + " or its template";
}

std::vector<std::string> NvidiaParts::lost(const std::map<std::string, KubePod>& pods) const {
  std::vector<std::string> keys;
  for (const auto& [key, pod] : objects_.all(kPods)) {
    const KubePod& mine = pods.at(uid_of(pod));
    const bool open = !mine.released && !has_gate(pod, true) && node_of(pod).empty();
    if (mine.ask == Ask::kDomain && open) keys.push_back(key);
  }
  return keys;
}

void NvidiaParts::deleting(const Object& domain, const std::map<std::string, KubePod>& pods) {
  domains_.deleting(domain);
  for (const auto& [key, pod] : objects_.all(kPods)) {
    const bool uses = domain_of(pod) == key_of(domain) && !has_gate(pod, true) && !has_ended(pod);
    if (!uses || node_of(pod).empty()) continue;
    if (pods.at(uid_of(pod)).late) continue;
    complaints_.push_back(key + " runs, and its ComputeDomain " + key_of(domain) + " is deleted");
  }
}

std::string NvidiaParts::overfull(
    const std::string& node,
    const std::vector<std::pair<std::string, const KubePod*>>& pods) const {
  std::int64_t whole = 0, slices = 0, channels = 0;
  std::set<std::string> shared;
  for (const auto& [uid, pod] : pods) {
    if (pod->ask == Ask::kDomain) ++channels;
    const Object* const object = objects_.find(kPods, pod->key);
    if (object != nullptr && claims_.has_devices_off(*object, node)) continue;
    if (pod->ask == Ask::kShared && !shared.insert(pod->job).second) continue;
    (is_slice(pod->ask) ? slices : whole) += pod->gpus;
  }
  const auto too_many = [&](std::int64_t sum, std::int64_t most, const char* what) {
    if (sum <= most) return std::string();
    return std::to_string(sum) + " of " + std::to_string(most) + " " + what + " are promised then";
  };
  std::string words = too_many(whole, devices_.most(node, false), "GPUs");
  if (words.empty()) words = too_many(slices, devices_.most(node, true), "slices");
  if (words.empty()) words = too_many(channels, 1, "channels");
  return words;
}

std::vector<std::string> NvidiaParts::complaints() const {
  std::vector<std::string> all = complaints_;
  for (const auto* more : {&devices_.complaints(), &domains_.complaints()}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

}  // namespace subak::fault
