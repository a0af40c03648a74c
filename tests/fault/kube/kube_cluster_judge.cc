// What an edge may never do to the played cluster: each of its writes is looked at as it is made.
#include <algorithm>
#include <string>

#include "kube_cluster.h"
#include "kube_objects.h"
#include "nvidia_parts.h"

namespace subak::fault {

using json_out::value;

void KubeCluster::wrote(const std::string& collection, const Object& before, const Object& after) {
  const std::string key =
      text_at(before, {"metadata", "namespace"}) + "/" + text_at(before, {"metadata", "name"});
  if (without_ours(before) != without_ours(after)) complain(key + ": a field of others is written");
  collection == kPods ? wrote_pod(before, after) : wrote_job(before, after);
}

void KubeCluster::wrote_pod(const Object& before, const Object& after) {
  KubePod& pod = pods_.at(text_at(before, {"metadata", "uid"}));
  if (!pod.queued) return complain(pod.key + " has no gate of ours and is written");
  if (without_words(before) == without_words(after)) return;
  if (!has_gate(before, true)) complain(pod.key + " is open and is written");
  if (has_gate(before, false)) complain(pod.key + " has a gate of others and is written");
  if (has_gate(after, true)) complain(pod.key + " is written and its gate stays");
  const std::string uid = text_at(before, {"metadata", "uid"});
  note_places();
  // A patch that was sent for an earlier attempt may open it.
  const auto own = taken_back_.find(uid);
  const bool late = own != taken_back_.end() && !is_marked(uid, own->second.attempt);
  if (nvidia_ && place_of(uid) && !late) {
    const std::string wrong = nvidia_->wrong_release(after, pod);
    if (!wrong.empty()) complain(pod.key + " " + wrong);
  }
  judge_fence(pod, uid, pin_of(after), late);
  pod.released = true;
  promise(pod, pin_of(after));
}

void KubeCluster::taken_back(const std::string& uid, const CorePlace& place,
                             const std::string& attempt) {
  taken_back_[uid] = {place, attempt};
}

bool KubeCluster::holds(const std::string& uid, const std::string& node) const {
  const std::optional<CorePlace> place = place_of(uid);
  return place && place->node == node;
}

bool KubeCluster::is_gated(const std::string& uid) const {
  const KubePod& pod = pods_.at(uid);
  const Object* const object = objects_.find(kPods, pod.key);
  return !pod.gone && object != nullptr && !is_going(*object) && has_gate(*object, true);
}

// Nothing that was sent for this attempt ("1-42/3") opens it any more.
bool KubeCluster::is_marked(const std::string& uid, const std::string& attempt) const {
  const Object* const object = objects_.find(kPods, pods_.at(uid).key);
  if (object == nullptr) return false;
  const std::string mark = text_at(*object, {"metadata", "annotations", names::kKeptClosed.data()});
  const std::size_t number = attempt.find('/') + 1;
  return mark.substr(0, number) == attempt.substr(0, number) &&
         std::stoul(mark.substr(number)) >= std::stoul(attempt.substr(number));
}

// Its gate is opened: for a place that is its own, so that nobody who had that before can be let go there any
// more; or too late, and then it had no mark that says so.
void KubeCluster::judge_fence(const KubePod& pod, const std::string& uid, const std::string& to,
                              bool late) {
  const std::optional<CorePlace> place = place_of(uid);
  const std::string attempt = place ? std::string() : attempt_of(uid);
  // One that needs no place of its own is opened for no attempt.
  if (!attempt.empty() && !to.empty() && is_marked(uid, attempt)) {
    complain(pod.key + " is let go for attempt " + attempt + ", and is marked");
  }
  // One that was sent for an earlier attempt, and happens to name the node of this one, is late too.
  if (!place || place->node != to || late) return;
  for (const auto& [other, before] : taken_back_) {
    const KubePod& former = pods_.at(other);
    if (other == uid || !place->overlaps(before.place) || !is_gated(other)) continue;
    const std::optional<CorePlace> has = place_of(other);
    if (has && has->overlaps(before.place)) continue;  // what took it back was forgotten in a crash
    if (is_marked(other, before.attempt) || !server_.may_let_go(former.key, place->node)) continue;
    complain(pod.key + " is let go to " + place->node + ", and nothing keeps " + former.key +
             ", which had that place before, from being let go there");
  }
}

// A hold that ends while its gate is being opened: the pod goes where the core has not put it (any
// more), and is taken back through its owner.
void KubeCluster::note_late() {
  for (auto& [uid, pod] : pods_) {
    const bool there = !pod.promised.empty() && !pod.gone && pod.ended_ms == 0;
    if (there && !pod.late && !holds(uid, pod.promised)) pod.late = true;
  }
}

// Let go to a place that is not its own any more, and on its way there: the scheduler may bind it yet.
bool KubeCluster::strays(const KubePod& pod) const {
  if (!pod.late || !pod.node.empty()) return false;
  const Object* const object = objects_.find(kPods, pod.key);
  if (object == nullptr || is_going(*object)) return false;
  const value* const conditions = find_at(*object, {"status", "conditions"});
  return conditions == nullptr || !finds_no_way(*conditions);
}

// What the core has put on a node, and we have let go there, is never more than it has; with those that we
// let go there too late.
void KubeCluster::promise(KubePod& pod, const std::string& node) {
  pod.promised = node;
  if (node.empty()) return;
  note_late();
  std::int64_t sum = 0;
  std::vector<std::pair<std::string, const KubePod*>> let_go;
  for (const auto& [uid, other] : pods_) {
    const bool there = other.node.empty() ? other.promised == node : other.node == node;
    const bool ours = !other.promised.empty() && (!other.late || strays(other));
    if (!there || !ours || other.gone || other.ended_ms != 0) continue;
    sum += other.gpus;
    let_go.emplace_back(uid, &other);
  }
  if (nvidia_) {
    const std::string words = nvidia_->overfull(node, let_go);
    if (!words.empty()) complain(pod.key + " is let go to " + node + ", where " + words);
    return;
  }
  const int most = capacity_of(static_cast<std::size_t>(std::stoi(node.substr(1))));
  if (sum > most) {
    complain(pod.key + " is let go to " + node + ", where " + std::to_string(sum) + " of " +
             std::to_string(most) + " GPUs are promised then");
  }
}

void KubeCluster::wrote_job(const Object& before, const Object& after) {
  const std::string name = text_at(before, {"metadata", "name"});
  const std::string mark = mark_of(after);
  if (suspended(after) && mark.empty()) complain(name + " is suspended without our mark");
  if (!suspended(after) && !mark.empty()) complain(name + " is resumed and keeps our mark");
  if (suspended(before) && !suspended(after) && mark_of(before).empty()) {
    complain(name + " was suspended by somebody else and is resumed");
  }
}

void KubeCluster::evict(const std::string& key) {
  const KubePod& pod = truth(key);
  if (!pod.queued) complain(key + " has never had a gate of ours and is evicted");
  const auto job = jobs_.find(pod.job);
  if (job != jobs_.end() && (job->second.gang || job->second.pods == 1)) {
    complain(key + " is evicted though its Job can be suspended");
  }
  delete_pod(key);
}

}  // namespace subak::fault
