#include "server/edge/writes/fence.h"

#include <charconv>
#include <string_view>

#include "core/text.h"

namespace subak {
namespace {

// True if the pod was marked when this attempt, or a later one, had been revoked.
bool is_marked(const GpuPodEntry& pod, const Fence::Guarded& guarded) {
  const std::string_view mark = pod.kept_closed;
  const std::string of_job = text::job_id_text(guarded.job) + "/";
  if (!mark.starts_with(of_job)) return false;
  std::uint32_t attempt = 0;
  const char* const end = mark.data() + mark.size();
  const auto read = std::from_chars(mark.data() + of_job.size(), end, attempt);
  return read.ec == std::errc() && read.ptr == end && attempt >= guarded.attempt;
}

}  // namespace

std::string kept_closed_mark(JobId job, std::uint32_t attempt) {
  return text::job_id_text(job) + "/" + std::to_string(attempt);
}

void Fence::clear() {
  pods_.clear();
  sent_.clear();
  withdrawn_.clear();
}

void Fence::guard(const std::string& uid, JobId job, std::uint32_t attempt) {
  if (uid.empty() || attempt == 0) return;
  Guarded& guarded = pods_[uid];
  if (guarded.job == job && guarded.attempt >= attempt) return;
  guarded.job = job;
  guarded.attempt = attempt;
  const auto sent = sent_.find(uid);
  const bool known =
      sent != sent_.end() && sent->second.job == job && sent->second.attempt == attempt;
  if (known) guarded.nodes.insert(sent->second.node);
  guarded.anywhere = guarded.anywhere || !known;
}

void Fence::take(const Effect& effect, bool inherited) {
  for (const EffectPod& pod : effect.keep_closed) guard(pod.uid, effect.job, effect.attempt);
  for (const EffectPod& pod : effect.pods) {
    if (effect.kind == EffectKind::kEvict) {
      // A pod to evict without a node was released too late.
      if (pod.node.empty()) guard(pod.uid, effect.job, effect.attempt);
      continue;
    }
    const auto sent = sent_.find(pod.uid);
    const bool again = sent != sent_.end() && sent->second.attempt < effect.attempt;
    if (inherited || again) guard(pod.uid, effect.job, effect.attempt - 1);
    if (!pod.uid.empty()) sent_[pod.uid] = {effect.job, effect.attempt, pod.node};
    const auto withdrawn = withdrawn_.find(pod.uid);
    if (withdrawn != withdrawn_.end() && !withdrawn->second.answered) {
      withdrawn->second.job = effect.job;
      withdrawn->second.attempt = effect.attempt;
      guard(pod.uid, effect.job, effect.attempt);
    }
  }
}

void Fence::withdraw(const std::string& uid) {
  Withdrawn& withdrawn = withdrawn_[uid];
  withdrawn = {};
  const auto sent = sent_.find(uid);
  if (sent == sent_.end()) return;
  withdrawn.job = sent->second.job;
  withdrawn.attempt = sent->second.attempt;
  guard(uid, sent->second.job, sent->second.attempt);
}

void Fence::answered(const std::string& uid, std::uint64_t request) {
  const auto found = withdrawn_.find(uid);
  if (found == withdrawn_.end() || found->second.answered) return;
  found->second.answered = true;
  found->second.request = request;
}

void Fence::confirm(const Effect& effect, std::uint64_t request) {
  for (const EffectPod& pod : effect.pods) {
    const auto found = withdrawn_.find(pod.uid);
    if (found == withdrawn_.end()) continue;
    if (found->second.answered && found->second.request < request) withdrawn_.erase(found);
  }
}

bool Fence::is_withdrawn(const std::string& uid, JobId job, std::uint32_t attempt) const {
  const auto found = withdrawn_.find(uid);
  if (found == withdrawn_.end()) return false;
  return !found->second.answered || (found->second.job == job && attempt <= found->second.attempt);
}

void Fence::prune(const ClusterCache& cache) {
  constexpr std::size_t kFew = 1000;
  if (sent_.size() > sent_due_ + kFew) {
    const auto is_over = [&](const auto& entry) {
      const PodEntry* const pod = cache.find_gpu_pod(entry.first);
      return pod == nullptr || pod->gpu->ended || pod->gpu->bound;
    };
    std::erase_if(sent_, is_over);
    std::erase_if(withdrawn_, is_over);
    sent_due_ = 2 * sent_.size();
  }
  std::erase_if(pods_, [&](const auto& entry) {
    const PodEntry* const pod = cache.find_gpu_pod(entry.first);
    if (pod == nullptr) return true;
    const GpuPodEntry& gpu = *pod->gpu;
    if (gpu.ended || gpu.going) return true;
    if (gpu.bound) return cache.outbox().is_answered(entry.first);
    if (gpu.gated) return is_marked(gpu, entry.second);
    return gpu.let_go_to.empty() || !gpu.unschedulable.empty();
  });
}

}  // namespace subak
