#include "server/leader/last_copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "core/limits.h"
#include "server/api/convert/admission_snapshot.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/store/file/row_sum.h"
#include "server/store/file/whole_file.h"

namespace subak {
namespace {

constexpr DurationMs kLookMs = 5 * kSecondMs;  // between checks whether the file is current
constexpr SummedKind kKind{"subak static 1\n", limits::kMaxAdmissionSnapshotBytes};

TimeMs changed_at(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return 0;
  return found.st_mtim.tv_sec * kSecondMs + found.st_mtim.tv_nsec / 1'000'000;
}

// The content is unchanged: sets the file's time, which says until when it was current. False: the
// file is gone.
bool note_unchanged(const std::string& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0;
}

}  // namespace

LastCopy::LastCopy(std::string path, std::string_view place, AdmissionConfig config)
    : path_(std::move(path)), seed_(crc32c(place)), config_(std::move(config)) {}

LastCopy::~LastCopy() { stop(); }

Result<std::optional<LastCopy::Kept>> LastCopy::read() const {
  const TimeMs at_ms = changed_at(path_);
  const Result<std::string> bytes = read_summed_file(path_, kKind, seed_);
  if (!bytes) return bytes.error();
  if (bytes->empty()) return std::optional<Kept>();
  Result<AdmissionBasis> basis = api::read_admission_snapshot(*bytes);
  if (!basis) return basis.error();
  return std::optional<Kept>({std::move(basis).value().view, at_ms});
}

void LastCopy::keep(std::function<std::shared_ptr<const View>()> newest) {
  newest_ = std::move(newest);
  thread_ = std::thread([this] { run(); });
}

void LastCopy::look(const std::shared_ptr<const View>& newest) {
  const bool is_written = written_ && api::is_same_admission_snapshot(*written_, *newest);
  if (is_written && note_unchanged(path_)) return;
  const auto error =
      write_summed_file(path_, kKind, seed_, api::admission_snapshot_bytes(*newest, config_));
  if (error && !failed_) {
    log::warn("the copy for a start without the database was not written",
              {{"error", error->message()}});
  }
  failed_ = error.has_value();
  written_ = failed_ ? nullptr : newest;
}

void LastCopy::run() {
  name_thread("last-copy");
  while (true) {
    look(newest_());
    MutexLock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::milliseconds(kLookMs),
                       [this]() SUBAK_REQUIRES(mutex_) { return stopping_; }))
      break;
  }
  look(newest_());
}

void LastCopy::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace subak
