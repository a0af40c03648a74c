#include "engine/derive/gang_reasons.h"

#include <string>

#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/names.h"
#include "engine/derive/reasons.h"

namespace subak::derive {
namespace {

// The pods of a gang of unknown size stay gated: started one by one, two such gangs could deadlock.
Reason unsized_gang(const state::Job& job) {
  Reason r = make_reason(ReasonToken::kGangIncomplete, job.name, "");
  r.detail = "the number of pods of " + job.name +
             " that start together is unknown: write the annotation " +
             std::string(names::kGangSize) + ": \"N\" on its pod templates";
  r.have = static_cast<std::int64_t>(job.pods_live());
  r.need = r.have + 1;  // more than there are
  return r;
}

}  // namespace

Reason explain_incomplete(const state::Job& job) {
  must(job.waits(), "a gang is incomplete while it waits");
  if (job.is_unsized() && job.leaf != kUnassigned) return unsized_gang(job);
  Reason r = make_reason(ReasonToken::kGangIncomplete, job.name, "");
  r.need = job.gang_size;
  for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
    const state::Pod& pod = job.pods[rank];
    if (pod.is_expected()) --r.need;  // it is created when the others run
    r.have += pod.is_ready() && !pod.is_expected() ? 1 : 0;
    if (pod.is_live() && !pod.is_ready() && r.blockers.size() < limits::kMaxBlockers) {
      r.blockers.push_back(pod.name);
    }
  }
  const std::string there = std::to_string(r.have) + " of " + std::to_string(r.need);
  if (job.leaf == kUnassigned) {
    r.subject = job.name.substr(0, job.name.find('/'));
    r.detail = "no account names the namespace " + r.subject;
  } else if (!r.blockers.empty()) {
    r.detail = there + " pods can be placed; gates of others keep the rest, or ours is gone";
  } else {
    r.detail = there + " pods of the gang are there";
  }
  if (job.until_ms != 0)
    r.detail += "; it is done unless one comes by " + format_time(job.until_ms);
  return r;
}

Reason beyond_gang(const state::Job& job) {
  must(job.pods_behind() > 0, "some pods have no rank in the gang");
  Reason r = make_reason(ReasonToken::kBeyondGangSize, job.name, "");
  r.need = job.gang_size;
  r.have = static_cast<std::int64_t>(job.gang_size + job.pods_behind());
  for (std::size_t rank = job.ranks(); rank < job.pods.size(); ++rank) {
    const state::Pod& pod = job.pods[rank];
    if (pod.is_live() && r.blockers.size() < limits::kMaxBlockers) r.blockers.push_back(pod.name);
  }
  const std::string size = std::to_string(job.gang_size);
  r.detail = "the size of gang " + job.name + " is " + size;
  r.detail += job.state == JobState::kEnding
                  ? ", and its pods are still ending: this pod starts with the gang after that"
                  : ", and it has its pods: this pod waits until one of them goes, or for a "
                    "larger " +
                        std::string(names::kGangSize);
  return r;
}

}  // namespace subak::derive
