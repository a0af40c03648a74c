// libpq with owners: a result, parameters, a connection. Nothing throws. All values travel in PostgreSQL's binary
// form. Threads: one at a time per connection.
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
#include "server/store/postgres/address.h"

struct pg_conn;
struct pg_result;

namespace subak::postgres {

// Values of a statement, $1 first. Numbers are BIGINT, bytes BYTEA; a list is one array.
class Parameters {
 public:
  Parameters& add(std::int64_t number);
  Parameters& add(std::uint64_t number) { return add(static_cast<std::int64_t>(number)); }
  Parameters& add(std::string_view text);
  Parameters& add_bytes(std::string_view bytes);
  Parameters& add(std::span<const std::int64_t> numbers);
  Parameters& add_bytes(std::span<const std::string> bytes);

 private:
  friend class PgConnection;
  Parameters& add_value(std::uint32_t type, std::string value);
  Parameters& add_list(std::uint32_t type, std::span<const std::string> elements);

  std::vector<std::uint32_t> types_;
  std::vector<std::string> values_;
};

// Rows and columns count from 0. What is read of a row lives as long as the result.
class PgResult {
 public:
  PgResult() = default;
  explicit PgResult(pg_result* result);
  ~PgResult();
  PgResult(PgResult&& other) noexcept;
  PgResult& operator=(PgResult&& other) noexcept;

  explicit operator bool() const { return result_ != nullptr; }  // there is one, good or not
  bool ok() const;
  int rows() const;
  std::int64_t number(int row, int column) const;
  std::uint64_t unsigned_number(int row, int column) const {
    return static_cast<std::uint64_t>(number(row, column));
  }
  std::string_view bytes(int row, int column) const;  // of text too
  // Five characters; empty: none came, as the connection broke.
  std::string_view sqlstate() const;
  // The server's words.
  std::string message() const;

 private:
  pg_result* result_ = nullptr;
};

// `want` of an error after which another try may do better: says_away() of it.
inline constexpr char kWantServer[] = "want a database server that answers";
// Of a role that has too few.
inline constexpr char kWantRights[] =
    "want a role with the service's rights: its tables' owner grants them by "
    "deploy/postgres/service_role.sql";

// How a call ended that has no result to show.
enum class Broken : std::uint8_t { kNo, kCut, kTooLate };

class PgConnection {
 public:
  PgConnection();
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Closes what was open, connects and sets the session up.
  std::optional<Error> open(const Address& address);
  void close();
  bool is_open() const { return connection_ != nullptr; }
  // One statement, sent with its Sync, so a transaction of its own unless one was begun. Nothing may come or go for
  // limits::kDatabaseReplyMs at the most. A call that breaks closes the connection: what became of the
  // statement is not known then.
  PgResult run(const char* sql, const Parameters& parameters = {});
  // Why the last run() had no result.
  Broken broken() const { return broken_; }
  // The server warned during the last run(), as it does where it did not wait for a synchronous standby.
  bool warned() const { return warned_; }
  // Statements without results, separated by semicolons.
  PgResult script(const std::string& sql);
  // Of the last failure, with the server's words; `what` is the field ("store.commit"). Where the connection broke it
  // says kWantServer, where the role lacks a right kWantRights.
  Error error(std::string_view what, const PgResult& result) const;

 private:
  static void on_notice(void* self, const pg_result* notice);
  PgResult wait(bool sent);
  bool ready();
  PgResult cut(Broken how);

  pg_conn* connection_ = nullptr;
  std::string words_;  // of libpq, of the last failure
  Broken broken_ = Broken::kNo;
  bool warned_ = false;
};

// After open() failed with these words: a server is there and refused (a password, a database that does not exist), or was
// refused for its certificate; else nobody answered, or one that starts or stops. Asks it once more.
bool is_refusal(const Address& address, std::string_view words);

}  // namespace subak::postgres
