// Classes that own libpq's objects: a result, parameters, a connection. They throw no exceptions.
// All values are sent in PostgreSQL's binary form. Threads: one at a time for a connection.
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

// The SQLSTATE insufficient_privilege.
inline constexpr std::string_view kNoRight = "42501";

// The values of a statement, beginning with $1. Numbers are BIGINT, bytes are BYTEA, and a list is
// one array.
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

// A result. Rows and columns count from 0. The values of a row are valid as long as the result.
class PgResult {
 public:
  // Makes an object without a result.
  PgResult() = default;
  // Takes over the result, which may be nullptr.
  explicit PgResult(pg_result* result);
  ~PgResult();
  PgResult(PgResult&& other) noexcept;
  PgResult& operator=(PgResult&& other) noexcept;

  // True if there is a result, of success or of failure.
  explicit operator bool() const { return result_ != nullptr; }
  // True if the statement succeeded, with rows or without.
  bool ok() const;
  // Returns the number of rows; 0 if there is no result.
  int rows() const;
  // Returns a binary integer of 1 to 8 bytes. It is not sign-extended, so a column with negative
  // numbers must be a BIGINT. NULL is 0.
  std::int64_t number(int row, int column) const;
  std::uint64_t unsigned_number(int row, int column) const {
    return static_cast<std::uint64_t>(number(row, column));
  }
  // Returns the bytes of a BYTEA or of a text; empty for NULL.
  std::string_view bytes(int row, int column) const;
  // Returns the SQLSTATE, five characters. Empty: the connection broke before there was one.
  std::string_view sqlstate() const;
  // Returns the server's message.
  std::string message() const;

 private:
  // Owned; nullptr: none.
  pg_result* result_ = nullptr;
};

// `want` of an error after which another attempt may succeed; see says_away().
inline constexpr char kWantServer[] = "want a database server that answers";
// `want` of an error for missing rights.
inline constexpr char kWantRights[] =
    "want a role with the service's rights: its tables' owner grants them by "
    "deploy/postgres/service_role.sql";

// Why a call has no result. kNo: it has one, of success or of failure. kCut: the connection failed,
// or the server said after a result that it ends the connection. kTooLate: no bytes were
// transferred in time.
enum class Broken : std::uint8_t { kNo, kCut, kTooLate };

class PgConnection {
 public:
  PgConnection();
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Closes an open connection, reads the password file, connects, and sets up the session. In this
  // session, commits are durable (synchronous_commit), and a statement waits 0.5 s for a lock. The
  // server ends a session that is idle in a transaction for 10 s, so a dead process does not hold
  // locks for long. For each host of the address, it waits for the address's connect_timeout. After
  // an error the connection is closed.
  std::optional<Error> open(const Address& address);
  // Closes the connection. The server rolls back a transaction that was begun. Idempotent.
  void close();
  bool is_open() const { return connection_ != nullptr; }
  // Runs one statement. The statement is its own transaction, unless a transaction was begun. The
  // call fails if no bytes are transferred for limits::kDatabaseReplyMs. If the connection breaks,
  // the call closes it, and the outcome of the statement is unknown. On a closed connection there
  // is no result.
  PgResult run(const char* sql, const Parameters& parameters = {});
  // Says why the last run() had no result.
  Broken broken() const { return broken_; }
  // True if the server sent a warning during the last run(). It does so if it did not wait for a
  // synchronous standby.
  bool warned() const { return warned_; }
  // Runs statements without results, separated by semicolons. They are one transaction, unless they
  // contain BEGIN or COMMIT. Returns the first result that failed, or else the last. Time limits
  // and broken connections are as for run().
  PgResult script(const std::string& sql);
  // Returns the last failure with the server's message. `what` is the error's field
  // ("store.commit"). After a broken connection, the error's `want` is kWantServer; for a missing
  // right it is kWantRights.
  Error error(std::string_view what, const PgResult& result) const;

 private:
  // A callback for libpq, which records a warning for warned().
  static void on_notice(void* self, const pg_result* notice);
  // Waits for all results of the statements that were sent. Returns the first result that failed,
  // or else the last. `sent` false: they could not be sent.
  PgResult wait(bool sent);
  bool ready();
  // Records how the call broke and closes the connection. Returns an object without a result.
  PgResult cut(Broken how);

  // nullptr: closed.
  pg_conn* connection_ = nullptr;
  std::string words_;  // libpq's message of the last failure
  Broken broken_ = Broken::kNo;
  bool warned_ = false;
};

// Finds out why open() failed, from its message `words` and by asking the server once more. True: a
// server refused the connection (wrong password, missing database), or its certificate was refused.
// False: no server answered, or the server is starting or stopping.
bool is_refusal(const Address& address, std::string_view words);

}  // namespace subak::postgres
