#include "server/api/job_watch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "server/api/convert.h"

namespace subak::api {
namespace {

constexpr std::size_t kListPart = 256;  // jobs of the first list per read

// The job that a fact changes, if any.
struct JobOf {
  JobId operator()(const fact::JobCreated& f) const { return f.id; }
  JobId operator()(const fact::PodAdded& f) const { return f.job; }
  JobId operator()(const fact::JobMoved& f) const { return f.id; }
  JobId operator()(const fact::JobReserved& f) const { return f.id; }
  JobId operator()(const fact::PodBound& f) const { return f.job; }
  JobId operator()(const fact::PodRunning& f) const { return f.job; }
  JobId operator()(const fact::PodGone& f) const { return f.job; }
  JobId operator()(const fact::HoldReleased& f) const { return f.id; }
  template <class Other>
  JobId operator()(const Other&) const {
    return {};
  }
};

std::string leaf_path(const JobRow& row) {
  return row.user.empty() ? row.account : row.account + "/" + row.user;
}

}  // namespace

JobWatch::JobWatch(StreamSet& set, WatchHub& hub, Follower& follower, Filter filter,
                   bool list_first)
    : QueueWriter(set, limits::kMaxWatchBacklog),
      hub_(hub),
      follower_(follower),
      filter_(std::move(filter)),
      listing_(list_first) {}

void JobWatch::start() { list_some(); }

bool JobWatch::wants(const JobRow& row) const {
  if (filter_.job && row.id != filter_.job) return false;
  return filter_.account.empty() || AccountsView::is_within(leaf_path(row), filter_.account);
}

void JobWatch::drained() { list_some(); }
void JobWatch::ended() { hub_.remove(this); }

void JobWatch::list_some() {
  {
    const std::scoped_lock lock(list_mutex_);
    if (!listing_ || asked_) return;
    asked_ = true;
  }
  auto self = std::static_pointer_cast<JobWatch>(shared_from_this());
  if (!follower_.read([self](const Engine& engine) { self->list_part(engine); })) {
    close(to_status(busy("the queue of reads")));
  }
}

void JobWatch::list_part(const Engine& engine) {
  std::vector<JobRow> rows;
  if (filter_.job) {
    auto row = engine.job(filter_.job, false);
    if (!row) {
      return close(to_status(
          {ErrorCode::kNotFound, "job_id", text_of(filter_.job), "there is no such job"}));
    }
    rows.push_back(*std::move(row));
  } else {
    rows = engine.jobs(listed_to_, kListPart, std::nullopt, filter_.account);
  }
  const bool complete = filter_.job || rows.size() < kListPart;
  {
    const std::scoped_lock lock(list_mutex_);
    asked_ = false;
    if (!rows.empty()) listed_to_ = rows.back().id;
    if (complete) listing_ = false;
  }
  bool pushed = false;
  for (const JobRow& row : rows) {
    if ((row.state == JobState::kDone && !filter_.job) || !wants(row)) continue;
    v1::WatchJobsResponse message;
    put(row, engine, message.mutable_job());
    push(std::move(message));
    pushed = true;
  }
  if (complete) {
    v1::WatchJobsResponse listed;
    listed.set_listed(true);
    push(std::move(listed));
  } else if (!pushed) {
    list_some();  // a part of ended jobs only: nothing will be drained
  }
}

void WatchHub::add(const std::shared_ptr<JobWatch>& watch) {
  const std::scoped_lock lock(mutex_);
  watches_.push_back(watch);
  watches_open_ = watches_.size();
}

void WatchHub::remove(const JobWatch* watch) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(watches_, [&](const auto& w) { return w.get() == watch; });
  watches_open_ = watches_.size();
}

void WatchHub::on_durable(const Released& batch) {
  if (watches_open_ == 0 || batch.facts == nullptr) return;
  {
    const std::scoped_lock lock(mutex_);
    for (const Fact& fact : *batch.facts) {
      if (const JobId id = std::visit(JobOf{}, fact.body)) changed_.insert(id);
    }
    if (changed_.empty() || asked_) return;
    asked_ = true;
  }
  if (follower_.read([this](const Engine& engine) { send_changes(engine); })) return;
  const std::scoped_lock lock(mutex_);
  asked_ = false;  // with the next batch
}

void WatchHub::send_changes(const Engine& engine) {
  std::set<JobId> changed;
  std::vector<std::shared_ptr<JobWatch>> watches;
  {
    const std::scoped_lock lock(mutex_);
    changed.swap(changed_);
    watches = watches_;
    asked_ = false;
  }
  for (JobId id : changed) {
    const std::optional<JobRow> row = engine.job(id, false);
    if (!row) continue;
    std::optional<v1::WatchJobsResponse> message;
    for (const auto& watch : watches) {
      if (!watch->wants(*row)) continue;
      if (!message) put(*row, engine, message.emplace().mutable_job());
      watch->push(*message);
    }
  }
}

}  // namespace subak::api
