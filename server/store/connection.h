// SQLite's C interface with owners: a connection, a prepared statement. Nothing throws; a call that
// fails says so, and error() has SQLite's words. Threads: one at a time per connection and its
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

enum class OpenMode : std::uint8_t { kReadOnly, kReadWrite, kCreate };

class Connection {
 public:
  Connection() = default;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool open(const std::string& path, OpenMode mode);
  // Whether the last connection to close copies the log into the file (SQLite's way, and the
  // default): a store that is refused stays as it was found.
  void copy_log_at_close(bool wanted);
  // Runs statements separated by semicolons.
  bool exec(const char* sql);
  // The first column of the first row as text; nullopt if there is none or it fails.
  std::optional<std::string> text(const char* sql);
  std::optional<std::int64_t> number(const char* sql);
  // SQLite's words for the last failure, as an Error whose field is `what` ("store.commit") and the
  // file. Ask before the next call, a rollback too: that has words of its own.
  Error error(std::string_view what) const;
  int code() const;  // primary result code of the last call
  sqlite3* get() const { return db_; }
  const std::string& path() const { return path_; }

 private:
  sqlite3* db_ = nullptr;
  std::string path_;
};

// Parameters and columns count from 1 and from 0, as in SQLite. Bound text and blobs are not
// copied: they must live until the next reset().
class Statement {
 public:
  Statement() = default;
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  bool prepare(Connection& db, std::string_view sql);
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::uint64_t value) {
    bind(parameter, static_cast<std::int64_t>(value));
  }
  void bind(int parameter, std::string_view text);
  void bind_blob(int parameter, std::string_view bytes);
  // True: there is a row. False: no more rows, or it failed: see failed().
  bool step();
  bool failed() const { return failed_; }
  // Runs a statement without rows and makes it ready for the next parameters.
  bool run();
  void reset();

  std::int64_t number(int column) const;
  std::uint64_t unsigned_number(int column) const {
    return static_cast<std::uint64_t>(number(column));
  }
  std::string_view text(int column) const;  // valid until the next step
  std::string_view blob(int column) const;

 private:
  sqlite3_stmt* stmt_ = nullptr;
  bool failed_ = false;
};

}  // namespace subak
