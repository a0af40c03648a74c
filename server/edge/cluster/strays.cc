#include "server/edge/cluster/strays.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/limits.h"

namespace subak {
namespace {

// Returns the uids of jobs that wait outside enforce, in the order of the queue.
std::vector<std::string> in_share_order(const Engine& engine, const std::string& name) {
  constexpr std::size_t kAhead = 10 * limits::kOpenedPerSecond;
  std::vector<std::string> uids;
  const std::shared_ptr<const View> view = engine.view();
  const ClusterView* const cluster = view->cluster(name);
  if (cluster == nullptr) return uids;
  for (const JobId id : engine.queue_order(SIZE_MAX)) {
    if (uids.size() >= kAhead) break;
    if (id.cluster() != cluster->id) continue;
    const std::optional<JobRow> job = engine.job(id, true);
    if (!job || job->pods.empty()) continue;
    const std::string& pod = job->pods.front().name;
    if (cluster->mode_of(pod.substr(0, pod.find('/'))) == Mode::kEnforce) continue;
    for (const PodRow& row : job->pods) uids.push_back(row.uid);
  }
  return uids;
}

}  // namespace

DurationMs Strays::due_in() const {
  if (strays_.empty()) return limits::kLoopMaxWaitMs;
  return wait_until(due_ms_, context_.ports.monotonic_ms());
}

// A pod without GPUs was gated by mistake in any mode, unless it must wait before the core gets it.
bool Strays::is_stray(const std::string& uid, const ClusterView& cluster) const {
  const PodEntry* const pod = context_.cache.find_gpu_pod(uid);
  if (pod == nullptr || !pod->gpu->gated || pod->gpu->foreign_gates) return false;
  if (!pod->gpu->asks_gpu) return !pod->gpu->claims.waits.any();
  return cluster.mode_of(pod->ns) != Mode::kEnforce;
}

// Finds stray pods: first those without a job, then the others in share order.
void Strays::find(const ClusterView& cluster) {
  std::vector<std::string> all;
  for (const std::string& uid : context_.cache.marks().gated()) {
    if (is_stray(uid, cluster)) all.push_back(uid);
  }
  if (all.empty()) return;
  finding_ = context_.ports.read_expensive([this, to = context_.inbox, of = session_.number(),
                                            name = context_.options.cluster,
                                            all = std::move(all)](const Engine& engine) {
    to->put([this, of, all, order = in_share_order(engine, name)] {
      finding_ = false;
      if (of != session_.number()) return;
      const std::set<std::string> queued(order.begin(), order.end());
      for (const std::string& uid : all) {
        if (!queued.contains(uid)) strays_.push_back(uid);
      }
      strays_.insert(strays_.end(), order.begin(), order.end());
    });
  });
}

// Opens Subak's gate outside enforce, and names no node. That is the only write there.
void Strays::open() {
  constexpr DurationMs kBetweenMs = kSecondMs / limits::kOpenedPerSecond;
  const std::int64_t now = context_.ports.monotonic_ms();
  if (now < due_ms_ || context_.cache.marks().gated().empty()) return;
  due_ms_ = now + kBetweenMs;
  const std::shared_ptr<const View> view = context_.ports.view();
  const ClusterView* const cluster = view->cluster(context_.options.cluster);
  if (cluster == nullptr) return;
  if (strays_.empty() && !finding_) {
    find(*cluster);
    if (!finding_) due_ms_ = now + kSecondMs;
  }
  for (; !strays_.empty(); strays_.pop_front()) {
    const std::string uid = strays_.front();
    const auto attempt = writes_.writer().attempts().find(uid);
    const bool waits = attempt != writes_.writer().attempts().end() &&
                       (attempt->second.under_way || attempt->second.next_ms > now);
    if (waits || !is_stray(uid, *cluster)) continue;
    if (writes_.is_full()) return;
    writes_.writer().begin({WriteKind::kRelease, uid, {}, "", Cause::kNone, 0, 1});
    return strays_.pop_front();
  }
}

}  // namespace subak
