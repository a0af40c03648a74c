// Says which facts (durable decisions) give a notice, and what the notice says. A notice tells the
// people of an account that a job of theirs started, lost its GPUs or ended, that a promise moved,
// or that a budget is nearly spent. Nothing here does I/O. Threads: one at a time for each object.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "engine/engine.h"
#include "model/fact.h"

namespace subak {

// What a notice is about. Receivers see the names, so a name never changes.
enum class NoticeKind : std::uint8_t {
  // A job starts: Subak holds GPUs for its pods.
  kJobStarted,
  // The promised start of a job moved to a later time, or is no longer promised.
  kPromiseMoved,
  // Subak asks a job to end, so that another job gets its GPUs.
  kJobTakenBack,
  // The attempt of a job is over, and the job waits again.
  kJobWaitsAgain,
  // A job ended, but not by itself, and not because a person cancelled it.
  kJobEnded,
  // A cluster refuses to end a pod of a job that must end.
  kEndRefused,
  // An account has spent a part of a budget.
  kBudgetReached,
  // A warning of the service itself. Only receivers of the whole account tree get it.
  kServiceWarning,
};
template <>
struct EnumText<NoticeKind> {
  static constexpr std::array<std::string_view, 8> names{
      "job_started", "promise_moved", "job_taken_back", "job_waits_again",
      "job_ended",   "end_refused",   "budget_reached", "service_warning"};
};

// One notice. Names of jobs and users are texts of users, and may have any characters.
struct Notice {
  // The number of the fact. A fact gives at most one notice, so the number is the notice's id.
  std::uint64_t seq = 0;
  // When the fact was decided.
  TimeMs time_ms = 0;
  NoticeKind kind = NoticeKind::kServiceWarning;
  // The path of the account. Empty: the notice is about the service, or the account is not known.
  std::string account;
  // The job, such as "3-1042", with its name and its user; empty: the notice is not about a job.
  std::string job, name, user;
  // One sentence for people.
  std::string text;
  friend bool operator==(const Notice&, const Notice&) = default;
};

// What notices say about the jobs and nodes of facts. If the engine no longer knows a job or node,
// the maps do not have it.
struct NoticeSubjects {
  struct Job {
    std::string account, name, user;
  };
  std::map<JobId, Job> jobs;
  // Names of nodes.
  std::map<NodeId, std::string> nodes;
};

// True if facts of this kind can give a notice. O(1).
bool may_give_notice(const fact::Body& body);
// Looks up the jobs and nodes of these facts. O(facts).
NoticeSubjects notice_subjects(std::span<const Fact> facts, const Engine& engine);

// Makes notices from the facts, one after the other.
class NoticeMaker {
 public:
  // Returns the notice of a fact; nullopt: the fact gives none. Facts must come in order. If the
  // job is missing in `subjects`, the notice has only the job's id, and no account.
  std::optional<Notice> make(const Fact& fact, const NoticeSubjects& subjects);

 private:
  // What notices need of a job's last reservation: whether its start is promised, and how often the
  // start has moved later.
  struct Promise {
    bool promised = false;
    std::uint32_t late = 0;
  };
  std::optional<Notice> moved(const fact::Reserved& fact, Notice notice);

  std::map<JobId, Promise> promises_;
};

}  // namespace subak
