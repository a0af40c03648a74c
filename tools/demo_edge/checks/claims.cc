#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cstdio>

#include "tools/demo_edge/checks/checks.h"

namespace subak::demo {
namespace {

using google::protobuf::util::TimeUtil;

// From the submission of a job within quota until all its pods are bound: the minimum run and the
// grace period, and as much again as two restarts may take on a busy machine.
constexpr std::int64_t kLongestMs = kMinRunMs + kGraceMs + 20'000;

std::string of(std::int64_t good, std::int64_t all) {
  return std::to_string(good) + " of " + std::to_string(all);
}

std::vector<const Pod*> pods_of(const Story& story, const std::string& job) {
  std::vector<const Pod*> out;
  for (const Pod& pod : story.pods) {
    if (pod.job == job) out.push_back(&pod);
  }
  return out;
}

// True if all pods of the claimant run in its first attempt, on nodes of the claim, and were
// released after the last kill.
bool kept(const Story& story, const ClaimStory& claims, const v1::Claim& claim) {
  const std::vector<const Pod*> pods = pods_of(story, claim.job_id());
  return !pods.empty() && std::all_of(pods.begin(), pods.end(), [&](const Pod* pod) {
    const auto& nodes = claim.nodes();
    return pod->attempt == 1 && pod->opened_ms > claims.killed_ms && pod->bound_ms != 0 &&
           std::find(nodes.begin(), nodes.end(), pod->place.node()) != nodes.end();
  });
}

// True if exactly one attempt of the victim was preempted, and its pods were told the right
// claimant.
bool told(const Story& story, const std::string& victim, const std::string& claimant) {
  std::set<int> attempts;
  bool all_told = true;
  for (const Pod* pod : pods_of(story, victim)) {
    const auto found = story.told.find(pod->key);
    const bool asked = found != story.told.end();
    if (asked != (pod->cause == v1::CAUSE_PREEMPTED)) all_told = false;
    if (!asked) continue;
    attempts.insert(pod->attempt);
    all_told = all_told && found->second == claimant;
  }
  return all_told && attempts.size() == 1;
}

v1::Job job_of(Door& door, const std::string& id) {
  v1::Job job;
  door.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
    v1::GetJobRequest request;
    request.set_job_id(id);
    return stub.GetJob(context, request, &job);
  });
  return job;
}

// Checks the time from a submission until all pods of the job were bound.
void check_time(const Story& story, const ClaimStory& claims, Checks& out) {
  std::int64_t longest = 0;
  bool all_bound = !claims.claimants.empty();
  for (const JobPlan& plan : claims.claimants) {
    for (const Pod* pod : pods_of(story, plan.id)) {
      all_bound = all_bound && pod->bound_ms != 0;
      longest = std::max(longest, pod->bound_ms - plan.answered_ms);
    }
  }
  const std::int64_t limit = kLongestMs + story.counts.stalled_ms;
  char text[64];
  std::snprintf(text, sizeof text, "%.1f s, at most %.0f s", static_cast<double>(longest) / 1000,
                static_cast<double>(limit) / 1000);
  out.push_back(
      {"from submission within quota to all pods bound", all_bound && longest <= limit, text});
}

}  // namespace

void check_claims(const Story& story, const ClaimStory& claims, Door& door, Checks& out) {
  const auto made = static_cast<std::int64_t>(claims.claims.size());
  const auto seen = static_cast<std::int64_t>(claims.seen.size());
  const auto jobs = static_cast<std::int64_t>(claims.claimants.size());
  std::int64_t good = 0, victims = 0, told_well = 0, once = 0, shortest_ms = INT64_MAX;
  for (const v1::Claim& claim : claims.claims) {
    good += kept(story, claims, claim);
    for (const v1::ClaimVictim& victim : claim.victims()) {
      ++victims;
      told_well += told(story, victim.job_id(), claim.job_id());
      const v1::Preemption by = job_of(door, victim.job_id()).preemption();
      once += by.times() == 1 && by.claimant() == claim.job_id();
      shortest_ms =
          std::min(shortest_ms, TimeUtil::DurationToMilliseconds(by.asked() - by.started()));
    }
  }
  const std::int64_t shown = made * claims.kills;
  const bool same = claims.kills == 2 && claims.unchanged == shown;
  out.push_back(
      {"one claim for each job within quota", made == jobs && seen == jobs, std::to_string(seen)});
  out.push_back({"kill -9 between claim and start: the same claims", same,
                 same ? of(made, made) + ", twice" : of(claims.unchanged, shown)});
  out.push_back({"claims kept until their jobs started, on their nodes",
                 good == made && claims.broken == 0,
                 of(good, made) + (claims.broken == 0 ? "" : ", some claims were broken off")});
  check_time(story, claims, out);
  const auto asked = static_cast<std::int64_t>(story.told.size());
  out.push_back({"victims told to give back, and for which job",
                 told_well == victims && asked == victims && victims > 0, of(told_well, victims)});
  out.push_back({"no job preempted twice", once == victims && story.counts.preempted == victims,
                 of(once, victims) + " once"});
  char text[64];
  std::snprintf(text, sizeof text, "asked after %.1f s or more",
                static_cast<double>(shortest_ms) / 1000);
  out.push_back({"no victim asked in its minimum run", shortest_ms >= kMinRunMs, text});
}

}  // namespace subak::demo
