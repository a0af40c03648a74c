#include "kube_cluster.h"

#include <algorithm>
#include <utility>

#include "core/duration.h"
#include "kube_objects.h"
#include "nvidia_parts.h"

namespace subak::fault {
namespace {

using json_out::array;
using json_out::value;

constexpr std::size_t kNodes = 5;
constexpr std::size_t kMostJobs = 12;
constexpr TimeMs kStart = 1'767'390'000'000;  // evening: a midnight passes
constexpr const char* kNamespaces[] = {"ns-a", "ns-a", "ns-b"};

}  // namespace

KubeCluster::KubeCluster(ApiServer& server, sim::Rng& rng, bool nvidia)
    : now(kStart), server_(server), objects_(server.objects), rng_(rng) {
  objects_.create("/api/v1/namespaces", {{"metadata", Object{{"name", "kube-system"}}}});
  if (nvidia) nvidia_ = std::make_shared<NvidiaParts>(objects_, rng_, now);
  nodes_ = nvidia ? PlayedDevices::kNodes : kNodes;
  for (std::size_t i = 0; i < nodes_; ++i) put_node(i, true, false);
  objects_.wrote = [this](const std::string& collection, const Object& before,
                          const Object& after) { wrote(collection, before, after); };
  objects_.evict = [this](const std::string& key) { evict(key); };
  if (!nvidia_) return;
  objects_.made = [this](const std::string&, const Object& object) {
    nvidia_->domains().made(object, objects_.is_late);
  };
  objects_.deleting = [this](const std::string&, const Object& object) {
    nvidia_->deleting(object, pods_);
  };
}

std::vector<std::string> KubeCluster::complaints() const {
  std::vector<std::string> all = complaints_;
  if (!nvidia_) return all;
  for (const std::string& one : nvidia_->complaints()) all.push_back(one);
  return all;
}

// Nodes whose labels or resources have changed by themselves.
void KubeCluster::renew_nodes() {
  for (std::size_t i = 0; i < nodes_; ++i) {
    const Object* const node = objects_.find(kNodesOf, "/" + PlayedDevices::name_of(i));
    if (node == nullptr || !nvidia_->devices().take_changed(i)) continue;
    put_node(i, true, node->at("spec").at("unschedulable").as_bool());
  }
}

KubePod& KubeCluster::truth(const std::string& key) {
  return pods_.at(text_at(*objects_.find(kPods, key), {"metadata", "uid"}));
}

std::int64_t KubeCluster::free_gpus(const std::string& node) const {
  std::int64_t left = capacity_of(static_cast<std::size_t>(std::stoi(node.substr(1))));
  for (const auto& [uid, pod] : pods_) {
    if (pod.node == node && pod.ended_ms == 0 && !pod.gone) left -= pod.gpus;
  }
  return left;
}

std::string KubeCluster::some(const std::string& collection) {
  const auto& all = objects_.all(collection);
  if (all.empty()) return {};
  return std::next(all.begin(), static_cast<std::ptrdiff_t>(rng_.below(all.size())))->first;
}

void KubeCluster::put_node(std::size_t i, bool ready, bool cordoned) {
  const std::string name = "n" + std::to_string(i);
  const std::string gpus = std::to_string(capacity_of(i));
  const Object room{{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}, {"nvidia.com/gpu", gpus}};
  Object node{{"metadata",
               Object{{"name", name},
                      {"labels", Object{{"nvidia.com/gpu.product", i % 3 == 2 ? "A100" : "H100"},
                                        {"nvidia.com/gpu.count", gpus}}}}},
              {"spec", Object{{"unschedulable", cordoned}}},
              {"status", Object{{"capacity", room},
                                {"allocatable", room},
                                {"conditions", array{Object{{"type", "Ready"},
                                                            {"status", ready ? "True" : "False"},
                                                            {"lastTransitionTime", time()}}}}}}};
  const std::string key = "/" + name;
  if (nvidia_ && objects_.find(kNodesOf, key) == nullptr) nvidia_->devices().node_back(i);
  if (nvidia_) nvidia_->devices().write(i, node);
  if (Object* const known = objects_.find(kNodesOf, key)) {
    node["metadata"].as_object()["uid"] = text_at(*known, {"metadata", "uid"});
    *known = std::move(node);
    objects_.changed(kNodesOf, key);
  } else {
    objects_.create(kNodesOf, std::move(node));
  }
}

void KubeCluster::create_job() {
  KubeJob job;
  job.ns = kNamespaces[rng_.below(std::size(kNamespaces))];
  job.pods = rng_.percent(50) ? 1 : static_cast<std::uint32_t>(rng_.between(2, 4));
  job.gang = job.pods > 1 && rng_.percent(70);
  constexpr std::int64_t kSizes[] = {1, 1, 2, 4};
  job.gpus = kSizes[rng_.below(std::size(kSizes))];
  job.foreign_gate = troubles.others && rng_.percent(15);
  const std::string name = "job-" + std::to_string(++serial_);
  if (nvidia_) nvidia_->plan(name, job);
  objects_.create(
      kJobs,
      Object{{"metadata", Object{{"name", name}, {"namespace", job.ns}}},
             {"spec",
              Object{{"parallelism", job.pods}, {"completions", job.pods}, {"suspend", false}}}});
  const std::string key = job.ns + "/" + name;
  jobs_[key] = job;
  if (rng_.percent(50)) control(key);
}

void KubeCluster::create_pod(const std::string& key, std::uint32_t rank) {
  const KubeJob& job = jobs_.at(key);
  const Object& owner = *objects_.find(kJobs, key);
  const std::string owner_name = text_at(owner, {"metadata", "name"});
  const std::string owner_uid = text_at(owner, {"metadata", "uid"});
  const std::string index = std::to_string(rank);
  Object labels{{"batch.kubernetes.io/job-name", owner_name},
                {"batch.kubernetes.io/controller-uid", owner_uid},
                {"batch.kubernetes.io/job-completion-index", index}};
  if (job.gang) labels["subak.gpu/gang-size"] = std::to_string(job.pods);
  array gates{Object{{"name", kGate}}};
  if (job.foreign_gate) gates.push_back(Object{{"name", "other.io/wait"}});
  const std::string name = owner_name + "-" + index + "-" + std::to_string(++serial_);
  Object limits{{"nvidia.com/gpu", std::to_string(job.gpus)}};
  Object pod{
      {"metadata",
       Object{{"name", name},
              {"namespace", job.ns},
              {"creationTimestamp", time()},
              {"labels", labels},
              {"annotations", Object{{"batch.kubernetes.io/job-completion-index", index}}},
              {"ownerReferences", array{Object{{"apiVersion", "batch/v1"},
                                               {"kind", "Job"},
                                               {"name", owner_name},
                                               {"uid", owner_uid},
                                               {"controller", true}}}}}},
      {"spec", Object{{"schedulingGates", gates},
                      {"containers",
                       array{Object{{"name", "c"}, {"resources", Object{{"limits", limits}}}}}}}},
      {"status", Object{{"phase", "Pending"}}}};
  if (nvidia_) NvidiaParts::add(job, owner_name, rank, pod);
  KubePod& mine = pods_[objects_.create(kPods, std::move(pod))];
  mine.key = job.ns + "/" + name;
  mine.job = key;
  mine.gpus = job.gpus;
  mine.ask = job.ask;
  mine.queued = true;
  mine.foreign = job.foreign_gate;
}

// A pod of a namespace that nobody manages, or of one that is only observed: no gate.
void KubeCluster::create_other() {
  const std::string ns = rng_.percent(50) ? "nobodys" : "ns-seen";
  const std::string name = "other-" + std::to_string(++serial_);
  KubeJob alone;
  alone.ns = ns;
  alone.gpus = rng_.between(1, 2);
  Object limits{{"nvidia.com/gpu", std::to_string(alone.gpus)}};
  Object pod{
      {"metadata", Object{{"name", name}, {"namespace", ns}, {"creationTimestamp", time()}}},
      {"spec", Object{{"containers",
                       array{Object{{"name", "c"}, {"resources", Object{{"limits", limits}}}}}}}},
      {"status", Object{{"phase", "Pending"}}}};
  if (nvidia_) nvidia_->plan_other(name, alone, pod);
  KubePod& mine = pods_[objects_.create(kPods, std::move(pod))];
  mine.key = ns + "/" + name;
  mine.gpus = alone.gpus;
  mine.ask = alone.ask;
}

void KubeCluster::control(const std::string& key) {
  const Object* const job = objects_.find(kJobs, key);
  if (job == nullptr) return;
  KubeJob& mine = jobs_.at(key);
  std::set<std::uint32_t> there;
  std::vector<std::string> live;
  for (const auto& [name, pod] : objects_.all(kPods)) {
    if (pods_.at(text_at(pod, {"metadata", "uid"})).job != key || has_ended(pod)) continue;
    live.push_back(name);
    if (is_going(pod)) continue;
    there.insert(static_cast<std::uint32_t>(std::stoul(
        text_at(pod, {"metadata", "labels", "batch.kubernetes.io/job-completion-index"}))));
  }
  if (suspended(*job)) {
    for (const std::string& name : live) delete_pod(name);
    return;
  }
  mine.finished = mine.succeeded.size() == mine.pods;
  for (std::uint32_t rank = 0; rank < mine.pods; ++rank) {
    if (!there.contains(rank) && !mine.succeeded.contains(rank)) create_pod(key, rank);
  }
}

// kube-scheduler: a pod without gates goes where its affinity lets it.
void KubeCluster::schedule(const std::string& key) {
  Object& pod = *objects_.find(kPods, key);
  if (has_gate(pod, true) || has_gate(pod, false) || !node_of(pod).empty() || is_going(pod)) return;
  KubePod& mine = truth(key);
  const std::string pin = pin_of(pod);
  Object condition{{"type", "PodScheduled"},
                   {"status", "False"},
                   {"reason", "Unschedulable"},
                   {"message", "0/5 nodes are available"},
                   {"lastTransitionTime", time()}};
  const bool unlucky = troubles.rejects && rng_.percent(20);
  for (const auto& [name, node] : objects_.all(kNodesOf)) {
    const std::string at = name.substr(1);
    const bool room = nvidia_ ? nvidia_->has_room(pod, mine, at) : free_gpus(at) >= mine.gpus;
    const bool well = !node.at("spec").at("unschedulable").as_bool() &&
                      node.at("status").at("conditions").at(0).at("status") == "True";
    if (unlucky || !well || (!pin.empty() && pin != at) || !room) continue;
    if (nvidia_) nvidia_->bound(pod, mine, at);
    pod["spec"].as_object()["nodeName"] = at;
    condition["status"] = "True";
    condition.erase("reason");
    condition.erase("message");
    note_late();
    mine.node = at;
    mine.bound_ms = now / kSecondMs * kSecondMs;
    break;
  }
  Object& status = pod["status"].as_object();
  const value conditions = array{condition};
  if (mine.node.empty() && status.contains("conditions")) return;
  status["conditions"] = conditions;
  objects_.changed(kPods, key);
}

void KubeCluster::kubelet(const std::string& key) {
  Object& pod = *objects_.find(kPods, key);
  if (has_ended(pod)) return remove_pod(key);
  if (is_going(pod)) {
    end(key, "Failed");
    if (rng_.percent(50)) remove_pod(key);
    return;
  }
  Object& status = pod["status"].as_object();
  if (phase_of(pod) == "Pending") {
    if (troubles.rejects && rng_.percent(15)) {
      status["phase"] = "Failed";
      status["reason"] = "UnexpectedAdmissionError";
      KubePod& mine = truth(key);
      mine.ended_ms = now / kSecondMs * kSecondMs;
      if (nvidia_) nvidia_->ended(uid_of(*objects_.find(kPods, key)));
      return objects_.changed(kPods, key);
    }
    status["phase"] = "Running";
    status["containerStatuses"] =
        array{Object{{"state", Object{{"running", Object{{"startedAt", time()}}}}}}};
    return objects_.changed(kPods, key);
  }
  if (rng_.percent(25)) end(key, rng_.percent(85) ? "Succeeded" : "Failed");
}

void KubeCluster::end(const std::string& key, const char* phase) {
  Object& pod = *objects_.find(kPods, key);
  KubePod& mine = truth(key);
  Object& status = pod["status"].as_object();
  status["phase"] = phase;
  status["containerStatuses"] =
      array{Object{{"state", Object{{"terminated", Object{{"finishedAt", time()}}}}}}};
  mine.ended_ms = now / kSecondMs * kSecondMs;
  mine.seen_end = true;
  if (nvidia_) nvidia_->ended(uid_of(*objects_.find(kPods, key)));
  if (std::string_view(phase) == "Succeeded" && !mine.job.empty()) {
    jobs_.at(mine.job).succeeded.insert(static_cast<std::uint32_t>(std::stoul(
        text_at(pod, {"metadata", "labels", "batch.kubernetes.io/job-completion-index"}))));
  }
  objects_.changed(kPods, key);
}

void KubeCluster::remove_pod(const std::string& key) {
  KubePod& mine = truth(key);
  mine.gone = true;
  if (nvidia_) nvidia_->ended(uid_of(*objects_.find(kPods, key)));
  if (mine.ended_ms == 0) mine.ended_ms = now / kSecondMs * kSecondMs;
  objects_.remove(kPods, key);
}

// As the API server: what has no node goes at once, what has one when its kubelet is done with it.
void KubeCluster::delete_pod(const std::string& key) {
  Object& pod = *objects_.find(kPods, key);
  if (node_of(pod).empty() || has_ended(pod)) return remove_pod(key);
  if (is_going(pod)) return;
  constexpr int kGraceS = 30;
  Object& metadata = pod["metadata"].as_object();
  metadata["deletionTimestamp"] = format_time((now / kSecondMs + kGraceS) * kSecondMs);
  metadata["deletionGracePeriodSeconds"] = kGraceS;
  objects_.changed(kPods, key);
}

void KubeCluster::node_event() {
  const std::size_t i = rng_.below(nodes_);
  const std::string name = "n" + std::to_string(i);
  const bool there = objects_.find(kNodesOf, "/" + name) != nullptr;
  if (!there || !rng_.percent(25)) return put_node(i, rng_.percent(70), rng_.percent(20));
  objects_.remove(kNodesOf, "/" + name);
  if (nvidia_) nvidia_->devices().node_gone(i);
  std::vector<std::string> lost;
  for (const auto& [key, pod] : objects_.all(kPods)) {
    if (node_of(pod) == name) lost.push_back(key);
  }
  for (const std::string& key : lost) remove_pod(key);
}

void KubeCluster::people() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 40) {
    const std::string key = some(kPods);
    if (!key.empty()) troubles.vanish&& rng_.percent(30) ? remove_pod(key) : delete_pod(key);
  } else if (dice < 60) {
    const std::string key = some(kPods);
    Object* const pod = key.empty() ? nullptr : objects_.find(kPods, key);
    if (pod == nullptr || !has_gate(*pod, true)) return;
    (*pod)["spec"].as_object()["schedulingGates"] = array{};
    objects_.changed(kPods, key);
  } else if (const std::string key = some(kJobs); !key.empty()) {
    Object& job = *objects_.find(kJobs, key);
    job["spec"].as_object()["suspend"] = !suspended(job);
    objects_.changed(kJobs, key);
  }
}

void KubeCluster::act() {
  if (nvidia_ && rng_.percent(40)) {
    nvidia_->act(troubles.people);
    return renew_nodes();
  }
  const std::uint64_t dice = rng_.below(100);
  if (dice < 8) {
    if (objects_.all(kJobs).size() < kMostJobs) create_job();
  } else if (dice < 12) {
    if (troubles.others && pods_.size() < 200) create_other();
  } else if (dice < 16) {
    if (troubles.nodes) node_event();
  } else if (dice < 20) {
    if (troubles.people) people();
  } else if (dice < 45) {
    if (const std::string key = some(kJobs); !key.empty()) control(key);
  } else if (const std::string key = some(kPods); !key.empty()) {
    node_of(*objects_.find(kPods, key)).empty() ? schedule(key) : kubelet(key);
  }
  if (dice == 99) {
    for (const auto& [key, job] : jobs_) {
      if (job.finished && objects_.find(kJobs, key) != nullptr) return objects_.remove(kJobs, key);
    }
  }
}

// --- the end -------------------------------------------------------------------------------------

void KubeCluster::heal() {
  troubles = {};
  if (nvidia_) nvidia_->heal();
  for (std::size_t i = 0; i < nodes_; ++i) put_node(i, true, false);
  for (auto& [key, job] : objects_.all(kJobs)) {
    if (!suspended(job) || mark_of(job) == "taken-back") continue;
    job["spec"].as_object()["suspend"] = false;
    objects_.changed(kJobs, key);
  }
  std::vector<std::string> held;
  for (auto& [key, pod] : objects_.all(kPods)) {
    if (has_gate(pod, false)) held.push_back(key);
  }
  for (const std::string& key : held) {  // their gates are opened by whom they are of
    Object& pod = *objects_.find(kPods, key);
    pod["spec"].as_object()["schedulingGates"] =
        has_gate(pod, true) ? array{Object{{"name", kGate}}} : array{};
    objects_.changed(kPods, key);
  }
  for (auto& [key, job] : jobs_) job.foreign_gate = false;
}

void KubeCluster::progress() {
  std::vector<std::string> keys;
  if (nvidia_) nvidia_->progress();
  if (nvidia_) renew_nodes();
  for (const auto& [key, job] : objects_.all(kJobs)) keys.push_back(key);
  for (const std::string& key : keys) control(key);
  keys.clear();
  for (const auto& [key, pod] : objects_.all(kPods)) keys.push_back(key);
  for (const std::string& key : keys) {
    node_of(*objects_.find(kPods, key)).empty() ? schedule(key) : kubelet(key);
  }
  if (nvidia_) nvidia_->claims().control();
}

void KubeCluster::give_up() {
  if (nvidia_) {
    for (const std::string& key : nvidia_->lost(pods_)) delete_pod(key);
  }
  for (auto& [key, job] : jobs_) {
    const bool stuck = job.gang && !job.succeeded.empty();
    if (job.finished || (!stuck && job.ask != Ask::kNever)) continue;
    job.finished = true;
    if (objects_.find(kJobs, key) != nullptr) objects_.remove(kJobs, key);
    std::vector<std::string> pods;
    for (const auto& [name, pod] : objects_.all(kPods)) {
      if (truth(name).job == key) pods.push_back(name);
    }
    for (const std::string& name : pods) delete_pod(name);
  }
}

std::string KubeCluster::unfinished() const {
  std::string all;
  if (nvidia_) all = nvidia_->unfinished();
  for (const auto& [key, pod] : objects_.all(kPods)) {
    all += " pod " + key + " " + phase_of(pod) + (has_gate(pod, true) ? " gated" : "") + " " +
           pin_of(pod) + " asks " + std::to_string(static_cast<int>(pods_.at(uid_of(pod)).ask));
  }
  for (const auto& [key, job] : objects_.all(kJobs)) {
    if (jobs_.at(key).finished) continue;
    all += " " + key + (suspended(job) ? " suspended " + mark_of(job) : "");
  }
  return all;
}

}  // namespace subak::fault
