#include "server/store/proof/full_check.h"

#include <sqlite3.h>
#include <sys/resource.h>

#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/store/proof/checks.h"

namespace subak {
namespace {

constexpr int kStepsBetweenLooks = 100'000;  // instructions of SQLite's machine: about a
                                             // millisecond
constexpr int kLeastUrgent = 19;

}  // namespace

FullCheck::~FullCheck() {
  stopping_ = true;
  wait();
}

void FullCheck::wait() {
  if (thread_.joinable()) thread_.join();
}

void FullCheck::start(const std::string& path) {
  thread_ = std::thread([this, path] { run(path); });
}

void FullCheck::run(const std::string& path) {
  name_thread("check");
  ::setpriority(PRIO_PROCESS, 0, kLeastUrgent);  // of this thread alone, on Linux
  Connection db;
  if (!db.open(path, OpenMode::kReadOnly)) {
    return log::warn("store not checked", {{"error", db.error("store.check").message()}});
  }
  const auto stop = [](void* self) { return static_cast<FullCheck*>(self)->stopping_ ? 1 : 0; };
  sqlite3_progress_handler(db.get(), kStepsBetweenLooks, stop, this);
  const auto error = check_content(db, true);
  if (stopping_) return;
  if (error) return log::error("the store is damaged", {{"error", error->message()}});
  log::info("store checked", {{"store", path}});
  *sound_ = true;
}

}  // namespace subak
