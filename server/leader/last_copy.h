// A copy of the data from which the admission webhook decides
// (server/api/convert/admission_snapshot.h), on this replica's own disk. A replica is one of the
// processes that share a database. If the database is unreachable at the next start, the webhook
// uses this copy. If the copy is lost, the webhook adds Subak's scheduling gate to all GPU pods,
// which is safe. So the copy need not be durable. Private to server.
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

// The file with the copy, and a thread that updates the file. Threads: one at a time, in addition
// to the object's own thread.
class LastCopy {
 public:
  // `path`: the file, in a folder that exists. `place`: a text that identifies the database.
  // `config`: the configuration of this process's webhook; the file contains it too.
  LastCopy(std::string path, std::string_view place, AdmissionConfig config);
  // Calls stop().
  ~LastCopy();
  LastCopy(const LastCopy&) = delete;
  LastCopy& operator=(const LastCopy&) = delete;

  // A copy that was read.
  struct Kept {
    // The View has only accounts, clusters and policy.
    std::shared_ptr<const View> view;
    // The last time at which the thread wrote the copy or found it current, by the wall clock. This
    // is the file's modification time.
    TimeMs at_ms = 0;
  };
  // Reads the copy. nullopt: there is none. An error says why the copy cannot be used: it is
  // damaged, comes from another database, is too large, or cannot be read.
  Result<std::optional<Kept>> read() const;

  // Starts a thread that calls `newest` every few seconds. `newest` returns the View in use, and
  // never nullptr. If the webhook could decide differently with the new View, the thread replaces
  // the file. Otherwise it only sets the file's modification time (Kept::at_ms). If writes fail,
  // the thread logs the first error, and then no further one until a write succeeds. Call keep()
  // once.
  void keep(std::function<std::shared_ptr<const View>()> newest);
  // Does one round of the thread's work. Only the thread and tests call it.
  void look(const std::shared_ptr<const View>& newest);
  // Stops the thread, after one more round of its work. A second call does nothing.
  void stop();

 private:
  void run();

  const std::string path_;
  // The start value of the file's checksum. The start value depends on the database, so the
  // checksum of a file from another database does not match.
  const std::uint32_t seed_;
  const AdmissionConfig config_;
  std::function<std::shared_ptr<const View>()> newest_;
  // The View that the file has; nullptr: the file does not exist, or its content is not known.
  std::shared_ptr<const View> written_;
  // True: the last round could not write the file.
  bool failed_ = false;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
