// Compares this replica's last durable sequence with the database. After a failover to a copy that
// was behind, acknowledged facts are missing there, and the next leader would lose them for good.
// So a replica that knows a missing fact does not lead until an operator accepts the data loss
// (docs/design/0065).
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
  // The sequence of the database's last fact.
  std::uint64_t until = 0;
  // Who accepts it, and why: for the audit log.
  std::string actor, reason;
};

// The last durable fact that this replica knows, in memory and in a file. It never names a fact
// that was not durable. One thread of its own writes the file.
class DurableMark {
 public:
  // `path`: its file; the folder exists.
  explicit DurableMark(std::string path) : path_(std::move(path)) {}
  // Stops the thread, then write().
  ~DurableMark();
  DurableMark(const DurableMark&) = delete;
  DurableMark& operator=(const DurableMark&) = delete;

  // Reads the file. From then on it is written once a second after a change.
  std::optional<Error> open();
  // Looks for the last durable sequence in the store. If that fact is missing, looks for a later
  // acceptance of the data loss. An error: neither could be decided. Call before the first seen(),
  // and again after the lead was taken.
  std::optional<Error> compare(StoreReader& reader);
  // Takes durable facts in order, from this process or another. The missing fact, or a fact that
  // accepts its loss, ends missing(). Threads: one at a time.
  void seen(const std::vector<Fact>& facts);
  // True if missing() is nullopt and compare() has checked it. Threads: any.
  bool may_lead() const;
  // Returns the last fact that this replica knows as durable, if the database lacks it. nullopt:
  // the database lacks none, or an operator accepted the data loss. Threads: any.
  std::optional<MarkedFact> missing() const;
  // The same as a number; 0: none. Threads: any.
  std::uint64_t missing_seq() const { return missing().value_or(MarkedFact()).seq; }

  // Records that all facts after `word.until` are lost. Refused with field `until`: it is not
  // `last`, the database's last fact, or no fact is missing. Returns the last lost fact. Unless it
  // only validates, missing() is nullopt from now on, and word() returns the entry for the audit
  // log. Threads: any.
  Result<MarkedFact> accept(const DataLossConsent& word, std::uint64_t last, bool validate_only);
  // Returns the acceptance that this replica must write first once it leads, and sets `actor`. It
  // stays until seen() gets it. Threads: any.
  std::optional<LossAccepted> word(std::string* actor) const;

  // Returns the time of the last fact that this replica knows as durable; 0: there is none.
  // Threads: any.
  TimeMs last_ms() const;
  // Writes the file now if it is not current. A failure is logged. Threads: any.
  void write();
  const std::string& path() const { return path_; }

 private:
  // The thread that writes the file, until the destructor.
  void run();

  // Of the file.
  const std::string path_;
  // Held while the file is written. Lock it before mutex_.
  Mutex file_mutex_;
  // As the file has it.
  MarkedFact written_ SUBAK_GUARDED_BY(file_mutex_);
  mutable Mutex mutex_;
  CondVar wake_;
  // The last durable fact that this replica knows; seq 0: none.
  MarkedFact known_ SUBAK_GUARDED_BY(mutex_);
  // compare() has decided about known_.
  bool compared_ SUBAK_GUARDED_BY(mutex_) = false;
  // The database lacks known_, whether or not that was accepted.
  bool missing_ SUBAK_GUARDED_BY(mutex_) = false;
  // The acceptance, until it is durable.
  std::optional<DataLossConsent> word_ SUBAK_GUARDED_BY(mutex_);
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
