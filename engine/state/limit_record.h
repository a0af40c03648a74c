// Which kinds of jobs overran their time limits lately. Jobs of one kind are what somebody asks for again and
// again: account and user, cluster, name without its digits, request (as in derive/run_times.h). A kind did if a
// job of it is beyond its limit now, or one of the last two was that ran their course.
//
// Only jobs count that have a limit and were placed here. What is known follows from the jobs that Jobs keeps,
// the ended ones in their order: whoever is forgotten there (limits::kDoneJobsKept) is forgotten here.
// Threads: none; Jobs owns one.
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
#include "engine/state/job.h"
#include "placement/request.h"

namespace subak::state {

// "train-41" and "train-42" are runs of one thing.
std::string without_digits(std::string_view name);

class LimitRecord {
 public:
  // The kind of the job, which asks for this. O(log kinds), O(1) where none did.
  bool overran_lately(const Job& job, const GangRequest& request) const;
  // Its kind did, and this ended job is one of the last two.
  bool rests_on(const Job& done) const;
  // Another one whenever a kind did or did not any more.
  std::uint64_t version() const { return version_; }

  // A job that holds something goes beyond its limit; it holds nothing any more.
  void over(const Job& job, std::shared_ptr<const GangRequest> request);
  void left(const Job& job, std::shared_ptr<const GangRequest> request);
  // The job is done, later than all before; of those that are kept the first is forgotten.
  void ended(const Job& job);
  void forgotten(const Job& job);
  // It knows the same as another. O(kinds).
  bool agrees_with(const LimitRecord& other) const;

 private:
  struct End {
    JobId job;
    bool over = false;
    friend bool operator==(const End&, const End&) = default;
  };
  struct Kind {
    std::shared_ptr<const GangRequest> request;
    std::uint32_t over_now = 0;  // so many jobs
    End last, before;            // of those that ended
    bool overran() const { return over_now > 0 || last.over || before.over; }
  };
  using Name = std::tuple<AccountId, ClusterId, std::string>;

  static Name name_of(const Job& job) {
    return {job.leaf, job.id.cluster(), without_digits(job.name)};
  }
  const Kind* find(const Job& job, const GangRequest& request) const;
  template <class Change>
  void change(const Job& job, std::shared_ptr<const GangRequest> request, Change to);

  std::map<Name, std::vector<Kind>> kinds_;  // that know of any job; no list is empty
  std::size_t overran_ = 0;                  // so many kinds did
  std::uint64_t version_ = 0;
};

}  // namespace subak::state
