// A disk in memory that forgets at a power cut what was not synced, and that can fail. While one
// lives it is SQLite's default VFS; one at a time. https://www.sqlite.org/vfs.html
//
// Every change is a numbered point. A change is volatile until a sync of its file. Names of files
// (made, removed) are volatile until the folder is synced: by the first sync of a new journal or
// log, and by a removal that asks for it, as in SQLite's own VFS for Unix.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace subak::test {

using Files = std::map<std::string, std::string>;  // name -> bytes

// One change. A file keeps its number when its name goes.
struct DiskChange {
  enum class Kind : std::uint8_t { kCreate, kWrite, kTruncate, kSync, kRemove };
  Kind kind = Kind::kWrite;
  std::size_t file = 0;
  std::uint64_t at = 0;  // kWrite: first byte; kTruncate: the new size
  std::string bytes;     // kWrite: what; kCreate, kRemove: the name
  bool folder = false;   // kSync, kRemove: makes the names durable too
};

class ForgettingDisk {
 public:
  enum class Fault : std::uint8_t { kIoError, kFull };

  explicit ForgettingDisk(Files files = {});
  ~ForgettingDisk();
  ForgettingDisk(const ForgettingDisk&) = delete;
  ForgettingDisk& operator=(const ForgettingDisk&) = delete;

  // Changes so far. Threads: any.
  std::uint64_t points() const;
  // The change at this point fails, and if `lasting` every later one. A write may do its first half
  // before; a sync that fails syncs nothing. kFull fails writes and truncations only, and if
  // `lasting` there is no room for the log's index either.
  void fail_at(std::uint64_t point, Fault fault, bool lasting);
  // Connections opened from now on have synchronous=OFF, whatever they ask for.
  void without_sync();
  // From now on every read and every change fails: the machine is off, or the process is dead.
  void stop();
  // What a process that starts now would find.
  Files files() const;
  // Once nobody uses the disk any more: all that was done to it.
  const std::vector<DiskChange>& history() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Follows a history and says what a power cut on the way leaves. Keeps references to both.
class PowerCut {
 public:
  PowerCut(const Files& before, const std::vector<DiskChange>& history);
  // The cut comes when changes 0 to point - 1 are done and the one at `point` is under way. Points
  // must rise from call to call. The seed chooses what becomes of each change that is not durable:
  // all lost, all done, each of them either, or each sector of each, which may also be torn; a file
  // may have grown without its bytes.
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
  std::map<std::string, std::size_t> names_;  // durable
  std::vector<const DiskChange*> pending_names_;
};

}  // namespace subak::test
