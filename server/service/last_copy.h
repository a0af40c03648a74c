// What the webhook of this replica judges by (server/api/static_copy.h), kept on its own disk: so its next start judges
// reviews by it, if the database is away then. It may be lost. Private to server/service.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "admission/policy_config.h"
#include "core/error.h"
#include "core/quantity.h"
#include "engine/view.h"

namespace subak {

class LastCopy {
 public:
  // `path`: its file, in a folder that exists. `place`: of the database, which tells it from another's.
  LastCopy(std::string path, std::string_view place, AdmissionConfig config);
  ~LastCopy();  // stop()
  LastCopy(const LastCopy&) = delete;
  LastCopy& operator=(const LastCopy&) = delete;

  struct Kept {
    std::shared_ptr<const View> view;  // of accounts, clusters and policy only
    TimeMs at_ms = 0;  // when it was last seen to be what is judged by, as the wall clock showed it
  };
  // nullopt: there is none. An error says why it cannot be used: damaged, of another database, too large, unreadable.
  Result<std::optional<Kept>> read() const;

  // From now on `newest` is asked every few seconds, on a thread of its own, and the file replaced where a review
  // could be answered otherwise. What cannot be written is logged, once until it can.
  void keep(std::function<std::shared_ptr<const View>()> newest);
  // One look of that thread's, for it and for tests.
  void look(const std::shared_ptr<const View>& newest);
  // After a last look. Idempotent.
  void stop();

 private:
  void run();

  const std::string path_;
  const std::uint32_t seed_;
  const AdmissionConfig config_;
  std::function<std::shared_ptr<const View>()> newest_;
  std::shared_ptr<const View> written_;
  bool failed_ = false;  // the last look
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace subak
