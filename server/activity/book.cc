#include "server/activity/book.h"

#include <algorithm>

#include "core/edge_limits.h"

namespace subak {
namespace {

// The number of the stored part with the jobs. Each other part has the number of its day.
constexpr std::int64_t kJobsPart = 0;

template <class Record>
Error too_large(const Record&) {
  return {ErrorCode::kExhausted, std::string(Record::kName), "",
          "want sums of activity that fit into one part of the store"};
}

}  // namespace

ActivityDay ActivityBook::record_of(std::int64_t day, const Hours& hours) {
  ActivityDay record{day, {}};
  for (const auto& [key, sums] : hours) {
    const auto& [hour, payer, state, product] = key;
    record.hours.push_back({hour, payer, state, product, sums});
  }
  return record;
}

std::optional<Error> ActivityBook::load(Store& store, TimeMs now) {
  std::map<JobId, JobActivity> jobs;
  std::map<std::int64_t, Hours> days;
  TimeMs until_ms = 0;
  const auto read = [&]() -> std::optional<Error> {
    for (const std::int64_t day : {now / kDayMs - 1, now / kDayMs}) {
      Hours& hours = days[day];
      const Result<std::string> bytes = store.read_activity(day);
      if (!bytes) return bytes.error();
      if (bytes->empty()) continue;
      const Result<ActivityDay> stored = codec::decode_activity_day(*bytes);
      if (!stored) return stored.error();
      for (const HourActivity& h : stored->hours) {
        hours[{h.hour, h.payer, h.state, h.product}] += h.sums;
      }
    }
    const Result<std::string> bytes = store.read_activity(kJobsPart);
    if (!bytes) return bytes.error();
    if (bytes->empty()) return std::nullopt;
    const Result<ActivityJobs> stored = codec::decode_activity_jobs(*bytes);
    if (!stored) return stored.error();
    until_ms = stored->until_ms;
    for (const JobActivity& job : stored->jobs) jobs[job.job] = job;
    return std::nullopt;
  };
  const std::optional<Error> error = read();
  const MutexLock lock(mutex_);
  if (error && until_ms_ != 0) return error;  // the sums in memory are better than none
  jobs_ = std::move(jobs);
  days_ = std::move(days);
  changed_.clear();
  until_ms_ = until_ms;
  last_.reset();
  return error;
}

std::optional<Error> ActivityBook::write(Store& store) {
  std::vector<std::pair<std::int64_t, std::string>> parts;
  std::optional<Error> error;
  {
    const MutexLock lock(mutex_);
    if (changed_.empty()) return std::nullopt;
    const auto add = [&](std::int64_t id, const auto& record) {
      std::optional<std::string> bytes = codec::encode_activity(record);
      if (bytes) {
        parts.emplace_back(id, std::move(*bytes));
      } else {
        error = too_large(record);
      }
    };
    for (const std::int64_t day : changed_) add(day, record_of(day, days_[day]));
    ActivityJobs record{until_ms_, {}};
    for (const auto& [id, job] : jobs_) record.jobs.push_back(job);
    add(kJobsPart, record);
    changed_.clear();
  }
  for (const auto& [id, bytes] : parts) {
    if (auto failed = store.write_activity(id, bytes)) {
      const MutexLock lock(mutex_);
      for (const auto& [day, text] : parts) {
        if (day != kJobsPart) changed_.insert(day);
      }
      return failed;
    }
  }
  return error;
}

std::vector<IdleJob> ActivityBook::add(const HeldGpus& held, const ActivitySamples* samples,
                                       TimeMs now, DurationMs warn_after) {
  const MutexLock lock(mutex_);
  clear_present();
  if (now <= until_ms_) return {};
  Joined seen;
  if (samples != nullptr) {
    seen = joined(held, *samples, last_.value_or(LastHolders()));
    ++figures_.reads;
    figures_.read_ms = now;
    figures_.error.clear();
    figures_.series = samples->series;
    figures_.invalid = samples->invalid;
    figures_.unknown_nodes = seen.unknown_nodes;
    if (last_) figures_.unheld = std::move(seen.unheld);
  }
  seen.pods.resize(held.pods.size());
  std::map<JobId, JobNow> jobs;
  for (std::size_t i = 0; i < held.pods.size(); ++i) {
    add_pod(held.pods[i], seen.pods[i], now, jobs[held.pods[i].job]);
  }
  std::vector<IdleJob> idle = note_idle(jobs, now, warn_after);
  last_ = last_holders(held);
  until_ms_ = now;
  changed_.insert(now / kDayMs);
  forget_ended(now);
  return idle;
}

void ActivityBook::add_pod(const OpenUsage& pod, const PodActivity& seen, TimeMs now, JobNow& job) {
  const TimeMs from = std::min(now, std::max(pod.since_ms, until_ms_));
  const TimeMs covered = std::max(from, now - limits::kActivityCoversMs);
  JobActivity& record = jobs_[pod.job];
  AccountActivity& account = figures_.accounts[{pod.payer, pod.product}];
  const std::int64_t devices = std::max(1u, seen.devices);
  const auto part = [&](std::uint32_t count, DurationMs ms) {
    return pod.milligpu * ms * static_cast<std::int64_t>(count) / devices;
  };
  ActivitySums all;
  for (TimeMs at = covered; at < now && seen.observed() > 0;) {
    const TimeMs end = std::min(now, (at / kHourMs + 1) * kHourMs);
    ActivitySums sums{part(seen.idle, end - at), part(seen.low, end - at),
                      part(seen.active, end - at),
                      static_cast<std::int64_t>(seen.watts * static_cast<double>(end - at))};
    const auto hour = static_cast<std::uint32_t>(at % kDayMs / kHourMs);
    days_[at / kDayMs][{hour, pod.payer, pod.state, pod.product}] += sums;
    changed_.insert(at / kDayMs);
    all += sums;
    at = end;
  }
  const std::int64_t unknown =
      std::max<std::int64_t>(0, pod.milligpu * (now - from) - all.observed());
  // A job that held no GPUs at the last observation begins a new attempt.
  if (record.until_ms != until_ms_) {
    record.idle_since_ms = record.idle_seen_ms = 0;
    record.warned = false;
  }
  record.job = pod.job;
  record.sums += all;
  record.unknown += unknown;
  account.sums += all;
  account.unknown += unknown;
  account.idle_now += part(seen.idle, 1);
  account.low_now += part(seen.low, 1);
  account.active_now += part(seen.active, 1);
  account.unknown_now += pod.milligpu - part(seen.observed(), 1);
  job.milligpu += pod.milligpu;
  job.idle += seen.idle;
  job.busy += seen.low + seen.active;
  job.complete &= seen.devices > 0 && seen.observed() == seen.devices;
  job.from_ms = job.pod_uid.empty() ? covered : std::min(job.from_ms, covered);
  if (job.pod_uid.empty()) job.pod_uid = pod.uid;
}

std::vector<IdleJob> ActivityBook::note_idle(const std::map<JobId, JobNow>& jobs, TimeMs now,
                                             DurationMs warn_after) {
  const DurationMs shown_after =
      warn_after == 0 ? limits::kIdleShownMs : std::min(limits::kIdleShownMs, warn_after);
  std::vector<IdleJob> out;
  idle_.clear();
  for (const auto& [id, state] : jobs) {
    JobActivity& record = jobs_[id];
    record.until_ms = now;
    if (state.busy > 0) {
      record.idle_since_ms = 0;
    } else if (state.complete) {
      const bool gap = now - record.idle_seen_ms > limits::kActivityGapMs;
      if (record.idle_since_ms == 0 || gap) record.idle_since_ms = state.from_ms;
      record.idle_seen_ms = now;
    }
    if (record.idle_since_ms == 0 || record.idle_seen_ms != now) continue;
    const IdleJob idle{id, record.idle_since_ms, state.milligpu, state.pod_uid};
    const DurationMs idle_ms = now - record.idle_since_ms;
    if (idle_ms >= shown_after) idle_.push_back(idle);
    if (record.warned || warn_after == 0 || idle_ms < warn_after) continue;
    record.warned = true;
    out.push_back(idle);
  }
  return out;
}

void ActivityBook::forget_ended(TimeMs now) {
  std::erase_if(jobs_, [&](const auto& entry) {
    return entry.second.until_ms + limits::kActivityJobMs < now;
  });
  std::erase_if(days_, [&](const auto& entry) {
    return entry.first < now / kDayMs - 1 && !changed_.contains(entry.first);
  });
  if (jobs_.size() <= limits::kMaxActivityJobs) return;
  std::vector<std::pair<TimeMs, JobId>> oldest;
  for (const auto& [id, job] : jobs_) oldest.emplace_back(job.until_ms, id);
  std::sort(oldest.begin(), oldest.end());
  const std::size_t more = jobs_.size() - limits::kMaxActivityJobs;
  for (std::size_t i = 0; i < more && oldest[i].first < now; ++i) jobs_.erase(oldest[i].second);
}

void ActivityBook::clear_present() {
  figures_.unheld.clear();
  idle_.clear();
  for (auto& [key, account] : figures_.accounts) {
    account.idle_now = account.low_now = account.active_now = account.unknown_now = 0;
  }
}

void ActivityBook::failed(const Error& error) {
  const MutexLock lock(mutex_);
  ++figures_.failed_reads;
  figures_.error = error.message();
}

void ActivityBook::set_configured() {
  const MutexLock lock(mutex_);
  figures_.configured = true;
}

std::optional<JobActivity> ActivityBook::job(JobId id) const {
  const MutexLock lock(mutex_);
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<ActivityDay> ActivityBook::day(std::int64_t day) const {
  const MutexLock lock(mutex_);
  const auto at = days_.find(day);
  if (at == days_.end()) return std::nullopt;
  return record_of(day, at->second);
}

std::vector<IdleJob> ActivityBook::idle_jobs(ClusterId cluster) const {
  std::vector<IdleJob> out;
  {
    const MutexLock lock(mutex_);
    for (const IdleJob& one : idle_) {
      if (one.job.cluster() == cluster) out.push_back(one);
    }
  }
  std::sort(out.begin(), out.end(), [](const IdleJob& a, const IdleJob& b) {
    return a.milligpu != b.milligpu ? a.milligpu > b.milligpu : a.job < b.job;
  });
  return out;
}

ActivityFigures ActivityBook::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

}  // namespace subak
