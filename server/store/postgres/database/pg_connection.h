// Classes that own libpq's objects: a result, parameters, a connection. These classes throw no
// exceptions. All values are sent in PostgreSQL's binary form. Threads: one at a time for a
// connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "server/store/postgres/database/address.h"

struct pg_conn;
struct pg_result;

namespace subak::postgres {

// The SQLSTATE for a missing right (insufficient_privilege).
inline constexpr std::string_view kNoRight = "42501";

// The values for the parameters of a statement, beginning with $1. Numbers are sent as BIGINT,
// bytes as BYTEA, and a list as one array.
class Parameters {
 public:
  // Each function adds one value and returns this object.
  Parameters& add(std::int64_t number);
  Parameters& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  Parameters& add(std::string_view text);
  Parameters& add_bytes(std::string_view bytes);
  // Adds one value that is an array of one dimension; it may be empty.
  Parameters& add(std::span<const std::int64_t> numbers);
  Parameters& add_bytes(std::span<const std::string> bytes);

 private:
  friend class PgConnection;
  // `type`: the number of the type in pg_type. `value`: in binary form.
  Parameters& add_value(std::uint32_t type, std::string value);
  Parameters& add_list(std::uint32_t type, std::span<const std::string> elements);

  // The types and binary forms, one for each value.
  std::vector<std::uint32_t> types_;
  std::vector<std::string> values_;
};

// The result of a statement. Rows and columns count from 0. The values of a row are valid as long
// as the result exists.
class PgResult {
 public:
  // Makes an object without a result.
  PgResult() = default;
  // Takes over the result, which may be nullptr.
  explicit PgResult(pg_result* result);
  ~PgResult();
  PgResult(PgResult&& other) noexcept;
  PgResult& operator=(PgResult&& other) noexcept;

  // True if there is a result, whether the statement succeeded or failed.
  explicit operator bool() const { return result_ != nullptr; }
  // True if the statement succeeded, whether it returned rows or not.
  bool ok() const;
  // Returns the number of rows; 0 if there is no result.
  int rows() const;
  // Returns the value of an integer column of 1 to 8 bytes. The value is not sign-extended, so a
  // column with negative numbers must be a BIGINT. NULL is 0.
  std::int64_t number(int row, int column) const;
  std::uint64_t unsigned_number(int row, int column) const {
    return static_cast<std::uint64_t>(number(row, column));
  }
  // Returns the bytes of a BYTEA or of a text; empty for NULL.
  std::string_view bytes(int row, int column) const;
  // Returns the SQLSTATE, which has five characters. Empty: the connection broke before the server
  // sent an SQLSTATE.
  std::string_view sqlstate() const;
  // Returns the server's message.
  std::string message() const;

 private:
  // This object owns it; nullptr: there is no result.
  pg_result* result_ = nullptr;
};

// The `want` of an error after which another attempt may succeed; see says_away().
inline constexpr char kWantServer[] = "want a database server that answers";
// The `want` of an error for missing rights.
inline constexpr char kWantRights[] =
    "want a role with the service's rights: its tables' owner grants them by "
    "deploy/postgres/service_role.sql";

// Says whether the connection broke during a call. kNo: it did not, so the call has a result. kCut:
// the connection failed, or the server said after a result that it ends the connection. kTooLate:
// no bytes were transferred in time.
enum class Broken : std::uint8_t { kNo, kCut, kTooLate };

// A connection to the database server. It can be opened again after it broke.
class PgConnection {
 public:
  PgConnection();
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Connects to the address, and sets up the session. It first closes a connection that is open,
  // and reads the password file. For each host of the address, it waits at most for the address's
  // connect_timeout. After an error, the connection is closed. In the session, commits are durable
  // (synchronous_commit), and a statement waits at most 0.5 s for a lock. The server ends a session
  // that is idle in a transaction for 10 s, so a dead process does not hold locks for long.
  std::optional<Error> open(const Address& address);
  // Closes the connection. If a transaction was begun, the server rolls it back. A second call does
  // nothing.
  void close();
  bool is_open() const { return connection_ != nullptr; }
  // Runs one statement. Unless a transaction was begun, the statement is a transaction of its own.
  // The call fails if no bytes are transferred for limits::kDatabaseReplyMs. If the connection
  // breaks, the call closes it, and it is unknown whether the statement had an effect. If the
  // connection is closed already, the returned object has no result.
  PgResult run(const char* sql, const Parameters& parameters = {});
  // Says whether the connection broke during the last run() or script().
  Broken broken() const { return broken_; }
  // True if the server sent a warning during the last run() or script(). For example, the server
  // sends one if it did not wait for a synchronous standby.
  bool warned() const { return warned_; }
  // Runs statements that return no rows, separated by semicolons. The statements are one
  // transaction, unless they contain BEGIN or COMMIT. Returns the result of the first statement
  // that failed, or else that of the last one. The time limit and broken connections are as for
  // run().
  PgResult script(const std::string& sql);
  // Returns the last failure as an Error with the server's message. `what`: the field of the Error,
  // such as "store.commit". If the connection broke, the `want` of the Error is kWantServer; if a
  // right is missing, it is kWantRights.
  Error error(std::string_view what, const PgResult& result) const;

 private:
  // A callback for libpq, which records a warning for warned().
  static void on_notice(void* self, const pg_result* notice);
  // Waits for all results of the statements that were sent. Returns the first result of a failure,
  // or else the last result. `sent`: false if the statements could not be sent.
  PgResult wait(bool sent);
  bool ready();
  // Records how the connection broke, and closes it. Returns an object without a result.
  PgResult cut(Broken how);

  // libpq's object; nullptr: the connection is closed.
  pg_conn* connection_ = nullptr;
  std::string words_;  // libpq's message of the last failure
  Broken broken_ = Broken::kNo;
  bool warned_ = false;
};

// Finds out why open() failed. It uses the message `words` of that failure, and asks the server
// once more. True: a server refused the connection (wrong password, missing database), or the
// server's certificate was refused. False: no server answered, or the server is starting or
// stopping.
bool is_refusal(const Address& address, std::string_view words);

}  // namespace subak::postgres
