// Compares the last durable fact that this replica knows with the database. A replica is one of the
// processes that share a database; one of them leads. If a database fails over to a copy that was
// behind, the copy lacks acknowledged facts. If a replica led with this copy, these facts would be
// lost for good. So a replica that knows a missing fact does not lead until an operator accepts the
// data loss (docs/design/0047).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "model/fact.h"
#include "server/runtime/ports.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/durable_mark_file.h"
#include "threads/mutex.h"

namespace subak {

// An operator's acceptance of data loss.
struct DataLossConsent {
  // The number of the database's last fact. All facts after it are lost.
  std::uint64_t until = 0;
  // The person who accepts the data loss, and the reason. Both go into the audit log.
  std::string actor, reason;
};

// The last durable fact that this replica knows, in memory and in a file. The file never names a
// fact that was not durable. A separate thread writes the file.
class DurableMark {
 public:
  // `path`: the file, in a folder that exists.
  explicit DurableMark(std::string path) : path_(std::move(path)) {}
  // Stops the thread, then calls write().
  ~DurableMark();
  DurableMark(const DurableMark&) = delete;
  DurableMark& operator=(const DurableMark&) = delete;

  // Reads the file and starts the thread. If there is no file, this replica knows no fact. After a
  // change, the thread writes the file within a second. An error: the file cannot be read or is
  // damaged, and the thread does not start. Threads: one at a time, as for compare().
  std::optional<Error> open();
  // Looks in the store for the last durable fact that this replica knows. If the store lacks that
  // fact, it looks for an acceptance of that data loss. An error: compare() could not read the
  // store, so it is unknown whether the fact is missing. Call it before the first seen(), and again
  // when this replica has taken the lead.
  std::optional<Error> compare(StoreReader& reader);
  // Takes durable facts in order. This process or another process has committed these facts. If one
  // of them is the missing fact, or accepts the data loss, missing() becomes nullopt. Threads: one
  // at a time.
  void seen(const std::vector<Fact>& facts);
  // True if this replica knows no durable fact, or if compare() was called and missing() is
  // nullopt. Threads: any.
  bool may_lead() const;
  // Returns the last durable fact that this replica knows, if the database lacks that fact.
  // nullopt: the database has the fact, or an operator has accepted the data loss. Threads: any.
  std::optional<MarkedFact> missing() const;
  // Returns the number of the missing fact; 0: no fact is missing. Threads: any.
  std::uint64_t missing_seq() const { return missing().value_or(MarkedFact()).seq; }

  // Accepts the data loss `word`: that all facts after `word.until` are lost. Returns the last lost
  // fact. After that, missing() is nullopt, and word() returns the entry for the audit log. `last`:
  // the number of the database's last fact. The call fails, with the field `until`, if no fact was
  // missing or if `word.until` is not `last`. `validate_only`: it only checks and accepts nothing.
  // Threads: any.
  Result<MarkedFact> accept(const DataLossConsent& word, std::uint64_t last, bool validate_only);
  // Returns the acceptance that this replica must write into the audit log before any decision as
  // the leader. It sets `actor` to the person. nullopt: there is no acceptance. The acceptance
  // stays until seen() gets the fact with that entry. Threads: any.
  std::optional<LossAccepted> word(std::string* actor) const;

  // Returns the time of the last durable fact that this replica knows; 0: this replica knows no
  // such fact. Threads: any.
  TimeMs last_ms() const;
  // Writes the file now, if its content has changed. If the write fails, it logs the error.
  // Threads: any.
  void write();
  const std::string& path() const { return path_; }

 private:
  // The main function of the thread that writes the file, until the destructor ends it.
  void run();

  // The path of the file.
  const std::string path_;
  // Locked while the file is written. Lock it before `mutex_`.
  Mutex file_mutex_;
  // The content of the file.
  MarkedFact written_ SUBAK_GUARDED_BY(file_mutex_);
  mutable Mutex mutex_;
  CondVar wake_;
  // The last durable fact that this replica knows. With seq 0, this replica knows no durable fact.
  MarkedFact known_ SUBAK_GUARDED_BY(mutex_);
  // True: compare() has looked for `known_` in the store.
  bool compared_ SUBAK_GUARDED_BY(mutex_) = false;
  // True: the database lacks `known_`, and the data loss is not in the audit log yet. `word_` has
  // the acceptance, if there is one.
  bool missing_ SUBAK_GUARDED_BY(mutex_) = false;
  // The acceptance, until its entry in the audit log is durable.
  std::optional<DataLossConsent> word_ SUBAK_GUARDED_BY(mutex_);
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
