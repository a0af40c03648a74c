#include "engine/state/jobs/limit_record.h"

#include <algorithm>
#include <iterator>

#include "core/must.h"

namespace subak::state {
namespace {

bool counts(const Job& job) { return job.time_limit_ms != 0 && job.is_ours(); }

auto find_kind(auto& kinds, const GangRequest& request) {
  return std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
    return kind.request.get() == &request || *kind.request == request;
  });
}

}  // namespace

std::string without_digits(std::string_view name) {
  std::string out;
  std::copy_if(name.begin(), name.end(), std::back_inserter(out),
               [](char c) { return c < '0' || c > '9'; });
  return out;
}

const LimitRecord::Kind* LimitRecord::find(const Job& job, const GangRequest& request) const {
  const auto named = kinds_.find(name_of(job));
  if (named == kinds_.end()) return nullptr;
  const auto it = find_kind(named->second, request);
  return it == named->second.end() ? nullptr : &*it;
}

bool LimitRecord::overran_lately(const Job& job, const GangRequest& request) const {
  if (overran_ == 0 || !counts(job)) return false;
  const Kind* const kind = find(job, request);
  return kind != nullptr && kind->overran();
}

bool LimitRecord::rests_on(const Job& done) const {
  if (overran_ == 0 || !counts(done) || !done.ran_its_course()) return false;
  const Kind* const kind = find(done, *done.asked);
  return kind != nullptr && kind->overran() &&
         (kind->last.job == done.id || kind->before.job == done.id);
}

template <class Change>
void LimitRecord::change(const Job& job, std::shared_ptr<const GangRequest> request, Change to) {
  std::vector<Kind>& named = kinds_[name_of(job)];
  auto it = find_kind(named, *request);
  if (it == named.end()) it = named.insert(it, Kind{std::move(request), 0, {}, {}});
  const bool did = it->overran();
  to(*it);
  const bool does = it->overran();
  must(!did || overran_ > 0, "a kind that overran is counted");
  if (did != does) {
    ++version_;
    does ? ++overran_ : --overran_;
  }
  if (it->over_now > 0 || it->last.job) return;
  named.erase(it);
  if (named.empty()) kinds_.erase(name_of(job));
}

void LimitRecord::over(const Job& job, std::shared_ptr<const GangRequest> request) {
  must(job.overruns > 0 && request != nullptr, "a job that is beyond its limit overran");
  if (!counts(job)) return;
  change(job, std::move(request), [](Kind& kind) { ++kind.over_now; });
}

void LimitRecord::left(const Job& job, std::shared_ptr<const GangRequest> request) {
  must(job.overruns > 0 && request != nullptr, "a job that was beyond its limit overran");
  if (!counts(job)) return;
  change(job, std::move(request), [](Kind& kind) {
    must(kind.over_now > 0, "who is beyond its limit is counted");
    --kind.over_now;
  });
}

void LimitRecord::ended(const Job& job) {
  must(job.state == JobState::kDone && job.asked != nullptr, "an ended job shows its request");
  if (!counts(job) || !job.ran_its_course()) return;
  change(job, job.asked, [&](Kind& kind) {
    kind.before = kind.last;
    kind.last = {job.id, job.overruns > 0};
  });
}

void LimitRecord::forgotten(const Job& job) {
  must(job.state == JobState::kDone && job.asked != nullptr, "an ended job shows its request");
  if (!counts(job) || !job.ran_its_course()) return;
  change(job, job.asked, [&](Kind& kind) {
    if (kind.before.job == job.id) kind.before = End();
    if (kind.last.job == job.id) kind.last = End();
  });
}

bool LimitRecord::agrees_with(const LimitRecord& other) const {
  const auto same = [](const Kind& a, const Kind& b) {
    return *a.request == *b.request && a.over_now == b.over_now && a.last == b.last &&
           a.before == b.before;
  };
  return overran_ == other.overran_ &&
         std::equal(kinds_.begin(), kinds_.end(), other.kinds_.begin(), other.kinds_.end(),
                    [&](const auto& a, const auto& b) {
                      return a.first == b.first &&
                             std::is_permutation(a.second.begin(), a.second.end(), b.second.begin(),
                                                 b.second.end(), same);
                    });
}

}  // namespace subak::state
