// Owners for libpq: a result, parameters, a connection. Nothing throws. All values travel in
// PostgreSQL's binary form. Threads: one at a time per connection.
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

// The values of a statement, $1 first. Numbers are BIGINT, bytes BYTEA; a list is one array.
class Parameters {
 public:
  // Each adds one value and returns this object.
  Parameters& add(std::int64_t number);
  Parameters& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  Parameters& add(std::string_view text);
  Parameters& add_bytes(std::string_view bytes);
  // One value that is an array of one dimension; it may be empty.
  Parameters& add(std::span<const std::int64_t> numbers);
  Parameters& add_bytes(std::span<const std::string> bytes);

 private:
  friend class PgConnection;
  // `type`: the number of its type in pg_type. `value`: in binary form.
  Parameters& add_value(std::uint32_t type, std::string value);
  Parameters& add_list(std::uint32_t type, std::span<const std::string> elements);

  // One for each value.
  std::vector<std::uint32_t> types_;
  std::vector<std::string> values_;
};

// A result. Rows and columns count from 0. The values of a row live as long as the result.
class PgResult {
 public:
  // No result.
  PgResult() = default;
  // Takes over the result, which may be nullptr.
  explicit PgResult(pg_result* result);
  ~PgResult();
  PgResult(PgResult&& other) noexcept;
  PgResult& operator=(PgResult&& other) noexcept;

  // There is a result, good or not.
  explicit operator bool() const { return result_ != nullptr; }
  // The statement succeeded, with rows or without.
  bool ok() const;
  // 0 also without a result.
  int rows() const;
  // Reads a binary integer of 1 to 8 bytes, not sign-extended: a negative one needs a BIGINT. NULL
  // is 0.
  std::int64_t number(int row, int column) const;
  std::uint64_t unsigned_number(int row, int column) const {
    return static_cast<std::uint64_t>(number(row, column));
  }
  // Returns the bytes of a BYTEA or of a text; empty for NULL.
  std::string_view bytes(int row, int column) const;
  // Returns five characters; empty: the connection broke before any came.
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

// How a call ended that has no result. kCut: the connection failed; also if the server
// announced its end behind a result. kTooLate: nothing was transferred in time. kNo: the call was
// answered, well or not.
enum class Broken : std::uint8_t { kNo, kCut, kTooLate };

class PgConnection {
 public:
  PgConnection();
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Closes an open connection, reads the password file, connects, and sets the session up. Commits
  // are then durable (synchronous_commit), and a statement waits 0.5 s for a lock. The server ends
  // a session that is idle in a transaction for 10 s, so a dead process does not keep locks. The
  // wait for each host of the address is its connect_timeout. On an error the connection stays
  // closed.
  std::optional<Error> open(const Address& address);
  // Idempotent. A transaction that was begun is rolled back.
  void close();
  bool is_open() const { return connection_ != nullptr; }
  // Runs one statement, sent with its Sync, so it is a transaction of its own unless one was begun.
  // It fails if the connection transfers nothing for limits::kDatabaseReplyMs. A call that breaks
  // closes the connection, and the outcome of the statement is then unknown. On a closed connection
  // there is no result.
  PgResult run(const char* sql, const Parameters& parameters = {});
  // Says why the last run() had no result.
  Broken broken() const { return broken_; }
  // True if the server warned during the last run(), as it does when it did not wait for a
  // synchronous standby.
  bool warned() const { return warned_; }
  // Runs statements without results, separated by semicolons, as one transaction unless they say
  // otherwise. Returns the first result that failed, or the last. As run() in time and breaks.
  PgResult script(const std::string& sql);
  // Returns the last failure with the server's message; `what` is the field ("store.commit"). After
  // a broken connection `want` is kWantServer, and for a missing right kWantRights.
  Error error(std::string_view what, const PgResult& result) const;

 private:
  // libpq's callback: notes a warning for warned().
  static void on_notice(void* self, const pg_result* notice);
  // Waits for all results of what was sent. Returns the first that failed, or the last. `sent`
  // false: it could not be sent.
  PgResult wait(bool sent);
  bool ready();
  // Notes how the call broke and closes the connection. Returns no result.
  PgResult cut(Broken how);

  // nullptr: closed.
  pg_conn* connection_ = nullptr;
  std::string words_;  // libpq's message of the last failure
  Broken broken_ = Broken::kNo;
  bool warned_ = false;
};

// Classifies a failed open() by its message `words`, and asks the server once more. True: a server
// refused (a password, a missing database), or was refused for its certificate. False: no server
// answered, or one that starts or stops.
bool is_refusal(const Address& address, std::string_view words);

}  // namespace subak::postgres
