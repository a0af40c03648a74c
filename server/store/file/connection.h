// Owners for SQLite's C interface: a connection, a prepared statement. Nothing throws. A failed
// call says so, and error() has SQLite's message. Threads: one at a time per connection and its
// statements (connections are opened without SQLite's own mutexes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace subak {

// How a connection opens its file.
// Only kCreate makes a missing file. kReadOnly refuses writes.
enum class OpenMode : std::uint8_t { kReadOnly, kReadWrite, kCreate };

// Closes itself when destroyed, at the latest when its last Statement is gone. Not copyable: pass a
// reference.
class Connection {
 public:
  Connection() = default;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Once per object. A call waits up to 5 s for another program's lock. kCreate makes a missing
  // file; the others fail on it. ":memory:" is a database without a file. False: see error().
  bool open(const std::string& path, OpenMode mode);
  // Sets whether the last connection to close copies the log into the file, SQLite's default. Off,
  // a refused store stays as it was found.
  // Only after open().
  void copy_log_at_close(bool wanted);
  // Runs statements separated by semicolons.
  // Rows are discarded. After a failure the statements before the failed one stay done.
  bool exec(const char* sql);
  // Returns the first column of the first row as text; nullopt if there is none or it fails.
  // An SQL NULL is an empty text, and 0 as a number.
  std::optional<std::string> text(const char* sql);
  std::optional<std::int64_t> number(const char* sql);
  // Returns SQLite's message for the last failure, as an Error whose field is `what`
  // ("store.commit") and the file. Call it before the next call, also before a rollback, which has
  // a message of its own.
  // kPrecondition. It adds the system's own error for a failed access, and advises by the code.
  Error error(std::string_view what) const;
  // SQLITE_OK, SQLITE_BUSY and so on, without the extended part.
  // Of the last call, the primary result code.
  int code() const;
  // Owned by this object; null before open().
  sqlite3* get() const { return db_; }
  const std::string& path() const { return path_; }

 private:
  // Owned; nullptr before open().
  sqlite3* db_ = nullptr;
  std::string path_;
};

// A prepared statement. Parameters count from 1 and columns from 0, as in SQLite. Bound text and
// blobs are not copied: they must live until the next reset().
// The connection must outlive its use.
class Statement {
 public:
  Statement() = default;
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  // Replaces the statement that it had. `sql` is not needed afterwards. False: ask the connection.
  bool prepare(Connection& db, std::string_view sql);
  // A failure is remembered: the next step() fails. A null view is bound as empty text, not as
  // NULL. An unsigned number is stored with the same 64 bits.
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::uint64_t value) {
    bind(parameter, static_cast<std::int64_t>(value));
  }
  void bind(int parameter, std::string_view text);
  void bind_blob(int parameter, std::string_view bytes);
  // Steps. True: there is a row. False: no more rows, or it failed: see failed().
  bool step();
  // True after a failed bind, step or run, until reset().
  bool failed() const { return failed_; }
  // Runs a statement without rows and makes it ready for the next parameters.
  // It binds nothing new: parameters keep their values until they are bound again. False: it
  // failed, ask the connection.
  bool run();
  // Clears failed(), but for a statement that was never prepared.
  void reset();

  // Values of the present row. SQLite converts other types; NULL is 0 or empty.
  std::int64_t number(int column) const;
  std::uint64_t unsigned_number(int column) const {
    return static_cast<std::uint64_t>(number(column));
  }
  // Both are valid until the next step.
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  // Owned; nullptr before prepare().
  sqlite3_stmt* stmt_ = nullptr;
  bool failed_ = false;
};

}  // namespace subak
