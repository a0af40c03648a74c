#include "forgetting_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <utility>

namespace subak::test {
namespace {

using Kind = DiskChange::Kind;

struct Handle;

// A file, and what SQLite's connections in this process share about it.
struct Inode {
  std::size_t number = 0;
  bool kept = true;        // false: a temporary file without a name
  bool new_entry = false;  // a journal or log whose first sync is also one of the folder
  std::string bytes;
  std::vector<Handle*> open;                                          // for locks
  std::vector<std::unique_ptr<std::array<std::byte, 32768>>> shared;  // the index of the log
};

struct Handle {
  sqlite3_file base;  // first: SQLite has pointers to it
  ForgettingDisk::Impl* disk;
  std::shared_ptr<Inode> inode;
  int lock;  // SQLITE_LOCK_*
  unsigned shm_shared, shm_exclusive;
};

}  // namespace

struct ForgettingDisk::Impl {
  explicit Impl(Files files);
  ~Impl();

  int open(const char* name, Handle& handle, int flags);
  int remove(const char* name, bool sync_folder);
  int read(const Handle& handle, char* out, std::size_t size, std::uint64_t at) const;
  int change(const Handle& handle, DiskChange change);
  int lock(Handle& handle, int level);
  int lock_shared_memory(Handle& handle, unsigned slots, int flags);
  std::optional<int> fault(const DiskChange& change);
  bool is_full() const {
    return lasting && fault_kind == Fault::kFull && history.size() >= fail_from;
  }

  mutable std::mutex mutex;
  sqlite3_vfs vfs{};
  std::map<std::string, std::shared_ptr<Inode>> names;
  std::size_t files_made = 0;
  std::vector<DiskChange> history;
  std::uint64_t fail_from = UINT64_MAX;
  Fault fault_kind = Fault::kIoError;
  bool lasting = false;
  bool stopped = false;
  std::atomic<bool> sync_off{false};
  std::minstd_rand random{7};
};

namespace {

Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
ForgettingDisk::Impl& of(sqlite3_vfs* vfs) {
  return *static_cast<ForgettingDisk::Impl*>(vfs->pAppData);
}

// --- a file --------------------------------------------------------------------------------------

int close_file(sqlite3_file* file) {
  Handle& handle = of(file);
  {
    const std::lock_guard lock(handle.disk->mutex);
    std::erase(handle.inode->open, &handle);
  }
  handle.~Handle();
  return SQLITE_OK;
}
int read_file(sqlite3_file* file, void* out, int size, sqlite3_int64 at) {
  return of(file).disk->read(of(file), static_cast<char*>(out), static_cast<std::size_t>(size),
                             static_cast<std::uint64_t>(at));
}
int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  DiskChange change{Kind::kWrite, 0, static_cast<std::uint64_t>(at), {}, false};
  change.bytes.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  return of(file).disk->change(of(file), std::move(change));
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return of(file).disk->change(of(file),
                               {Kind::kTruncate, 0, static_cast<std::uint64_t>(size), {}, false});
}
int sync_file(sqlite3_file* file, int) {
  return of(file).disk->change(of(file), {Kind::kSync, 0, 0, {}, false});
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  const std::lock_guard lock(of(file).disk->mutex);
  *size = static_cast<sqlite3_int64>(of(file).inode->bytes.size());
  return SQLITE_OK;
}
int lock_file(sqlite3_file* file, int level) { return of(file).disk->lock(of(file), level); }
int unlock_file(sqlite3_file* file, int level) {
  const std::lock_guard lock(of(file).disk->mutex);
  of(file).lock = std::min(of(file).lock, level);
  return SQLITE_OK;
}
int reserved(sqlite3_file* file, int* out) {
  const std::lock_guard lock(of(file).disk->mutex);
  const auto& open = of(file).inode->open;
  *out = std::any_of(open.begin(), open.end(),
                     [](const Handle* h) { return h->lock >= SQLITE_LOCK_RESERVED; });
  return SQLITE_OK;
}
// Keeps what without_sync() has set: the store's own pragma counts as done.
int control(sqlite3_file* file, int operation, void* data) {
  if (operation != SQLITE_FCNTL_PRAGMA || !of(file).disk->sync_off) return SQLITE_NOTFOUND;
  char** const pragma = static_cast<char**>(data);
  const bool ours = std::strcmp(pragma[1], "synchronous") == 0 && pragma[2] != nullptr &&
                    std::strcmp(pragma[2], "OFF") != 0;
  return ours ? SQLITE_OK : SQLITE_NOTFOUND;
}
int open_without_sync(sqlite3* db, const char**, const sqlite3_api_routines*) {
  return sqlite3_exec(db, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);
}
void (*const kOpenWithoutSync)() = reinterpret_cast<void (*)()>(open_without_sync);
int sector_size(sqlite3_file*) { return 4096; }
// As SQLite's own VFS says of a disk of which it knows nothing.
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int map_shared(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  const std::lock_guard lock(of(file).disk->mutex);
  auto& shared = of(file).inode->shared;
  const auto wanted = static_cast<std::size_t>(region);
  *out = nullptr;
  if (wanted >= shared.size() && extend == 0) return SQLITE_OK;
  if (wanted >= shared.size() && of(file).disk->is_full()) return SQLITE_IOERR_SHMSIZE;
  while (shared.size() <= wanted) {
    shared.push_back(std::make_unique<std::array<std::byte, 32768>>());
  }
  *out = shared[wanted]->data();
  return static_cast<std::size_t>(size) == shared[wanted]->size() ? SQLITE_OK : SQLITE_IOERR_SHMMAP;
}
int lock_shared(sqlite3_file* file, int first, int count, int flags) {
  const unsigned slots = ((1u << count) - 1) << first;
  return of(file).disk->lock_shared_memory(of(file), slots, flags);
}
// A write of an atomic, since ThreadSanitizer knows no fences.
void barrier(sqlite3_file*) {
  static std::atomic<int> everybody{0};
  everybody.fetch_add(1, std::memory_order_seq_cst);
}
int unmap_shared(sqlite3_file* file, int remove) {
  const std::lock_guard lock(of(file).disk->mutex);
  of(file).shm_shared = of(file).shm_exclusive = 0;
  if (remove != 0) of(file).inode->shared.clear();
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods{
    2,           close_file,  read_file,    write_file, truncate_file, sync_file,       file_size,
    lock_file,   unlock_file, reserved,     control,    sector_size,   characteristics, map_shared,
    lock_shared, barrier,     unmap_shared, nullptr,    nullptr};

// --- the folder ----------------------------------------------------------------------------------

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  auto* handle = new (file) Handle{{nullptr}, &of(vfs), nullptr, SQLITE_LOCK_NONE, 0, 0};
  const int code = of(vfs).open(name, *handle, flags);
  if (code != SQLITE_OK) {
    handle->~Handle();
    return code;
  }
  handle->base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}
int remove_file(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  return of(vfs).remove(name, sync_folder != 0);
}
int access(sqlite3_vfs* vfs, const char* name, int, int* out) {
  const std::lock_guard lock(of(vfs).mutex);
  *out = of(vfs).names.count(name) > 0 ? 1 : 0;
  return of(vfs).stopped ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}
int full_name(sqlite3_vfs*, const char* name, int size, char* out) {
  if (std::strlen(name) >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::strcpy(out, name);
  return SQLITE_OK;
}
int random_bytes(sqlite3_vfs* vfs, int size, char* out) {
  const std::lock_guard lock(of(vfs).mutex);
  for (int i = 0; i < size; ++i) out[i] = static_cast<char>(of(vfs).random());
  return size;
}
int sleep(sqlite3_vfs*, int us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
  return us;
}
int now(sqlite3_vfs*, double* julian_day) {
  *julian_day = 2461000.5;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) { return 0; }

// A write that fails on the way: about half of its sectors, each of them whole.
void halve(DiskChange& change) {
  constexpr std::uint64_t kSector = 512;
  const std::uint64_t end = (change.at + change.bytes.size() / 2) / kSector * kSector;
  change.bytes.resize(end > change.at ? end - change.at : 0);
}

}  // namespace

ForgettingDisk::Impl::Impl(Files files) {
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(Handle);
  vfs.mxPathname = 512;
  vfs.zName = "forgetting";
  vfs.pAppData = this;
  vfs.xOpen = open_file;
  vfs.xDelete = remove_file;
  vfs.xAccess = access;
  vfs.xFullPathname = full_name;
  vfs.xRandomness = random_bytes;
  vfs.xSleep = sleep;
  vfs.xCurrentTime = now;
  vfs.xGetLastError = last_error;
  for (auto& [name, bytes] : files) {
    const auto inode = std::make_shared<Inode>();
    inode->number = files_made++;
    inode->bytes = std::move(bytes);
    names[name] = inode;
  }
  sqlite3_initialize();  // before it registers its own
  sqlite3_vfs_register(&vfs, 1);
}

ForgettingDisk::Impl::~Impl() {
  sqlite3_vfs_unregister(&vfs);
  if (sync_off) sqlite3_cancel_auto_extension(kOpenWithoutSync);
}

int ForgettingDisk::Impl::open(const char* name, Handle& handle, int flags) {
  const std::lock_guard lock(mutex);
  if (stopped) return SQLITE_CANTOPEN;
  if (name == nullptr) {
    handle.inode = std::make_shared<Inode>();
    handle.inode->kept = false;
    return SQLITE_OK;
  }
  const auto known = names.find(name);
  if (known != names.end()) {
    handle.inode = known->second;
  } else {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    const DiskChange made{Kind::kCreate, files_made, 0, name, false};
    if (fault(made)) return SQLITE_CANTOPEN;
    handle.inode = std::make_shared<Inode>();
    handle.inode->number = files_made++;
    handle.inode->new_entry = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    names[name] = handle.inode;
    history.push_back(made);
  }
  handle.inode->open.push_back(&handle);
  return SQLITE_OK;
}

int ForgettingDisk::Impl::remove(const char* name, bool sync_folder) {
  const std::lock_guard lock(mutex);
  const auto known = names.find(name);
  if (known == names.end()) return SQLITE_IOERR_DELETE_NOENT;
  const DiskChange change{Kind::kRemove, known->second->number, 0, name, sync_folder};
  if (fault(change)) return SQLITE_IOERR_DELETE;
  names.erase(known);
  history.push_back(change);
  return SQLITE_OK;
}

int ForgettingDisk::Impl::read(const Handle& handle, char* out, std::size_t size,
                               std::uint64_t at) const {
  const std::lock_guard lock(mutex);
  if (stopped) return SQLITE_IOERR_READ;
  const std::string& bytes = handle.inode->bytes;
  const std::size_t there = at < bytes.size() ? std::min(size, bytes.size() - at) : 0;
  if (there > 0) bytes.copy(out, there, at);
  std::memset(out + there, 0, size - there);
  return there == size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

// The code with which it fails, if it does.
std::optional<int> ForgettingDisk::Impl::fault(const DiskChange& change) {
  if (stopped) return SQLITE_IOERR;
  const std::uint64_t point = history.size();
  if (point < fail_from) return std::nullopt;
  const bool takes_room = change.kind == Kind::kWrite || change.kind == Kind::kTruncate;
  if (fault_kind == Fault::kFull && !takes_room) return std::nullopt;
  if (!lasting) fail_from = UINT64_MAX;
  if (fault_kind == Fault::kFull) return SQLITE_FULL;
  return change.kind == Kind::kSync ? SQLITE_IOERR_FSYNC : SQLITE_IOERR_WRITE;
}

int ForgettingDisk::Impl::change(const Handle& handle, DiskChange change) {
  const std::lock_guard lock(mutex);
  Inode& inode = *handle.inode;
  change.file = inode.number;
  const std::optional<int> code = inode.kept ? fault(change) : std::nullopt;
  if (code && change.kind == Kind::kWrite && !stopped) halve(change);
  if (code && (change.kind != Kind::kWrite || stopped)) return *code;
  if (change.kind == Kind::kTruncate) inode.bytes.resize(change.at, '\0');
  if (change.kind == Kind::kSync) change.folder = std::exchange(inode.new_entry, false);
  if (change.kind == Kind::kWrite) {
    const std::size_t end = change.at + change.bytes.size();
    if (inode.bytes.size() < end) inode.bytes.resize(end, '\0');
    std::memcpy(inode.bytes.data() + change.at, change.bytes.data(), change.bytes.size());
  }
  if (inode.kept) history.push_back(std::move(change));
  return code.value_or(SQLITE_OK);
}

// https://www.sqlite.org/lockingv3.html: many may be SHARED, one RESERVED beside them; PENDING lets
// no new one in; EXCLUSIVE is alone.
int ForgettingDisk::Impl::lock(Handle& handle, int level) {
  const std::lock_guard guard(mutex);
  if (handle.lock >= level) return SQLITE_OK;
  int others = SQLITE_LOCK_NONE;
  for (const Handle* other : handle.inode->open) {
    if (other != &handle) others = std::max(others, other->lock);
  }
  if (level == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  if (level >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
  if (level == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
    handle.lock = SQLITE_LOCK_PENDING;
    return SQLITE_BUSY;
  }
  handle.lock = level;
  return SQLITE_OK;
}

int ForgettingDisk::Impl::lock_shared_memory(Handle& handle, unsigned slots, int flags) {
  const std::lock_guard lock(mutex);
  unsigned& mine = (flags & SQLITE_SHM_SHARED) != 0 ? handle.shm_shared : handle.shm_exclusive;
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    mine &= ~slots;
    return SQLITE_OK;
  }
  for (const Handle* other : handle.inode->open) {
    if (other == &handle) continue;
    const bool shared = (flags & SQLITE_SHM_SHARED) != 0;
    const unsigned taken = other->shm_exclusive | (shared ? 0u : other->shm_shared);
    if ((taken & slots) != 0) return SQLITE_BUSY;
  }
  mine |= slots;
  return SQLITE_OK;
}

ForgettingDisk::ForgettingDisk(Files files) : impl_(std::make_unique<Impl>(std::move(files))) {}
ForgettingDisk::~ForgettingDisk() = default;

std::uint64_t ForgettingDisk::points() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->history.size();
}

void ForgettingDisk::fail_at(std::uint64_t point, Fault fault, bool lasting) {
  const std::lock_guard lock(impl_->mutex);
  impl_->fail_from = point;
  impl_->fault_kind = fault;
  impl_->lasting = lasting;
}

void ForgettingDisk::stop() {
  const std::lock_guard lock(impl_->mutex);
  impl_->stopped = true;
}

void ForgettingDisk::without_sync() {
  impl_->sync_off = true;
  sqlite3_auto_extension(kOpenWithoutSync);
}

Files ForgettingDisk::files() const {
  const std::lock_guard lock(impl_->mutex);
  Files out;
  for (const auto& [name, inode] : impl_->names) out[name] = inode->bytes;
  return out;
}

const std::vector<DiskChange>& ForgettingDisk::history() const { return impl_->history; }

}  // namespace subak::test
