#include "server/api/calls/backup.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace subak::api {
namespace {

constexpr std::size_t kPartBytes = 1 << 20;

grpc::Status lost_copy() {
  return to_status({ErrorCode::kPrecondition, "backup", "", "want a copy that can be read back"});
}

grpc::Status another_backup() {
  return to_status({ErrorCode::kExhausted, "", "", "another backup is under way; try again later"});
}

}  // namespace

BackupStream::BackupStream(StreamSet& set, Desk& desk, Store& store)
    : QueueWriter(set, 2), desk_(desk), store_(store) {}

// Reads the live state's digest first. The copy may have later facts beyond that one.
void BackupStream::start(Follower& follower, const std::string& caller) {
  if (desk_.begin(caller)) return close(another_backup());
  const auto self = std::static_pointer_cast<BackupStream>(shared_from_this());
  const Queued queued = follower.read_expensive(caller, [self](const Engine& engine) {
    self->header_.set_sequence(engine.seq());
    for (const std::uint64_t half : engine.digest()) self->header_.add_digest(half);
    self->desk_.run([self] { self->work(); });
  });
  if (queued == Queued::kYes) return;
  desk_.end();
  close(to_status(busy("the queue of reads")));
}

void BackupStream::work() {
  const grpc::Status status = send_copy();
  desk_.end();
  close(status);
}

grpc::Status BackupStream::send_copy() {
  const Result<std::string> copy = store_.make_copy([this] { return !over(); });
  if (!copy.ok()) return to_status(copy.error());
  std::ifstream file(*copy, std::ios::binary | std::ios::ate);
  ::unlink(copy->c_str());  // the open file is enough; it disappears when closed
  if (!file) return lost_copy();
  header_.set_bytes(static_cast<std::int64_t>(file.tellg()));
  file.seekg(0);
  v1::BackupResponse first;
  *first.mutable_header() = header_;
  std::int64_t left = header_.bytes();
  bool open = send(std::move(first));
  while (open && left > 0) {
    std::string part(kPartBytes, '\0');
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    if (file.gcount() == 0) return lost_copy();
    part.resize(static_cast<std::size_t>(file.gcount()));
    left -= file.gcount();
    v1::BackupResponse message;
    message.set_data(std::move(part));
    open = send(std::move(message));
  }
  return grpc::Status::OK;
}

// One part is in flight at a time: the reader sets the pace.
bool BackupStream::send(v1::BackupResponse message) {
  {
    const MutexLock lock(wait_mutex_);
    written_ = false;
  }
  if (!push(std::move(message))) return false;
  MutexLock lock(wait_mutex_);
  wake_.wait(lock, [this]() SUBAK_REQUIRES(wait_mutex_) { return written_ || over_; });
  return !over_;
}

void BackupStream::signal(bool* what) {
  {
    const MutexLock lock(wait_mutex_);
    *what = true;
  }
  wake_.notify_all();
}

bool BackupStream::over() {
  const MutexLock lock(wait_mutex_);
  return over_;
}

}  // namespace subak::api
