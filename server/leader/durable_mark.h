// Compares this replica's last durable sequence with the database. A database that failed over to a
// copy may lack acknowledged facts, if the copy was behind. The next leader would lose these facts
// for good. So a replica that knows a missing fact does not lead until an operator accepts the data
// loss (docs/design/0065).
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
  // The person who accepts the data loss, and the reason, for the audit log.
  std::string actor, reason;
};

// The last durable fact that this replica knows, in memory and in a file. It never names a fact
// that was not durable. A separate thread writes the file.
class DurableMark {
 public:
  // `path`: the file, in a folder that exists.
  explicit DurableMark(std::string path) : path_(std::move(path)) {}
  // Stops the thread, then calls write().
  ~DurableMark();
  DurableMark(const DurableMark&) = delete;
  DurableMark& operator=(const DurableMark&) = delete;

  // Reads the file. From then on, the thread writes the file within a second after a change.
  std::optional<Error> open();
  // Looks for the last durable sequence in the store. If that fact is missing, it looks for a later
  // acceptance of the data loss. An error: it could not decide. Call it before the first seen(),
  // and again after this replica has taken the lead.
  std::optional<Error> compare(StoreReader& reader);
  // Takes durable facts in order, from this process or another. If they have the missing fact, or a
  // fact that accepts its loss, missing() becomes nullopt. Threads: one at a time.
  void seen(const std::vector<Fact>& facts);
  // True if missing() is nullopt and compare() has checked it. Threads: any.
  bool may_lead() const;
  // Returns the last fact that this replica knows as durable, if the database lacks it. nullopt:
  // the database lacks none, or an operator accepted the data loss. Threads: any.
  std::optional<MarkedFact> missing() const;
  // Returns the number of that fact; 0: none. Threads: any.
  std::uint64_t missing_seq() const { return missing().value_or(MarkedFact()).seq; }

  // Records that all facts after `word.until` are lost. Returns the last lost fact. It fails with
  // field `until` if no fact is missing, or if `until` is not `last`, the database's last fact.
  // After this, missing() is nullopt, and word() returns the entry for the audit log. With
  // `validate_only` it only checks. Threads: any.
  Result<MarkedFact> accept(const DataLossConsent& word, std::uint64_t last, bool validate_only);
  // Returns the acceptance that this replica must write first when it leads, and sets `actor`. The
  // acceptance stays until seen() gets its fact. Threads: any.
  std::optional<LossAccepted> word(std::string* actor) const;

  // Returns the time of the last fact that this replica knows as durable; 0: there is none.
  // Threads: any.
  TimeMs last_ms() const;
  // Writes the file now, if it is not current. Logs a failure. Threads: any.
  void write();
  const std::string& path() const { return path_; }

 private:
  // The work of the thread that writes the file, until the destructor.
  void run();

  // The path of the file.
  const std::string path_;
  // Held while the file is written. Lock it before mutex_.
  Mutex file_mutex_;
  // The content of the file.
  MarkedFact written_ SUBAK_GUARDED_BY(file_mutex_);
  mutable Mutex mutex_;
  CondVar wake_;
  // The last durable fact that this replica knows; seq 0: none.
  MarkedFact known_ SUBAK_GUARDED_BY(mutex_);
  // True: compare() has decided about known_.
  bool compared_ SUBAK_GUARDED_BY(mutex_) = false;
  // True: the database lacks known_. That may have been accepted or not.
  bool missing_ SUBAK_GUARDED_BY(mutex_) = false;
  // The acceptance, until it is durable.
  std::optional<DataLossConsent> word_ SUBAK_GUARDED_BY(mutex_);
  bool stop_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
