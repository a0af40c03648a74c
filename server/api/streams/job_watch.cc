#include "server/api/streams/job_watch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "core/account_path.h"
#include "core/limits.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

constexpr std::size_t kListPart = 64;         // jobs of the first list per read
constexpr std::size_t kPushesPerRead = 4096;  // rows times streams; then other reads have their
                                              // turn

// Returns the job that a fact changes, if any.
struct JobOf {
  JobId operator()(const fact::JobCreated& f) const { return f.id; }
  JobId operator()(const fact::PodAdded& f) const { return f.job; }
  JobId operator()(const fact::JobMoved& f) const { return f.id; }
  JobId operator()(const fact::JobAdopted& f) const { return f.id; }
  JobId operator()(const fact::AttemptStarted& f) const { return f.id; }
  JobId operator()(const fact::DeadlinePassed& f) const { return f.id; }
  JobId operator()(const fact::StopAsked& f) const { return f.id; }
  JobId operator()(const fact::AttemptEnded& f) const { return f.id; }
  JobId operator()(const fact::EndRefused& f) const { return f.id; }
  JobId operator()(const fact::JobOverran& f) const { return f.id; }
  JobId operator()(const fact::SchedulerRefused& f) const { return f.id; }
  JobId operator()(const fact::RefusalsForgotten& f) const { return f.id; }
  JobId operator()(const fact::ReadyTimedOut& f) const { return f.id; }
  JobId operator()(const fact::PlaceLost& f) const { return f.job; }
  JobId operator()(const fact::PodBound& f) const { return f.job; }
  JobId operator()(const fact::PodSeated& f) const { return f.job; }
  JobId operator()(const fact::PodsRanked& f) const { return f.job; }
  JobId operator()(const fact::PodGated& f) const { return f.job; }
  JobId operator()(const fact::GangEmptied& f) const { return f.id; }
  JobId operator()(const fact::GangResized& f) const { return f.id; }
  JobId operator()(const fact::JobAssigned& f) const { return f.id; }
  JobId operator()(const fact::PodsExpected& f) const { return f.job; }
  JobId operator()(const fact::JobParked& f) const { return f.id; }
  JobId operator()(const fact::PodRunning& f) const { return f.job; }
  JobId operator()(const fact::PodGone& f) const { return f.job; }
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
    : QueueWriter(set, limits::kMaxWatchBacklog, &hub.bytes()),
      hub_(hub),
      follower_(follower),
      filter_(std::move(filter)),
      listing_(list_first) {}

void JobWatch::start(const std::string& caller) {
  turns_ = "watch:" + caller;
  list_some();
}

bool JobWatch::wants(const JobRow& row) const {
  if (filter_.job && row.id != filter_.job) return false;
  return filter_.account.empty() || is_path_within(leaf_path(row), filter_.account);
}

void JobWatch::drained() { list_some(); }
void JobWatch::ended() { hub_.remove(this); }

void JobWatch::list_some() {
  {
    const MutexLock lock(list_mutex_);
    if (!listing_ || asked_) return;
    asked_ = true;
  }
  auto self = std::static_pointer_cast<JobWatch>(shared_from_this());
  const Queued queued =
      follower_.read_expensive(turns_, [self](const Engine& engine) { self->list_part(engine); });
  if (queued == Queued::kStopped) close(shutting_down());
  if (queued == Queued::kFull || queued == Queued::kCallerFull) {
    close(to_status(busy("the queue of " + std::to_string(limits::kMaxExpensiveReads) + " reads")));
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
    const MutexLock lock(list_mutex_);
    asked_ = false;
    if (!rows.empty()) listed_to_ = rows.back().id;
    if (complete) listing_ = false;
  }
  bool pushed = false;
  for (const JobRow& row : rows) {
    if ((row.state == JobState::kDone && !filter_.job) || !wants(row)) continue;
    v1::WatchJobsResponse message;
    put(row, engine, message.mutable_job());
    push(hub_.bytes().keep(std::move(message)));
    pushed = true;
  }
  hub_.end_slowest();
  if (complete) {
    v1::WatchJobsResponse listed;
    listed.set_listed(true);
    push(std::move(listed));
  } else if (!pushed) {
    list_some();  // a part with ended jobs only: no drained() follows
  }
}

void WatchHub::add(const std::shared_ptr<JobWatch>& watch) {
  const MutexLock lock(mutex_);
  watches_.push_back(watch);
  watches_open_ = watches_.size();
}

void WatchHub::remove(const JobWatch* watch) {
  const MutexLock lock(mutex_);
  std::erase_if(watches_, [&](const auto& w) { return w.get() == watch; });
  watches_open_ = watches_.size();
}

void WatchHub::on_durable(const Released& batch) {
  if (watches_open_ == 0 || batch.facts == nullptr) return;
  {
    const MutexLock lock(mutex_);
    for (const Fact& fact : *batch.facts) {
      if (const JobId id = std::visit(JobOf{}, fact.body)) changed_.insert(id);
    }
  }
  ask();
}

void WatchHub::ask() {
  {
    const MutexLock lock(mutex_);
    if (changed_.empty() || asked_) return;
    asked_ = true;
  }
  const Queued queued =
      follower_.read_expensive("watch", [this](const Engine& engine) { send_changes(engine); });
  if (queued == Queued::kYes) return;
  const MutexLock lock(mutex_);
  asked_ = false;  // with the next batch
}

void WatchHub::send_changes(const Engine& engine) {
  std::vector<JobId> changed;
  std::vector<std::shared_ptr<JobWatch>> watches;
  {
    const MutexLock lock(mutex_);
    watches = watches_;
    const std::size_t most =
        std::max<std::size_t>(1, kPushesPerRead / std::max<std::size_t>(1, watches.size()));
    while (!changed_.empty() && changed.size() < most) {
      changed.push_back(*changed_.begin());
      changed_.erase(changed_.begin());
    }
    asked_ = false;
  }
  for (JobId id : changed) {
    const std::optional<JobRow> row = engine.job(id, false);
    if (row) send_row(*row, engine, watches);
  }
  end_slowest();
  ask();
}

void WatchHub::send_row(const JobRow& row, const Engine& engine,
                        const std::vector<std::shared_ptr<JobWatch>>& watches) {
  std::shared_ptr<const v1::WatchJobsResponse> message;
  for (const auto& watch : watches) {
    if (!watch->wants(row)) continue;
    if (message == nullptr) {
      v1::WatchJobsResponse made;
      put(row, engine, made.mutable_job());
      message = bytes_.keep(std::move(made));
    }
    watch->push(message);
  }
}

void WatchHub::end_slowest() {
  while (bytes_.used() > most_bytes_) {
    std::shared_ptr<JobWatch> slowest;
    std::size_t behind = 0;
    {
      const MutexLock lock(mutex_);
      for (const auto& watch : watches_) {
        const std::size_t backlog = watch->backlog();
        if (backlog <= behind) continue;
        behind = backlog;
        slowest = watch;
      }
    }
    if (slowest == nullptr) return;  // the rest is being written
    slowest->close(to_status(busy("the memory for " + std::to_string(most_bytes_) +
                                  " bytes that watchers have not read")));
  }
}

}  // namespace subak::api
