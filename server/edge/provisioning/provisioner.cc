#include "server/edge/provisioning/provisioner.h"

#include <algorithm>
#include <utility>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/text.h"
#include "server/edge/writes/domain_state.h"
#include "server/log/log.h"

namespace subak {
namespace {

std::string key_of(const ProvisioningRequest& request) {
  return namespaced_name(request.ns, request.name);
}

std::string list_path() {
  return std::string(kProvisioningPath) + "?labelSelector=" + std::string(names::kProvisioning);
}

std::string deletion(const std::string& uid) {
  std::string out = R"({"apiVersion":"v1","kind":"DeleteOptions")";
  if (uid.empty()) return out + "}";
  out += R"(,"preconditions":{)";
  append_json_member(out, "uid", uid);
  return out + "}}";
}

std::string_view condition_of(ProvisioningState state) {
  if (state == ProvisioningState::kExpired) return "BookingExpired";
  return state == ProvisioningState::kRevoked ? "CapacityRevoked" : "Failed";
}

}  // namespace

Provisioner::Provisioner(ProvisionerPorts ports, KubeApi& api, const ClusterCache& pods,
                         RequestCache& requests)
    : ports_(std::move(ports)), api_(api), pods_(pods), requests_(requests) {}

void Provisioner::forget() {
  ++session_;
  reflector_.reset();
  requests_.clear();
  attempts_.clear();
}

bool Provisioner::is_configured() const {
  const std::shared_ptr<const View> view = ports_.view();
  const std::vector<NodePool>& pools = view->policy.queue.node_pools;
  return std::any_of(pools.begin(), pools.end(), [this](const NodePool& pool) {
    return !pool.provisioning_class.empty() &&
           (pool.cluster.empty() || pool.cluster == ports_.cluster);
  });
}

bool Provisioner::must_follow() {
  if (is_configured()) {
    is_.searched = false;
    return true;
  }
  const std::int64_t now = ports_.monotonic_ms();
  if (search_due_ms_ == 0) search_due_ms_ = now + limits::kSearchProvisioningMs;
  if (is_.searched || now < search_due_ms_) return false;
  const bool answered = reflector_ && (reflector_->listed() || !reflector_->error().empty());
  is_.searched = answered && requests_.all().empty() && attempts_.empty();
  return !is_.searched;
}

void Provisioner::follow() {
  if (!must_follow()) return reflector_.reset();
  if (reflector_) return;
  ReflectorSink sink;
  sink.begin = [this] { requests_.begin(); };
  sink.object = [this](const WatchEvent& event) {
    const std::optional<Error> error = requests_.see(event);
    if (!error) return;
    log::warn("cannot read a ProvisioningRequest",
              {{"cluster", ports_.cluster}, {"error", error->message()}});
  };
  sink.complete = [this] {
    requests_.complete();
    return true;
  };
  reflector_ = std::make_unique<Reflector>(api_, list_path(), std::move(sink),
                                           Reflector::Paces{begins_, pages_}, ports_.monotonic_ms);
  reflector_->start();
}

void Provisioner::warn_if_absent() {
  if (is_.warned || !reflector_->absent() || !is_configured()) return;
  is_.warned = true;
  log::warn(
      "a node pool has a provisioningClass, but the cluster serves no ProvisioningRequests to "
      "Subak; the demand is only in the metrics",
      {{"cluster", ports_.cluster}, {"error", reflector_->error()}});
}

void Provisioner::turn(bool writes_full) {
  is_.full = writes_full;
  follow();
  if (!reflector_) return;
  reflector_->turn();
  warn_if_absent();
  if (reflector_->listed() && !reflector_->absent()) look();
}

DurationMs Provisioner::due_in() const {
  if (!reflector_) return limits::kLoopMaxWaitMs;
  DurationMs most = std::min(reflector_->due_in(), limits::kLoopMaxWaitMs);
  if (reflector_->listed() && !is_.looking)
    most = std::min(most, look_due_ms_ - ports_.monotonic_ms());
  return std::max<DurationMs>(most, 0);
}

void Provisioner::look() {
  const std::int64_t now = ports_.monotonic_ms();
  if (is_.looking || now < look_due_ms_) return;
  look_due_ms_ = now + limits::kLookProvisioningMs;
  std::set<JobId> requested;
  for (const auto& [key, entry] : requests_.all()) requested.insert(entry.request.job);
  is_.looking = ports_.read_starts(
      [this, put = ports_.put, of = session_, cluster = ports_.cluster,
       requested = std::move(requested)](const Engine& engine, const ForecastStarts& starts) {
        put([this, of, page = read_demand(engine, starts, cluster, requested)] {
          is_.looking = false;
          if (of == session_) take(page);
        });
      });
}

void Provisioner::take(const DemandPage& page) {
  if (!page.known) return;
  ProvisioningPlan plan = plan_provisioning(page, requests_.all(), unneeded_, ports_.now_ms());
  unneeded_ = std::move(plan.unneeded);
  std::erase_if(told_, [this](const auto& one) { return !requests_.all().contains(one.first); });
  std::erase_if(attempts_, [&](const auto& one) {
    return !one.second.under_way && one.second.next_ms <= ports_.monotonic_ms() &&
           !requests_.all().contains(one.first) &&
           std::none_of(plan.make.begin(), plan.make.end(),
                        [&](const auto& make) { return key_of(make.request) == one.first; });
  });
  for (const auto& [key, entry] : requests_.all()) {
    const ProvisioningRequest& request = entry.request;
    const auto demand = std::find_if(page.jobs.begin(), page.jobs.end(),
                                     [&](const auto& d) { return d.job == request.job; });
    if (demand != page.jobs.end()) tell_state(*demand, request);
  }
  for (const ProvisioningRequest& request : plan.drop) {
    const std::string key = key_of(request);
    if (!may_begin(key)) continue;
    attempts_[key].under_way = true;
    drop_next(std::make_shared<const ProvisioningRequest>(request), 0);
  }
  for (const ProvisioningPlan::Make& make : plan.make) {
    if (may_begin(key_of(make.request))) begin_make(make);
  }
}

void Provisioner::tell_state(const NodeDemand& demand, const ProvisioningRequest& request) {
  const auto [at, is_new] = told_.try_emplace(key_of(request), ProvisioningState::kRequested);
  if (std::exchange(at->second, request.state) == request.state) return;
  const std::string name = "ProvisioningRequest " + request.name;
  if (request.state == ProvisioningState::kProvisioned) {
    ports_.tell_pod(demand.pods.front().uid, "NodesProvisioned", "WatchProvisioningRequest",
                    name + " has got its nodes; job " + text::job_id_text(request.job) +
                        " starts when they take pods",
                    false);
  } else if (has_ended(request.state)) {
    std::string note = name + " has the condition " + std::string(condition_of(request.state));
    if (!request.reason.empty()) note += " (" + request.reason + ")";
    if (!request.message.empty()) note += ": " + request.message;
    note +=
        "; Subak makes a new request after " + format_duration(provisioning_pause(request.number));
    ports_.tell_pod(demand.pods.front().uid, "NodesNotProvisioned", "WatchProvisioningRequest",
                    note, true);
  }
}

bool Provisioner::may_begin(const std::string& key) const {
  const auto open = std::count_if(attempts_.begin(), attempts_.end(),
                                  [](const auto& one) { return one.second.under_way; });
  if (is_.full || static_cast<std::size_t>(open) >= limits::kMaxProvisioningWrites) return false;
  const auto at = attempts_.find(key);
  return at == attempts_.end() ||
         (!at->second.under_way && at->second.next_ms <= ports_.monotonic_ms());
}

void Provisioner::begin_make(const ProvisioningPlan::Make& make) {
  const std::string& first = make.demand->pods.front().uid;
  const PodEntry* const pod = pods_.find_gpu_pod(first);
  if (pod == nullptr) return;
  auto making = std::make_shared<Making>();
  making->request = make.request;
  making->owner = gang_owner_of(pods_, *pod->gpu);
  if (making->owner.uid.empty()) making->owner = {"v1", "Pod", pod->name, first};
  making->pods = make.demand->pods;
  making->pool = make.demand->pool;
  attempts_[key_of(make.request)].under_way = true;
  make_next(making);
}

void Provisioner::make_next(const std::shared_ptr<Making>& making) {
  const std::size_t index = making->request.pods.size();
  if (index == making->pods.size()) return make_request(making);
  const std::string key = key_of(making->request);
  const PodEntry* const pod = pods_.find_gpu_pod(making->pods[index].uid);
  if (pod == nullptr) return done(key);
  call(key, {"GET", pod_path(pod->ns, pod->name)},
       [this, making, key](const CallAnswer& answer, std::string_view body) {
         if (answer.outcome == Outcome::kDone) return make_template(making, body);
         failed(key, answer, "cannot read a pod for a PodTemplate");
       });
}

void Provisioner::make_template(const std::shared_ptr<Making>& making, std::string_view pod) {
  ProvisioningRequest& request = making->request;
  const std::string key = key_of(request);
  const DemandedPods& of = making->pods[request.pods.size()];
  simdjson::dom::parser parser;
  json::Value object;
  const bool read = parser.parse(pod.data(), pod.size()).get(object) == simdjson::SUCCESS &&
                    json::text_in(object, "metadata", "uid") == of.uid;
  // The pod of this uid is gone, so the next look has another one.
  if (!read) return done(key);
  const auto body_of = [&](const std::string& name) {
    return pod_template_body(object, name, request, making->owner);
  };
  const Result<std::string> content = body_of("");
  if (!content) return failed(key, CallAnswer(), content.error().message());
  const std::string name = request.name + "-" + std::to_string(content_hash(*content));
  const Result<std::string> body = body_of(name);
  call(key, {"POST", pod_template_path(request.ns), *body},
       [this, making, key, name](const CallAnswer& answer, std::string_view) {
         // A template of this name has the same content.
         const bool there =
             answer.outcome == Outcome::kDone || answer.outcome == Outcome::kConflict;
         if (!there) return refused(*making, answer, "PodTemplate");
         making->request.pods.push_back({name, making->pods[making->request.pods.size()].count});
         make_next(making);
       });
}

void Provisioner::make_request(const std::shared_ptr<Making>& making) {
  const ProvisioningRequest& request = making->request;
  call(key_of(request),
       {"POST", provisioning_path(request.ns), provisioning_request_body(request, making->owner)},
       [this, making](const CallAnswer& answer, std::string_view body) {
         const ProvisioningRequest& made = making->request;
         if (answer.outcome == Outcome::kConflict) {
           return failed(key_of(made), answer, "the ProvisioningRequest exists already");
         }
         if (answer.outcome != Outcome::kDone)
           return refused(*making, answer, "ProvisioningRequest");
         see_made(body);
         std::int64_t pods = 0;
         for (const ProvisioningPods& one : made.pods) pods += one.count;
         ports_.tell_pod(making->pods.front().uid, "NodesRequested", "MakeProvisioningRequest",
                         "job " + text::job_id_text(made.job) + " waits for nodes of pool " +
                             making->pool + ": ProvisioningRequest " + made.name + " of class " +
                             made.class_name + " asks for nodes for " + std::to_string(pods) +
                             (pods == 1 ? " pod" : " pods"),
                         false);
         done(key_of(made));
       });
}

// So the next plan has the request even if the watch is late.
void Provisioner::see_made(std::string_view body) {
  simdjson::dom::parser parser;
  WatchEvent event;
  event.kind = WatchKind::kAdded;
  if (parser.parse(body.data(), body.size()).get(event.object) != simdjson::SUCCESS) return;
  requests_.see(event);
}

void Provisioner::drop_next(const std::shared_ptr<const ProvisioningRequest>& request,
                            std::size_t index) {
  const std::string key = key_of(*request);
  // A template with another name is not Subak's.
  while (index < request->pods.size() &&
         !request->pods[index].pod_template.starts_with(request->name + "-"))
    ++index;
  const bool last = index >= request->pods.size();
  KubeCall call{"DELETE",
                last ? provisioning_path(request->ns, request->name)
                     : pod_template_path(request->ns, request->pods[index].pod_template),
                deletion(last ? request->uid : "")};
  this->call(key, std::move(call),
             [this, request, index, last, key](const CallAnswer& answer, std::string_view) {
               const bool gone =
                   answer.outcome == Outcome::kDone || answer.outcome == Outcome::kNotFound;
               if (!gone) return failed(key, answer, "cannot delete a ProvisioningRequest");
               last ? done(key) : drop_next(request, index + 1);
             });
}

void Provisioner::call(const std::string& key, KubeCall call,
                       std::function<void(const CallAnswer&, std::string_view)> answered) {
  const bool asked =
      api_.call(std::move(call), [this, of = session_, answered = std::move(answered)](
                                     const CallAnswer& answer, std::string_view body) {
        if (of == session_) answered(answer, body);
      });
  if (asked) return;
  CallAnswer answer;
  answer.message = "too many calls wait";
  failed(key, answer, "cannot write to the API server");
}

// The next call waits until the watch has reported this one.
void Provisioner::done(const std::string& key) {
  Attempt& attempt = attempts_[key];
  attempt.under_way = false;
  attempt.backoff.reset();
  attempt.next_ms = ports_.monotonic_ms() + attempt.backoff.next();
}

void Provisioner::failed(const std::string& key, const CallAnswer& answer,
                         const std::string& words) {
  Attempt& attempt = attempts_[key];
  attempt.under_way = false;
  attempt.next_ms = ports_.monotonic_ms() + std::max(attempt.backoff.next(), answer.delay_ms);
  log::warn(words, {{"cluster", ports_.cluster}, {"request", key}, {"error", answer.message}});
}

void Provisioner::refused(const Making& making, const CallAnswer& answer, const std::string& what) {
  const ProvisioningRequest& request = making.request;
  failed(key_of(request), answer, "cannot make a " + what);
  const bool verdict = answer.outcome == Outcome::kRefused || answer.outcome == Outcome::kInvalid;
  if (!verdict) return;
  ports_.tell_pod(making.pods.front().uid, "NodesNotRequested", "MakeProvisioningRequest",
                  "job " + text::job_id_text(request.job) + " waits for nodes of pool " +
                      making.pool + ", but the cluster refuses the " + what + ": " + answer.message,
                  true);
}

}  // namespace subak
