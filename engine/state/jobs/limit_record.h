// Records which kinds of jobs ran beyond their time limits lately. Reservations do not rely on the
// limits of such jobs (trusts_limit() of planned_end.h). Jobs are of one kind if account, user,
// cluster, request, and the name without its digits are equal. Example: train-41 of a user ran
// beyond its limit, so Subak does not trust the limit of train-42.
//
// A kind overran lately if one of its jobs is beyond its limit now, or if one of its last two with
// Job::ran_its_course() was. Only jobs that have a time limit and that Subak placed count. When
// Jobs forgets an ended job (limits::kDoneJobsKept), the record forgets it too.
//
// Threads: one at a time; Jobs owns one record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/ids.h"
#include "engine/state/jobs/job.h"
#include "model/request.h"

namespace subak::state {

// Returns the name without its digits: "train-41" and "train-42" are runs of one kind.
std::string without_digits(std::string_view name);

// The record of all kinds.
class LimitRecord {
 public:
  // True if the kind of the job, with this request, overran lately. O(log kinds); O(1) if no kind
  // overran lately.
  bool overran_lately(const Job& job, const GangRequest& request) const;
  // True if this job is one of the last two that ran their course, of a kind that overran lately.
  bool rests_on(const Job& done) const;
  // Returns a number that changes when overran_lately() changes for some kind.
  std::uint64_t version() const { return version_; }

  // Call over() when a job with holds is beyond its limit. Call left() when such a job no longer
  // has holds.
  void over(const Job& job, std::shared_ptr<const GangRequest> request);
  void left(const Job& job, std::shared_ptr<const GangRequest> request);
  // Call ended() when the job is done; the job is then the newest ended job. Call forgotten() when
  // Jobs drops the job; the job is then the oldest ended job.
  void ended(const Job& job);
  void forgotten(const Job& job);
  // True if both records are equal. O(kinds).
  bool agrees_with(const LimitRecord& other) const;

 private:
  struct End {
    // The job that ended. None: fewer jobs of the kind have ended.
    JobId job;
    // True: the job ran beyond its limit.
    bool over = false;
    friend bool operator==(const End&, const End&) = default;
  };
  struct Kind {
    std::shared_ptr<const GangRequest> request;
    // How many jobs of the kind are beyond their limit now.
    std::uint32_t over_now = 0;
    // The last two jobs of the kind that ended.
    End last, before;
    bool overran() const { return over_now > 0 || last.over || before.over; }
  };
  using Name = std::tuple<AccountId, ClusterId, std::string>;

  static Name name_of(const Job& job) {
    return {job.leaf, job.id.cluster(), without_digits(job.name)};
  }
  // Returns the kind of the job with this request; nullptr if the record has no job of that kind.
  const Kind* find(const Job& job, const GangRequest& request) const;
  // Calls to(kind) for the kind of the job, and updates the count of the kinds that overran. A kind
  // without jobs is dropped.
  template <class Change>
  void change(const Job& job, std::shared_ptr<const GangRequest> request, Change to);

  // The kinds by name. No list is empty, and each kind has at least one job.
  std::map<Name, std::vector<Kind>> kinds_;
  // The number of kinds that overran.
  std::size_t overran_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace subak::state
