// A disk in memory for tests of durability. A power cut loses the changes that were not synced, and
// a test can make any change fail. While a ForgettingDisk exists, it is SQLite's default VFS, so
// only one may exist at a time. Source: https://www.sqlite.org/vfs.html
//
// Each change of the disk has a number, its point. A change is durable once its file is synced. The
// name of a new or removed file is durable once the folder is synced. As in SQLite's own VFS for
// Unix, the first sync of a new journal or log syncs the folder, and so does a removal that asks
// for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace subak::test {

using Files = std::map<std::string, std::string>;  // name -> bytes

// One change. `file` is the number of the file, which does not change when its name is removed.
struct DiskChange {
  enum class Kind : std::uint8_t { kCreate, kWrite, kTruncate, kSync, kRemove };
  Kind kind = Kind::kWrite;
  std::size_t file = 0;
  std::uint64_t at = 0;  // kWrite: the offset of the first byte; kTruncate: the new size
  std::string bytes;     // kWrite: the bytes; kCreate, kRemove: the name of the file
  bool folder = false;   // kSync, kRemove: true if the change also syncs the folder
};

class ForgettingDisk {
 public:
  enum class Fault : std::uint8_t { kIoError, kFull };

  explicit ForgettingDisk(Files files = {});
  ~ForgettingDisk();
  ForgettingDisk(const ForgettingDisk&) = delete;
  ForgettingDisk& operator=(const ForgettingDisk&) = delete;

  // Returns the number of changes so far. Threads: any.
  std::uint64_t points() const;
  // Makes the change at this point fail, and with `lasting` all later changes too. A failed write
  // may have written its first half. A failed sync has synced nothing. kFull affects only changes
  // that need room; with `lasting` there is also no room for the index of SQLite's log.
  void fail_at(std::uint64_t point, Fault fault, bool lasting);
  // From now on, each new connection has synchronous=OFF, even if it asks for another value.
  void without_sync();
  // From now on, every read and every change fails, as if the process were dead.
  void stop();
  // Returns the files as a process that starts now finds them.
  Files files() const;
  // Returns all changes, by point. Call it when no connection uses the disk any more.
  const std::vector<DiskChange>& history() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Computes which files a power cut leaves, at any point of a history.
class PowerCut {
 public:
  // `before`: the files before the first change. `history` must outlive this object.
  PowerCut(const Files& before, const std::vector<DiskChange>& history);
  // Returns the files after a power cut. The changes 0 to point - 1 are done, and the change at
  // `point` is in progress. The points must rise from call to call. The seed decides what happens
  // to the changes that are not durable: all are lost, all are done, or each change or each sector
  // is lost or done by itself. A sector may be torn, and a file may have grown without its bytes.
  Files at(std::uint64_t point, std::uint64_t seed);

 private:
  struct File {
    std::string durable;
    std::vector<const DiskChange*> pending;
  };
  void pass(const DiskChange& change);

  const std::vector<DiskChange>& history_;
  std::uint64_t next_ = 0;
  std::vector<File> files_;
  std::map<std::string, std::size_t> names_;  // the durable names
  std::vector<const DiskChange*> pending_names_;
};

}  // namespace subak::test
