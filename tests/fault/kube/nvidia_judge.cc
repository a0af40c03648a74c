// Compares what Subak knows and has charged with the devices of the played cluster.
#include <algorithm>
#include <map>
#include <utility>

#include "nvidia_parts.h"

namespace subak::fault {
namespace {

std::string node_wrong(const NodeSpec& node, const PlayedDevices& devices, std::size_t i) {
  const bool closed = !node.unfit.empty() || !node.ready || node.unschedulable;
  if (devices.is_changing(i)) return closed ? "" : "is open, and MIG Manager changes it";
  if (!devices.is_settled(i)) return {};
  std::int64_t slices = 0;
  for (const MigSlices& one : node.mig) slices += one.count;
  const std::int64_t whole = node.gpus - node.mig_gpus;
  const auto differs = [](const char* what, std::int64_t has, std::int64_t known) {
    return "offers " + std::to_string(has) + " " + what + ", to the engine " +
           std::to_string(known);
  };
  if (whole != devices.offered(i, false)) return differs("GPUs", devices.offered(i, false), whole);
  if (slices != devices.offered(i, true))
    return differs("slices", devices.offered(i, true), slices);
  return {};
}

}  // namespace

void each_charge(const std::vector<Fact>& facts,
                 const std::function<void(const std::string& uid, const LedgerRow& row)>& take) {
  std::map<std::pair<JobId, std::uint32_t>, std::string> uids;
  for (const Fact& fact : facts) {
    if (const auto* added = std::get_if<fact::PodAdded>(&fact.body)) {
      uids[{added->job, added->rank}] = added->uid;
    } else if (const auto* seated = std::get_if<fact::PodSeated>(&fact.body)) {
      uids[{seated->job, seated->rank}] = uids[{seated->job, seated->from}];
    } else if (const auto* ranked = std::get_if<fact::PodsRanked>(&fact.body)) {
      std::vector<std::string> moved;
      for (const auto& [from, rank] : ranked->moves) moved.push_back(uids[{ranked->job, from}]);
      for (std::size_t i = 0; i < moved.size(); ++i) {
        uids[{ranked->job, ranked->moves[i].rank}] = moved[i];
      }
    } else if (const auto* row = std::get_if<fact::Charged>(&fact.body)) {
      const UsageState state = row->row.state;
      if (state != UsageState::kUsed && state != UsageState::kForeign) continue;
      const auto uid = uids.find({row->row.allocation.job, row->row.allocation.rank});
      if (uid != uids.end()) take(uid->second, row->row);
    }
  }
}

std::vector<std::string> wrong_nodes(const Engine& engine, const PlayedDevices& devices) {
  std::vector<std::string> wrong;
  for (const NodeId id : engine.fleet().nodes(ClusterId(1))) {
    const NodeSpec& node = *engine.fleet().node(id);
    const std::string words = node_wrong(node, devices, PlayedDevices::index_of(node.name));
    if (!words.empty()) wrong.push_back(node.name + " " + words);
  }
  return wrong;
}

std::vector<std::string> wrong_payers(const Engine& engine, const std::vector<ClaimStay>& stays,
                                      const std::function<bool(const std::string& uid)>& lives) {
  std::map<std::string, MilliGpu> paid;  // by uid
  for (const JobRow& row : engine.jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone) continue;
    const auto job = engine.job(row.id, true);
    for (const PodRow& pod : job->pods) {
      const bool runs = pod.state == PodState::kBound || pod.state == PodState::kRunning;
      if (runs) paid[pod.uid] = pod.slot.milligpu;
    }
  }
  std::vector<std::string> wrong;
  for (const ClaimStay& stay : stays) {
    if (stay.until_ms != 0 || !stay.known) continue;
    MilliGpu sum = 0;
    bool some = false;
    for (const std::string& uid : stay.pods) {
      some = some || lives(uid);
      const auto pays = paid.find(uid);
      if (pays != paid.end()) sum += pays->second;
    }
    if (!some || sum == stay.milligpu) continue;
    wrong.push_back("the claim " + stay.claim + " of " + std::to_string(stay.milligpu) +
                    " mGPU is paid for " + std::to_string(sum) + " mGPU");
  }
  return wrong;
}

std::vector<std::string> charged_too_much(
    const std::vector<Fact>& facts, const std::vector<ClaimStay>& stays,
    const std::function<bool(const std::string& uid)>& end_was_seen) {
  std::map<std::string, GpuTime> used;  // by uid
  each_charge(facts,
              [&](const std::string& uid, const LedgerRow& row) { used[uid] += row.amount(); });
  std::vector<std::string> wrong;
  for (const ClaimStay& stay : stays) {
    if (stay.until_ms == 0 || !std::all_of(stay.pods.begin(), stay.pods.end(), end_was_seen))
      continue;
    GpuTime sum;
    for (const std::string& uid : stay.pods) sum += used[uid];
    const DurationMs slack = kSecondMs * static_cast<DurationMs>(stay.pods.size());
    const DurationMs had = stay.until_ms - stay.since_ms + slack;
    if (!(GpuTime::of(stay.milligpu, had) < sum)) continue;
    wrong.push_back("the claim " + stay.claim + " had " + std::to_string(stay.milligpu) +
                    " mGPU for " + std::to_string(stay.until_ms - stay.since_ms) + " ms, and " +
                    std::to_string(sum.gpu_seconds()) + " GPU-s were charged");
  }
  return wrong;
}

}  // namespace subak::fault
