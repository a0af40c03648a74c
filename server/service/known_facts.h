// What this replica knows to be durable, held against the database: after a failover to a copy that was behind,
// acknowledged facts are missing there, and who goes on from it loses them for good. So a replica that knows such a fact
// never leads, until somebody says that they are lost (docs/design/0065).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "engine/fact.h"
#include "server/runtime/ports.h"
#include "server/store/audit_rows.h"
#include "server/store/known_file.h"

namespace subak {

// What an operator said.
struct LossWord {
  std::uint64_t until = 0;  // the database's last fact
  std::string actor, reason;
};

class KnownFacts {
 public:
  // `path`: its file; the folder exists.
  explicit KnownFacts(std::string path) : path_(std::move(path)) {}
  ~KnownFacts();  // write()
  KnownFacts(const KnownFacts&) = delete;
  KnownFacts& operator=(const KnownFacts&) = delete;

  // Reads the file; then it is written once a second where something has changed.
  std::optional<Error> open();
  // Reads the fact that is known in the store again, and where it is not there, whether somebody has taken it for lost
  // since. An error: that cannot be told. Before anything is seen(); once more after the lead was taken.
  std::optional<Error> compare(StoreReader& reader);
  // Facts that are durable, in order: ours, or another's. A fact that takes others for lost, and the one that was
  // missing, end missing(). Threads: one at a time.
  void seen(const std::vector<Fact>& facts);
  // Nothing is missing(), and compare() has seen to that. Threads: any.
  bool may_lead() const;
  // The last fact that is known and that the database lacks; nullopt: it lacks nothing, or that was taken for lost.
  // Threads: any.
  std::optional<KnownFact> missing() const;
  std::uint64_t missing_seq() const { return missing().value_or(KnownFact()).seq; }  // 0: nothing

  // Somebody takes all after `word.until` for lost. Refused, with field `until`: that is not `last`, the database's last
  // fact; nothing is missing. Else the last fact that is lost; and unless it is a check only, missing() says nullopt from
  // now on, and word() what is to be written into the audit log. Threads: any.
  Result<KnownFact> accept(const LossWord& word, std::uint64_t last, bool validate_only);
  // What is to be said before anything else once this replica leads: kept until seen() has it.
  std::optional<LossAccepted> word(std::string* actor) const;

  // When the last fact was that is known; 0: none is. Threads: any.
  TimeMs last_ms() const;
  // Now. Threads: any.
  void write();
  const std::string& path() const { return path_; }

 private:
  void run();

  const std::string path_;
  std::mutex file_mutex_;
  KnownFact written_;  // under file_mutex_
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Under the mutex.
  KnownFact known_;
  bool compared_ = false;
  bool missing_ = false;
  std::optional<LossWord> word_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace subak
