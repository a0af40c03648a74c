// Classes that own the objects of SQLite's C interface: a connection, a prepared statement. They
// throw no exceptions. The result of a call says if it failed, and error() has SQLite's message.
// Threads: one at a time for a connection and its statements (connections are opened without
// SQLite's own mutexes).
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

// A connection to a SQLite file. The destructor closes it. If Statements still exist, it closes
// when the last of them is destroyed.
class Connection {
 public:
  Connection() = default;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Opens the file. Call it once for each object. Only kCreate makes a missing file. ":memory:" is
  // a database without a file. False: it failed, see error().
  // Later calls wait up to 5 s for another program's lock.
  bool open(const std::string& path, OpenMode mode);
  // Sets whether the last connection, when it closes, copies the log into the file. SQLite does so
  // by default. If it is off, a refused store stays unchanged.
  // Call it after open().
  void copy_log_at_close(bool wanted);
  // Runs statements separated by semicolons, and discards their rows.
  // If a statement fails, the statements before it stay done.
  bool exec(const char* sql);
  // Return the first column of the first row as text or as a number. nullopt: there is no row, or
  // the statement failed.
  // An SQL NULL is an empty text, and 0 as a number.
  std::optional<std::string> text(const char* sql);
  std::optional<std::int64_t> number(const char* sql);
  // Returns SQLite's message for the last failure, as an Error whose field is `what`
  // ("store.commit") and the file. Call it before any other call, also before a rollback, since
  // that call changes the message.
  // The error is kPrecondition. For a failed access it also has the system's error. The remedy
  // depends on the code.
  Error error(std::string_view what) const;
  // Returns the primary result code of the last call: SQLITE_OK, SQLITE_BUSY and so on.
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
// blobs are not copied: they must exist until the next reset().
// The connection must exist as long as the statement is used.
class Statement {
 public:
  Statement() = default;
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  // Prepares `sql`, and drops an earlier statement. `sql` is not used after the call. False: it
  // failed, see Connection::error().
  bool prepare(Connection& db, std::string_view sql);
  // Bind a value. If that fails, the next step() fails. A null view is bound as empty text, not as
  // NULL. An unsigned number is stored with the same 64 bits.
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::uint64_t value) {
    bind(parameter, static_cast<std::int64_t>(value));
  }
  void bind(int parameter, std::string_view text);
  void bind_blob(int parameter, std::string_view bytes);
  // Goes to the next row. True: there is a row. False: there is no further row, or
  // it failed, see failed().
  bool step();
  // True after a failed bind, step or run, until reset().
  bool failed() const { return failed_; }
  // Runs a statement without rows and makes it ready for the next run. False:
  // it failed, see Connection::error().
  // Parameters have their values until they are bound again.
  bool run();
  // Makes the statement ready for the next run, and clears failed() if it was prepared.
  void reset();

  // Return a value of the present row. SQLite converts other types; NULL becomes 0 or empty.
  std::int64_t number(int column) const;
  std::uint64_t unsigned_number(int column) const {
    return static_cast<std::uint64_t>(number(column));
  }
  // The result of text() and blob() is valid until the next step().
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  // Owned; nullptr before prepare().
  sqlite3_stmt* stmt_ = nullptr;
  bool failed_ = false;
};

}  // namespace subak
