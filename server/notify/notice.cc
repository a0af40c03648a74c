#include "server/notify/notice.h"

#include <utility>
#include <variant>

#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "server/notify/notice_limits.h"

namespace subak {
namespace {

// Returns the job of a fact that can give a notice; empty: the fact has none.
struct JobOf {
  JobId operator()(const fact::AttemptStarted& f) const { return f.id; }
  JobId operator()(const fact::StopAsked& f) const { return f.id; }
  JobId operator()(const fact::AttemptEnded& f) const { return f.id; }
  JobId operator()(const fact::JobMoved& f) const { return f.id; }
  JobId operator()(const fact::EndRefused& f) const { return f.id; }
  JobId operator()(const fact::Reserved& f) const { return f.job; }
  template <class Other>
  JobId operator()(const Other&) const {
    return {};
  }
};

// Says in a clause why an attempt or a job ended. Empty: people know the end without a notice,
// because the job ended by itself or a person ended it.
std::string_view why_ended(Cause cause) {
  switch (cause) {
    case Cause::kExpired:
      return "its pods were not bound in time";
    case Cause::kPreempted:
      return "another job needs its GPUs";
    case Cause::kNodeLost:
      return "its node disappeared";
    case Cause::kNodeDrained:
      return "its node was drained";
    case Cause::kRejected:
      return "its node rejected a pod";
    case Cause::kUnschedulable:
      return "the cluster's scheduler could not bind a pod";
    case Cause::kReleaseRefused:
      return "the gate of a pod could not be opened";
    case Cause::kMemberLost:
      return "another pod of its gang ended without success";
    case Cause::kVanished:
      return "its pods disappeared, and Subak did not see their end";
    case Cause::kTimeLimit:
      return "it reached its time limit";
    case Cause::kBudget:
      return "the budget of its account is spent";
    case Cause::kMisconfigured:
      return "its specification has a mistake, so it can never start";
    case Cause::kEvicted:
      return "another party than Subak evicted it";
    case Cause::kNotReady:
      return "its pods were not Ready in time";
    case Cause::kNone:
    case Cause::kFinished:
    case Cause::kFailed:
    case Cause::kCancelled:
    case Cause::kEvictRefused:
      break;
  }
  return {};
}

// Says in a clause why a reservation moved or ended.
std::string_view why_moved(ReserveCause cause) {
  switch (cause) {
    case ReserveCause::kOverrun:
      return "a job on the reserved nodes runs longer than expected";
    case ReserveCause::kNode:
      return "a reserved node is no longer usable";
    case ReserveCause::kTaken:
      return "others took reserved nodes";
    case ReserveCause::kAccount:
      return "a rule of its account stops the job";
    case ReserveCause::kPolicy:
      return "the policy allows fewer reservations";
    case ReserveCause::kNoPlace:
      return "there are no nodes for which it could wait";
    case ReserveCause::kMade:
    case ReserveCause::kEarlier:
      break;
  }
  return "its reservation was made again";
}

// Returns "3-1042 (train) of ml.vision/ana", as far as these names are known.
std::string job_words(const Notice& notice) {
  std::string out = notice.job;
  if (!notice.name.empty()) out += " (" + notice.name + ")";
  if (!notice.account.empty()) out += " of " + notice.account;
  if (!notice.user.empty()) out += "/" + notice.user;
  return out;
}

using Found = std::optional<Notice>;

// One function for each kind of fact.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

Found with(Notice notice, NoticeKind kind, std::string text) {
  notice.kind = kind;
  notice.text = std::move(text);
  return notice;
}

// Returns the notice with a sentence that begins with the job.
Found about_job(Notice notice, NoticeKind kind, const std::string& rest) {
  std::string text = "Job " + job_words(notice) + rest;
  return with(std::move(notice), kind, std::move(text));
}

Found ended(Notice notice, Cause cause, bool waits) {
  const std::string why(why_ended(cause));
  if (why.empty()) return std::nullopt;
  const NoticeKind kind = waits ? NoticeKind::kJobWaitsAgain : NoticeKind::kJobEnded;
  return about_job(std::move(notice), kind, (waits ? " waits again: " : " ended: ") + why + ".");
}

Found started(const fact::AttemptStarted& f, Notice notice) {
  MilliGpu milligpu = 0;
  for (const PodSlot& slot : f.slots) milligpu += slot.milligpu;
  const std::string gpus = format_milligpu(milligpu) + (milligpu == 1000 ? " GPU" : " GPUs");
  const std::string pods =
      std::to_string(f.slots.size()) + (f.slots.size() == 1 ? " pod" : " pods");
  return about_job(std::move(notice), NoticeKind::kJobStarted,
                   " starts: Subak holds " + gpus + " for " + pods + ".");
}

Found budget(const fact::BudgetReached& f, Notice notice) {
  notice.account = f.path;
  const std::string account = f.path.empty() ? "The root account" : "Account " + f.path;
  return with(
      std::move(notice), NoticeKind::kBudgetReached,
      account + " has spent " + std::to_string(f.percent) + " % of its budget " + f.budget + ".");
}

Found rejecting(const fact::NodeBackedOff& f, Notice notice, const NoticeSubjects& subjects) {
  if (!f.any_pod || !f.barred || f.times == 0) return std::nullopt;
  const auto node = subjects.nodes.find(f.node);
  if (node == subjects.nodes.end()) return std::nullopt;
  return with(std::move(notice), NoticeKind::kServiceWarning,
              "Node " + node->second + " rejects pods, so Subak starts no pods there until " +
                  format_time(f.until_ms) + ".");
}

}  // namespace

bool may_give_notice(const fact::Body& body) {
  return std::visit(JobOf{}, static_cast<const fact::Kinds&>(body)) ||
         std::holds_alternative<fact::BudgetReached>(body) ||
         std::holds_alternative<fact::NodeBackedOff>(body);
}

NoticeSubjects notice_subjects(std::span<const Fact> facts, const Engine& engine) {
  NoticeSubjects out;
  for (const Fact& fact : facts) {
    const JobId id = std::visit(JobOf{}, static_cast<const fact::Kinds&>(fact.body));
    if (id && !out.jobs.contains(id)) {
      if (auto row = engine.job(id, false)) {
        out.jobs[id] = {std::move(row->account), std::move(row->name), std::move(row->user)};
      }
    }
    const auto* const backed_off = std::get_if<fact::NodeBackedOff>(&fact.body);
    if (backed_off == nullptr) continue;
    if (const NodeSpec* const node = engine.fleet().node(backed_off->node)) {
      out.nodes[backed_off->node] = node->name;
    }
  }
  return out;
}

// A fact has only the number of moves so far, so a move is later if that number is larger than in
// the job's last fact. The cause decides if the last fact is not known.
Found NoticeMaker::moved(const fact::Reserved& f, Notice notice) {
  const auto known = promises_.find(f.job);
  const bool is_known = known != promises_.end();
  const Promise before = is_known ? known->second : Promise{true, 0};
  const bool delayed = f.cause != ReserveCause::kMade && f.cause != ReserveCause::kEarlier;
  const bool later = f.late > before.late && (is_known || delayed);
  if (f.nodes.empty()) {
    promises_.erase(f.job);
  } else {
    if (promises_.size() >= limits::kMaxPromisesKnown) promises_.clear();
    promises_[f.job] = {!f.estimated, f.late};
  }
  if (!before.promised) return std::nullopt;
  const std::string why(why_moved(f.cause));
  if (f.nodes.empty()) {
    return about_job(std::move(notice), NoticeKind::kPromiseMoved,
                     " has no promised start any more: " + why + ".");
  }
  if (!later) return std::nullopt;
  const std::string start =
      f.start_ms >= limits::kMaxTimeMs ? "an unknown time" : format_time(f.start_ms);
  const std::string guess = f.estimated ? ", which is a guess: " : ": ";
  const std::string job = job_words(notice);
  return with(std::move(notice), NoticeKind::kPromiseMoved,
              "The start of job " + job + " moved later, to " + start + guess + why + ".");
}

std::optional<Notice> NoticeMaker::make(const Fact& fact, const NoticeSubjects& subjects) {
  Notice notice;
  notice.seq = fact.seq;
  notice.time_ms = fact.time_ms;
  if (const JobId id = std::visit(JobOf{}, static_cast<const fact::Kinds&>(fact.body))) {
    notice.job = text::job_id_text(id);
    if (const auto job = subjects.jobs.find(id); job != subjects.jobs.end()) {
      notice.account = job->second.account;
      notice.name = job->second.name;
      notice.user = job->second.user;
    }
  }
  const Cases cases{
      [&](const fact::Reserved& f) { return moved(f, std::move(notice)); },
      [&](const fact::AttemptStarted& f) {
        promises_.erase(f.id);
        return started(f, std::move(notice));
      },
      [&](const fact::StopAsked& f) -> Found {
        if (f.cause != Cause::kPreempted) return std::nullopt;
        return about_job(std::move(notice), NoticeKind::kJobTakenBack,
                         " is asked to end: another job needs its GPUs.");
      },
      [&](const fact::AttemptEnded& f) {
        return ended(std::move(notice), f.cause, f.to != JobState::kDone);
      },
      [&](const fact::JobMoved& f) -> Found {
        if (f.to == JobState::kDone) promises_.erase(f.id);
        if (f.cause != Cause::kMisconfigured) return std::nullopt;
        return ended(std::move(notice), f.cause, false);
      },
      [&](const fact::EndRefused&) {
        return about_job(std::move(notice), NoticeKind::kEndRefused,
                         " must end, but its cluster refuses to end one of its pods.");
      },
      [&](const fact::BudgetReached& f) { return budget(f, std::move(notice)); },
      [&](const fact::NodeBackedOff& f) { return rejecting(f, std::move(notice), subjects); },
      [](const auto&) { return Found(); }};
  return std::visit(cases, static_cast<const fact::Kinds&>(fact.body));
}

}  // namespace subak
