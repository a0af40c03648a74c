#include "server/leader/durable_mark.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

constexpr DurationMs kWriteMs = kSecondMs;  // between writes of the file

// Returns the newest fact after `after` that declares facts up to a number below `below` lost; 0:
// there is none.
Result<std::uint64_t> newest_acceptance(StoreReader& reader, std::uint64_t after,
                                        std::uint64_t below) {
  AuditQuery query;
  query.subject = kLossSubject;
  while (true) {
    const auto rows = reader.audit(query);
    if (!rows.ok()) return rows.error();
    for (const AuditEntry& row : *rows) {
      if (row.seq <= after) return std::uint64_t{0};
      if (row.what == kLossAccepted && loss_until(row) < below) return row.seq;
      query.before_seq = row.seq;
    }
    if (rows->size() < query.most) return std::uint64_t{0};
  }
}

// True if the store has the fact.
Result<bool> has(StoreReader& reader, const MarkedFact& known) {
  if (known.seq == 0) return true;
  const auto there = reader.facts(known.seq - 1, 1);
  if (!there.ok()) return there.error();
  return !there->empty() && sum_of_marked(there->front()) == known.sum;
}

}  // namespace

DurableMark::~DurableMark() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  write();
}

std::optional<Error> DurableMark::open() {
  auto known = read_durable_mark_file(path_);
  if (!known.ok()) return known.error();
  {
    const MutexLock file(file_mutex_);
    const MutexLock lock(mutex_);
    known_ = written_ = *known;
  }
  thread_ = std::thread([this] { run(); });
  return std::nullopt;
}

// An earlier acceptance of data loss is recorded with the fact that this replica knows. So only
// later acceptances count.
std::optional<Error> DurableMark::compare(StoreReader& reader) {
  MarkedFact known;
  {
    const MutexLock lock(mutex_);
    if (word_) return std::nullopt;
    known = known_;
  }
  const auto is_there = has(reader, known);
  if (!is_there.ok()) return is_there.error();
  const auto accepted =
      *is_there ? newest_acceptance(reader, std::max(known.seq, known.accepted), UINT64_MAX)
                : newest_acceptance(reader, known.accepted, known.seq);
  if (!accepted.ok()) return accepted.error();
  if (!*is_there && *accepted > 0) {
    log::warn("an operator accepted the data loss: this replica knows facts that are lost",
              {{"known", known.seq}, {"by_fact", *accepted}});
    known = {};
  }
  known.accepted = std::max(known.accepted, *accepted);
  const MutexLock lock(mutex_);
  known_ = known;
  missing_ = !*is_there && *accepted == 0;
  compared_ = true;
  return std::nullopt;
}

bool DurableMark::may_lead() const {
  const MutexLock lock(mutex_);
  return (known_.seq == 0 || compared_) && (!missing_ || word_);
}

void DurableMark::seen(const std::vector<Fact>& facts) {
  if (facts.empty()) return;
  const MutexLock lock(mutex_);
  for (const Fact& fact : facts) {
    if (loss_accepted(fact.body)) {
      known_.accepted = fact.seq;
      missing_ = false;
      word_.reset();
    } else if (missing_ && fact.seq == known_.seq && sum_of_marked(fact) == known_.sum) {
      log::info("the database has the last fact of this replica again", {{"seq", known_.seq}});
      missing_ = false;
    }
  }
  if (missing_) return;
  const Fact& last = facts.back();
  known_ = {last.seq, last.time_ms, sum_of_marked(last), known_.accepted};
}

std::optional<MarkedFact> DurableMark::missing() const {
  const MutexLock lock(mutex_);
  if (!missing_ || word_) return std::nullopt;
  return known_;
}

Result<MarkedFact> DurableMark::accept(const DataLossConsent& word, std::uint64_t last,
                                       bool validate_only) {
  const MutexLock lock(mutex_);
  if (!missing_) {
    return Error{ErrorCode::kPrecondition, "until", std::to_string(word.until),
                 "the database has all facts that this replica knows: nothing is lost"};
  }
  if (word.until != last) {
    return Error{ErrorCode::kPrecondition, "until", std::to_string(word.until),
                 "want " + std::to_string(last) +
                     ", the last fact of the database; this replica knows " +
                     std::to_string(known_.seq)};
  }
  if (!validate_only) word_ = word;
  return known_;
}

std::optional<LossAccepted> DurableMark::word(std::string* actor) const {
  const MutexLock lock(mutex_);
  if (!word_) return std::nullopt;
  *actor = word_->actor;
  return LossAccepted{word_->until, known_.seq, word_->reason};
}

TimeMs DurableMark::last_ms() const {
  const MutexLock lock(mutex_);
  return known_.time_ms;
}

void DurableMark::write() {
  const MutexLock file(file_mutex_);
  MarkedFact known;
  {
    const MutexLock lock(mutex_);
    known = known_;
  }
  if (known == written_) return;
  if (auto error = write_durable_mark_file(path_, known)) {
    log::warn("the file with the last durable fact was not written", {{"error", error->message()}});
    return;
  }
  written_ = known;
}

void DurableMark::run() {
  name_thread("known");
  while (true) {
    {
      MutexLock lock(mutex_);
      wake_.wait_for(lock, std::chrono::milliseconds(kWriteMs),
                     [&]() SUBAK_REQUIRES(mutex_) { return stop_; });
      if (stop_) return;
    }
    write();
  }
}

}  // namespace subak
