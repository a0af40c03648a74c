// Parses the address of a PostgreSQL database as a user writes it:
// postgres://user@host:port/database?parameters. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak::postgres {

// A parsed address.
struct Address {
  // Keys and values for libpq, without a password.
  std::vector<std::pair<std::string, std::string>> parameters;
  // The path of a file that contains only the password; empty: the address names no such file.
  std::string password_file;
  // Host, port and database, without the user.
  std::string place;
  // User, host, port and database, for logs.
  std::string shown;
};

// True if `state` is the address of a database, and not a file.
bool is_address(std::string_view state);

// Parses an address. It refuses
// - an address that libpq cannot parse;
// - an address with a password, since a list of processes would show it (for each connection, libpq
//   can read a password from the file that `passfile` names, or from ~/.pgpass);
// - an address on another machine whose sslmode is not verify-full (if such an address has no
//   sslmode, it gets verify-full).
// The parameter `password_file=FILE` is Subak's own. Subak needs it because libpq ignores a
// passfile that a group may read, and the files of a Kubernetes Secret are such files.
Result<Address> parse_address(const std::string& uri);

// Returns the password in the password file of the address; empty: the address names no such file.
// It refuses a file that is missing, that all users may read, or that has more than one line.
Result<std::string> read_password(const Address& address);

}  // namespace subak::postgres
