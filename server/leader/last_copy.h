// The webhook's basis (server/api/convert/admission_snapshot.h) on this replica's own disk. The
// next start judges reviews by it if the database is away. It may be lost. Private to server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "admission/policy_config.h"
#include "core/error.h"
#include "core/quantity.h"
#include "engine/answers/view.h"
#include "threads/mutex.h"

namespace subak {

// The file with the copy, and the thread that keeps it current. Threads: one at a time, beside its
// own.
class LastCopy {
 public:
  // `path`: its file, in a folder that exists. `place`: identifies the database.
  LastCopy(std::string path, std::string_view place, AdmissionConfig config);
  // stop()
  ~LastCopy();
  LastCopy(const LastCopy&) = delete;
  LastCopy& operator=(const LastCopy&) = delete;

  // A copy that was read.
  struct Kept {
    // It has accounts, clusters and policy only.
    std::shared_ptr<const View> view;
    // When it was last known to be current, by the wall clock.
    TimeMs at_ms = 0;
  };
  // Reads the copy. nullopt: there is none. An error says why it is unusable: damaged, of another
  // database, too large, or unreadable.
  Result<std::optional<Kept>> read() const;

  // Starts a thread that calls `newest` every few seconds; that returns the View in use, never
  // nullptr. Call once. The thread replaces the file if a review could have another answer. A write
  // error is logged once until a write succeeds.
  void keep(std::function<std::shared_ptr<const View>()> newest);
  // One round of that thread, for it and for tests.
  void look(const std::shared_ptr<const View>& newest);
  // Stops after one more round. Idempotent.
  void stop();

 private:
  void run();

  const std::string path_;
  // Of the file's checksum: the file of another database does not match.
  const std::uint32_t seed_;
  const AdmissionConfig config_;
  std::function<std::shared_ptr<const View>()> newest_;
  // The View in the file; nullptr: none, or not known.
  std::shared_ptr<const View> written_;
  // The last round could not write the file.
  bool failed_ = false;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
