#include "engine/state/jobs/job_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/limits.h"
#include "core/must.h"

namespace subak::state {

const std::vector<JobId>& JobIds::ascending() const {
  if (sorted_ == ids_.size()) return ids_;
  must(sorted_ < ids_.size(), "the ids in order are some of them");
  const auto middle = ids_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(middle, ids_.end());
  std::inplace_merge(ids_.begin(), middle, ids_.end());
  sorted_ = ids_.size();
  return ids_;
}

void JobIds::trim(std::size_t live, const std::function<bool(JobId)>& is_live) {
  if (ids_.size() <= 2 * live + kSlack) return;
  ascending();
  std::erase_if(ids_, [&](JobId id) { return !is_live(id); });
  sorted_ = ids_.size();
  must(ids_.size() == live, "each live job has its id once");
}

const Job* JobTable::find(JobId id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

const Job& JobTable::at(JobId id) const {
  const Job* const job = find(id);
  must(job != nullptr, "the job is there");
  return *job;
}

std::vector<JobId> JobTable::ids() const {
  std::vector<JobId> out;
  out.reserve(by_id_.size());
  std::copy_if(ids_.ascending().begin(), ids_.ascending().end(), std::back_inserter(out),
               [&](JobId id) { return find(id) != nullptr; });
  must(out.size() == by_id_.size(), "each job is in the list of ids once");
  return out;
}

Job& JobTable::writable(JobId id) {
  const auto it = by_id_.find(id);
  must(it != by_id_.end(), "the job that changes is there");
  if (copy_) copy_->before_change(it->second);
  return it->second;
}

Job& JobTable::add(JobId id) {
  const auto [it, added] = by_id_.try_emplace(id);
  must(added && static_cast<bool>(id), "a new job has a new number");
  ids_.add(id);
  it->second.id = id;
  return it->second;
}

void JobTable::end(const Job& job) {
  must(job.state == JobState::kDone, "a job that has ended is done");
  must(done_.empty() || done_.back() != job.id, "a job ends once");
  done_.push_back(job.id);
}

const Job* JobTable::to_forget() const {
  return done_.size() > limits::kDoneJobsKept ? &at(done_.front()) : nullptr;
}

void JobTable::forget_oldest() {
  must(!done_.empty(), "a job that is forgotten has ended");
  must(by_id_.erase(done_.front()) == 1, "an ended job is known until it is forgotten");
  done_.pop_front();
  ids_.trim(by_id_.size(), [this](JobId id) { return find(id) != nullptr; });
}

void JobTable::begin_copy(LiveCopy::Snapshot snapshot) {
  copy_ = std::make_unique<LiveCopy>(
      ids_.ascending(), [this](JobId id) { return find(id); }, std::move(snapshot));
}

bool JobTable::copy_slice(std::size_t most, const LiveCopy::Sink& sink) {
  must(copy_ != nullptr, "a copy is in progress");
  if (!copy_->copy(most, sink)) return false;
  copy_.reset();
  return true;
}

void JobTable::check() const {
  std::size_t done = 0;
  for (const auto& [id, job] : by_id_) {  // any order: each is judged by itself
    must(job.id == id, "a job is under its number");
    done += job.state == JobState::kDone ? 1 : 0;
  }
  must(ids().size() == by_id_.size(), "each job is in the list of ids once");
  must(done_.size() == done, "ended jobs are in the order of their ends");
  for (const JobId id : done_) must(at(id).state == JobState::kDone, "an ended job is done");
}

}  // namespace subak::state
