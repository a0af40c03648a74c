#include "server/store/file/connection.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace subak {
namespace {

const char* advice(int code) {
  switch (code) {
    case SQLITE_FULL:
      return "want room on its disk: free some, then start again";
    case SQLITE_IOERR:
      return "want a disk that can be written: look at its free room, its quota and the system's "
             "log";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "want a file and a folder that this user can write";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "want an undamaged store: restore a backup with `subak admin restore`";
    default:
      return "want a store that can be read and written; look at the disk and the file's owner";
  }
}

}  // namespace

Connection::~Connection() { sqlite3_close_v2(db_); }

bool Connection::open(const std::string& path, OpenMode mode) {
  path_ = path;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == OpenMode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == OpenMode::kCreate) flags |= SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) return false;
  // Subak's own writers take turns by a mutex. The timeout is for a backup tool that holds a lock
  // for a moment.
  sqlite3_busy_timeout(db_, 5000);
  return true;
}

void Connection::copy_log_at_close(bool wanted) {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, wanted ? 0 : 1, nullptr);
}

bool Connection::exec(const char* sql) {
  return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::optional<std::string> Connection::text(const char* sql) {
  Statement query;
  if (!query.prepare(*this, sql) || !query.step()) return std::nullopt;
  return std::string(query.text(0));
}

std::optional<std::int64_t> Connection::number(const char* sql) {
  Statement query;
  if (!query.prepare(*this, sql) || !query.step()) return std::nullopt;
  return query.number(0);
}

Error Connection::error(std::string_view what) const {
  std::string got = sqlite3_errmsg(db_);
  const bool by_system = code() == SQLITE_IOERR || code() == SQLITE_CANTOPEN;
  const int system = by_system ? sqlite3_system_errno(db_) : 0;
  if (system != 0) got += std::string(" (") + std::strerror(system) + ")";
  return Error{ErrorCode::kPrecondition, std::string(what) + " " + path_, std::move(got),
               advice(code())};
}

int Connection::code() const { return sqlite3_errcode(db_) & 0xff; }

Statement::~Statement() { sqlite3_finalize(stmt_); }

Statement::Statement(Statement&& other) noexcept
    : stmt_(std::exchange(other.stmt_, nullptr)), failed_(other.failed_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(stmt_, other.stmt_);
  std::swap(failed_, other.failed_);
  return *this;
}

bool Statement::prepare(Connection& db, std::string_view sql) {
  sqlite3_finalize(std::exchange(stmt_, nullptr));
  failed_ = sqlite3_prepare_v3(db.get(), sql.data(), static_cast<int>(sql.size()),
                               SQLITE_PREPARE_PERSISTENT, &stmt_, nullptr) != SQLITE_OK;
  return !failed_;
}

void Statement::bind(int parameter, std::int64_t value) {
  if (sqlite3_bind_int64(stmt_, parameter, value) != SQLITE_OK) failed_ = true;
}

void Statement::bind(int parameter, std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();  // nullptr would bind NULL
  if (sqlite3_bind_text64(stmt_, parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8) !=
      SQLITE_OK) {
    failed_ = true;
  }
}

void Statement::bind_blob(int parameter, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  if (sqlite3_bind_blob64(stmt_, parameter, data, bytes.size(), SQLITE_STATIC) != SQLITE_OK) {
    failed_ = true;
  }
}

bool Statement::step() {
  if (failed_) return false;
  const int rc = sqlite3_step(stmt_);
  failed_ = rc != SQLITE_ROW && rc != SQLITE_DONE;
  return rc == SQLITE_ROW;
}

bool Statement::run() {
  step();
  const bool ok = !failed_;
  reset();
  return ok;
}

void Statement::reset() {
  sqlite3_reset(stmt_);
  failed_ = stmt_ == nullptr;
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(stmt_, column); }

std::string_view Statement::text(int column) const {
  const auto* data = sqlite3_column_text(stmt_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column));
  return {reinterpret_cast<const char*>(data), data == nullptr ? 0 : size};
}

std::string_view Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(stmt_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column));
  return {static_cast<const char*>(data), data == nullptr ? 0 : size};
}

}  // namespace subak
