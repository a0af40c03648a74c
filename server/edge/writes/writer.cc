#include "server/edge/writes/writer.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/names.h"
#include "kube/json.h"
#include "server/edge/writes/domain_state.h"

namespace subak {
namespace {

bool is_of_pod(WriteKind kind) {
  return kind == WriteKind::kRelease || kind == WriteKind::kKeep || kind == WriteKind::kEvict;
}

bool is_of_domain(WriteKind kind) {
  return kind == WriteKind::kMakeDomain || kind == WriteKind::kDropDomain;
}

// Returns the key of the ComputeDomain in drop_domain_id().
std::string key_in(const std::string& id) { return id.substr(id.find(' ') + 1); }

CallAnswer refusal_of(std::string message) {
  CallAnswer answer;
  answer.outcome = Outcome::kRefused;
  answer.message = std::move(message);
  return answer;
}

std::string as_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string eviction_of(const PodEntry& pod, const std::string& uid) {
  return R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":)" +
         as_json(pod.ns) + R"(,"name":)" + as_json(pod.name) +
         R"(},"deleteOptions":{"preconditions":{"uid":)" + as_json(uid) + "}}}";
}

// A JSON merge patch (RFC 7386); uid and version in it are preconditions (409 if they differ).
std::string suspension_of(const OwnerEntry& owner, const std::string& uid, const std::string& mark,
                          bool suspended) {
  return R"({"metadata":{"uid":)" + as_json(uid) + R"(,"resourceVersion":)" +
         as_json(owner.resource_version) + R"(,"annotations":{)" + as_json(names::kSuspendedBy) +
         ":" + mark + R"(}},"spec":)" + suspension_patch(owner.row->suspend, suspended) + "}";
}

std::string mark_of(const GpuPodEntry& pod, const KubeWrite& write) {
  return R"({"metadata":{"uid":)" + as_json(write.uid) + R"(,"resourceVersion":)" +
         as_json(pod.release.resource_version) + R"(,"annotations":{)" +
         as_json(names::kKeptClosed) + ":" + as_json(kept_closed_mark(write.job, write.attempt)) +
         "}}}";
}

// True if the API server has judged the write itself, and would judge it the same way again.
bool is_verdict(const CallAnswer& answer) { return answer.outcome == Outcome::kRefused; }

// True if an eviction was refused. It names no version, so only rules decide. 429 comes from a
// disruption budget.
bool is_no_to_end(const CallAnswer& answer) {
  return is_verdict(answer) || answer.outcome == Outcome::kInvalid ||
         answer.outcome == Outcome::kLater;
}

}  // namespace

Writer::Writer(KubeApi& api, const ClusterCache& cache, WriterHooks hooks, bool protects_gangs)
    : api_(api), cache_(cache), hooks_(std::move(hooks)), protects_gangs_(protects_gangs) {}

void Writer::begin(const KubeWrite& write) {
  const bool there = is_of_pod(write.kind)      ? cache_.find_gpu_pod(write.uid) != nullptr
                     : is_of_domain(write.kind) ? true
                                                : cache_.owners().find(write.uid) != nullptr;
  if (!there) return;
  if (attempts_.size() >= sweep_at_) {
    forget_gone();
    sweep_at_ = std::max(kFirstSweep, 2 * attempts_.size());
  }
  switch (write.kind) {
    case WriteKind::kRelease:
      return release(write);
    case WriteKind::kKeep:
      return keep_closed(write);
    case WriteKind::kEvict:
      return evict(write);
    case WriteKind::kSuspend:
      return set_suspended(write, true);
    case WriteKind::kResume:
      return set_suspended(write, false);
    case WriteKind::kMakeDomain:
      return make_domain(write);
    case WriteKind::kDropDomain:
      return drop_domain(write);
  }
}

void Writer::release(const KubeWrite& write) {
  const PodEntry& pod = *cache_.find_gpu_pod(write.uid);
  if (!pod.gpu->gated) return;
  const std::string status = write.node.empty() ? "Starting: the scheduler chooses the node"
                                                : "Starting on node " + write.node;
  const bool protect = protects_gangs_ && write.pods > 1;
  Release release{write.node, status, protect};
  const ProvisioningRequest* const request =
      hooks_.provisioned && write.job ? hooks_.provisioned(write.job, pod.ns) : nullptr;
  if (request != nullptr) {
    release.request = request->name;
    release.request_class = request->class_name;
  }
  const Result<std::string> patch = release_patch(pod.gpu->release, release);
  if (!patch) return refuse(write, refusal_of(patch.error().message()));
  KubeCall call{"PATCH", pod_path(pod.ns, pod.name), *patch, "application/json-patch+json"};
  const std::string version = pod.gpu->release.resource_version;
  send(write, std::move(call), version);
}

void Writer::keep_closed(const KubeWrite& write) {
  const PodEntry& pod = *cache_.find_gpu_pod(write.uid);
  if (!pod.gpu->gated) return;
  KubeCall call{"PATCH", pod_path(pod.ns, pod.name), mark_of(*pod.gpu, write),
                "application/merge-patch+json"};
  send(write, std::move(call), pod.gpu->release.resource_version);
}

void Writer::evict(const KubeWrite& write) {
  const PodEntry& pod = *cache_.find_gpu_pod(write.uid);
  KubeCall call{"POST", pod_path(pod.ns, pod.name) + "/eviction", eviction_of(pod, write.uid)};
  this->call(write, std::move(call), [this, write](const CallAnswer& answer, std::string_view) {
    if (is_no_to_end(answer)) return refuse(write, answer);
    if (answer.outcome == Outcome::kDone) {
      attempts_[write.uid].refused_since_ms = 0;
      hooks_.done(write);
    }
    pause(write.uid, answer.delay_ms);  // the watch reports when the pod is gone
  });
}

void Writer::set_suspended(const KubeWrite& write, bool suspended) {
  const OwnerEntry& owner = *cache_.owners().find(write.uid);
  const std::string_view mark = comes_back(write.cause) ? kMarkTakenBack : kMarkCancelled;
  KubeCall call{"PATCH", owner.path(),
                suspension_of(owner, write.uid, suspended ? as_json(mark) : "null", suspended),
                "application/merge-patch+json"};
  send(write, std::move(call), owner.resource_version);
}

void Writer::make_domain(const KubeWrite& write) {
  const PodEntry* const pod = cache_.find_gpu_pod(write.pod);
  if (pod == nullptr || pod->gpu->claims.domain.empty()) return;
  const std::string key = pod->gpu->claims.domain;
  if (write.pods > kMaxDomainNodes) {
    return refuse(
        write, refusal_of("ComputeDomain " + key + ": the gang has " + std::to_string(write.pods) +
                          " pods, want at most " + std::to_string(kMaxDomainNodes) +
                          ", since each needs a node of its own in one IMEX domain"));
  }
  const DomainCheck check = check_domain(cache_, key, write.job, write.attempt);
  if (check.step == DomainStep::kOpen) return;
  if (check.step == DomainStep::kWait) return refuse(write, refusal_of(check.why));
  const std::string name = key.substr(key.find('/') + 1);
  KubeCall call{"POST", domain_path(key, false),
                compute_domain_body(pod->ns, name, write.job, write.attempt,
                                    gang_owner_of(cache_, *pod->gpu))};
  this->call(write, std::move(call),
             [this, write, key](const CallAnswer& answer, std::string_view body) {
               take_made_domain(write, key, answer, body);
             });
}

// A repeated POST finds the object of the first one, so no ComputeDomain is made twice.
void Writer::take_made_domain(const KubeWrite& write, const std::string& key,
                              const CallAnswer& answer, std::string_view body) {
  switch (answer.outcome) {
    case Outcome::kDone:
      hooks_.done(write);
      attempts_.erase(write.uid);
      return take_object(write, body);
    case Outcome::kConflict:
    case Outcome::kUnknown:
      return read_domain(write, key);
    case Outcome::kNotFound:
      return refuse(write, refusal_of("ComputeDomain " + key +
                                      ": the cluster has no computedomains.resource.nvidia.com, or "
                                      "no such namespace: " +
                                      answer.message));
    case Outcome::kRefused:
    case Outcome::kInvalid:
      return refuse(write, refusal_of("ComputeDomain " + key + ": " + answer.message));
    default:
      return pause(write.uid, answer.delay_ms);
  }
}

void Writer::drop_domain(const KubeWrite& write) {
  const std::string key = key_in(write.uid);
  const DomainCache::Entry* const entry = cache_.domains().find(key);
  if (entry == nullptr || entry->object.going) return;
  KubeCall call{"DELETE", domain_path(key, true),
                R"({"preconditions":{"uid":)" + as_json(entry->object.uid) + "}}"};
  this->call(write, std::move(call),
             [this, write, key](const CallAnswer& answer, std::string_view) {
               if (is_verdict(answer)) return refuse(write, answer);
               if (answer.outcome == Outcome::kDone) hooks_.done(write);
               read_domain(write, key);
             });
}

void Writer::read_domain(const KubeWrite& write, const std::string& key) {
  call(write, {"GET", domain_path(key, true)},
       [this, write, key](const CallAnswer& answer, std::string_view body) {
         if (answer.outcome == Outcome::kDone) take_object(write, body);
         if (answer.outcome == Outcome::kNotFound) hooks_.forget_domain(key);
         const bool known =
             answer.outcome == Outcome::kDone || answer.outcome == Outcome::kNotFound;
         if (known && write.kind == WriteKind::kDropDomain) {
           attempts_.erase(write.uid);
         } else {
           pause(write.uid, answer.delay_ms);
         }
       });
}

// Sends a write that names the version that it was made for.
void Writer::send(const KubeWrite& write, KubeCall call, const std::string& version) {
  this->call(write, std::move(call),
             [this, write, version](const CallAnswer& answer, std::string_view body) {
               if (answer.outcome == Outcome::kDone) hooks_.done(write);
               settle(write, version, answer, body);
             });
}

void Writer::call(const KubeWrite& write, KubeCall call,
                  std::function<void(const CallAnswer&, std::string_view body)> answered) {
  ++under_way_;
  attempts_[write.uid].under_way = true;
  const bool asked =
      api_.call(std::move(call), [this, uid = write.uid, answered = std::move(answered)](
                                     const CallAnswer& answer, std::string_view body) {
        --under_way_;
        attempts_[uid].under_way = false;
        answered(answer, body);
      });
  if (asked) return;
  --under_way_;
  attempts_[write.uid].under_way = false;
  pause(write.uid, 0);
}

// Handles the answer to a write that names the version that it was made for.
void Writer::settle(const KubeWrite& write, const std::string& version, const CallAnswer& answer,
                    std::string_view body) {
  switch (answer.outcome) {
    case Outcome::kDone:
      attempts_.erase(write.uid);
      return take_object(write, body);
    case Outcome::kConflict:
    case Outcome::kInvalid:
    case Outcome::kUnknown:
      return read_again(write, version, answer);
    default:
      break;
  }
  if (is_verdict(answer)) return refuse(write, answer);
  pause(write.uid, answer.delay_ms);
}

// Reads the object: a test of the patch failed, or the outcome is unknown. If the object is
// unchanged after a failed test, the API server refuses the patch itself.
void Writer::read_again(const KubeWrite& write, const std::string& version, const CallAnswer& why) {
  const std::string path = path_of(write);
  if (path.empty()) return pause(write.uid, 0);
  call(write, {"GET", path},
       [this, write, version, why](const CallAnswer& answer, std::string_view body) {
         if (answer.outcome == Outcome::kDone) take_object(write, body);
         const bool same = answer.outcome == Outcome::kDone && version_of(write) == version;
         if (same && why.outcome == Outcome::kInvalid) return refuse(write, why);
         pause(write.uid, answer.delay_ms);
       });
}

void Writer::refuse(const KubeWrite& write, const CallAnswer& answer) {
  Attempt& attempt = attempts_[write.uid];
  const std::int64_t now = hooks_.monotonic_ms();
  if (attempt.refused_since_ms == 0) attempt.refused_since_ms = now;
  const bool long_enough = now - attempt.refused_since_ms >= limits::kReleaseRefusedMs;
  // A pod whose gate could not be opened does not get the mark either. Other pods must not wait
  // equally long for the same refusal.
  const bool known = write.kind == WriteKind::kKeep && attempt.release_given_up;
  pause(write.uid, answer.delay_ms);
  if (write.kind == WriteKind::kResume || !(long_enough || known)) return;
  attempt.refused_since_ms = 0;
  if (write.kind == WriteKind::kRelease) attempt.release_given_up = true;
  hooks_.give_up(write, answer);
}

void Writer::pause(const std::string& uid, DurationMs at_least) {
  Attempt& attempt = attempts_[uid];
  attempt.next_ms = hooks_.monotonic_ms() + std::max(attempt.backoff.next(), at_least);
}

void Writer::take_object(const KubeWrite& write, std::string_view body) {
  simdjson::dom::parser parser;
  json::Value object;
  if (parser.parse(body.data(), body.size()).get(object) != simdjson::SUCCESS) return;
  if (is_of_pod(write.kind)) return hooks_.see_pod(object);
  if (is_of_domain(write.kind)) return hooks_.see_domain(object);
  const OwnerEntry* const owner = cache_.owners().find(write.uid);
  if (owner != nullptr) hooks_.see_owner(object, std::string(owner->collection));
}

std::string Writer::path_of(const KubeWrite& write) const {
  if (is_of_pod(write.kind)) {
    const PodEntry* const pod = cache_.find_gpu_pod(write.uid);
    return pod == nullptr ? std::string() : pod_path(pod->ns, pod->name);
  }
  const OwnerEntry* const owner = cache_.owners().find(write.uid);
  return owner == nullptr ? std::string() : owner->path();
}

std::string Writer::version_of(const KubeWrite& write) const {
  if (is_of_pod(write.kind)) {
    const PodEntry* const pod = cache_.find_gpu_pod(write.uid);
    return pod == nullptr ? std::string() : pod->gpu->release.resource_version;
  }
  const OwnerEntry* const owner = cache_.owners().find(write.uid);
  return owner == nullptr ? std::string() : owner->resource_version;
}

void Writer::forget_gone() {
  // An attempt on a ComputeDomain is forgotten some time after its pause, in which the plan would
  // have tried again.
  const std::int64_t old_ms = hooks_.monotonic_ms() - 2 * limits::kReleaseRefusedMs;
  std::erase_if(attempts_, [&](const auto& entry) {
    const auto& [id, attempt] = entry;
    const bool of_domain = id.find(' ') != std::string::npos;
    return !attempt.under_way && cache_.find_gpu_pod(id) == nullptr &&
           cache_.owners().find(id) == nullptr && !(of_domain && attempt.next_ms > old_ms);
  });
}

}  // namespace subak
