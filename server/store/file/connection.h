// Classes that own the objects of SQLite's C interface: a connection and a prepared statement.
// These classes throw no exceptions. The result of a call says whether the call failed, and error()
// has SQLite's message. Threads: one at a time for a connection together with its statements, since
// connections are opened without SQLite's own mutexes.
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

// A connection to a SQLite file. The destructor closes the connection. If Statements of it still
// exist, the connection closes when the last of them is destroyed.
class Connection {
 public:
  Connection() = default;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Opens the file. Call it once for each object. The path ":memory:" stands for a database without
  // a file. False: the call failed, see error(). Later calls of this object wait up to 5 s for the
  // lock of another program.
  bool open(const std::string& path, OpenMode mode);
  // Sets whether the log is copied into the file when the last connection closes. By default,
  // SQLite copies it. With `wanted` false, a store that the service refuses stays unchanged. Call
  // it after open().
  void copy_log_at_close(bool wanted);
  // Runs statements that are separated by semicolons, and discards their rows. False: a statement
  // failed. The statements before it have taken effect.
  bool exec(const char* sql);
  // text() and number() run a statement and return the first column of its first row. nullopt:
  // there is no row, or the statement failed. An SQL NULL is returned as an empty text or as 0.
  std::optional<std::string> text(const char* sql);
  std::optional<std::int64_t> number(const char* sql);
  // Returns SQLite's message for the last failure as an Error (kPrecondition). Error::field has
  // `what`, such as "store.commit", and the file. If an access to the file failed, the Error has
  // the system's error too. Error::want says what to do, depending on SQLite's code. Call error()
  // before any other call, even before a rollback, since another call changes SQLite's message.
  Error error(std::string_view what) const;
  // Returns the primary result code of the last call: SQLITE_OK, SQLITE_BUSY and so on.
  int code() const;
  // Returns SQLite's object of the connection, which this Connection owns; null before open().
  sqlite3* get() const { return db_; }
  const std::string& path() const { return path_; }

 private:
  // This object owns it; nullptr before open().
  sqlite3* db_ = nullptr;
  std::string path_;
};

// A prepared statement. Parameters count from 1 and columns from 0, as in SQLite. Texts and blobs
// that are bound are not copied, so they must exist until they are bound again or the statement has
// run for the last time. The connection must exist as long as the statement is used.
class Statement {
 public:
  Statement() = default;
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  // Prepares `sql`, and drops the earlier statement of this object. `sql` need not exist after the
  // call. False: the call failed, see Connection::error().
  bool prepare(Connection& db, std::string_view sql);
  // bind() and bind_blob() bind a value to a parameter. If that fails, the next step() fails. A
  // null string_view is bound as an empty text, not as NULL. An unsigned number is stored with the
  // same 64 bits.
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::uint64_t value) {
    bind(parameter, static_cast<std::int64_t>(value));
  }
  void bind(int parameter, std::string_view text);
  void bind_blob(int parameter, std::string_view bytes);
  // Goes to the next row. False: there is no further row, or the call failed (failed()).
  bool step();
  // True after a failed bind, step or run, until reset().
  bool failed() const { return failed_; }
  // Runs a statement that returns no rows, and makes it ready for the next run. False: the call
  // failed, see Connection::error(). Parameters have the same values in the next run unless they
  // are bound again.
  bool run();
  // Makes the statement ready for the next run. It clears failed(), unless prepare() failed.
  void reset();

  // number(), unsigned_number(), text() and blob() return a value of the present row. SQLite
  // converts a value of another type; NULL becomes 0 or empty.
  std::int64_t number(int column) const;
  std::uint64_t unsigned_number(int column) const {
    return static_cast<std::uint64_t>(number(column));
  }
  // The results of text() and blob() are valid until the next step().
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  // This object owns it; nullptr before prepare().
  sqlite3_stmt* stmt_ = nullptr;
  bool failed_ = false;
};

}  // namespace subak
