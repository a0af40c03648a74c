// The address of a PostgreSQL database as a user writes it:
// postgres://user@host:port/database?parameters.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak::postgres {

struct Address {
  // Keys and values for libpq, without a password.
  std::vector<std::pair<std::string, std::string>> parameters;
  // A file that holds the password alone; empty: none is named.
  std::string password_file;
  // Host, port and database: the same for each role.
  std::string place;
  // The same with the user: for logs.
  std::string shown;
};

// True if a --state names a database, not a file.
bool is_address(std::string_view state);

// Parses an address. Refused:
// - an address that libpq does not read;
// - a password in it, which every list of processes would show (libpq reads one from the file that
//   `passfile` names, or from ~/.pgpass, at each connection);
// - a host that is not this machine without sslmode=verify-full, which is the default for it.
// Beside libpq's parameters there is `password_file=FILE`. libpq ignores a passfile that a group
// may read, and the files of a Kubernetes Secret are readable for a group.
Result<Address> parse_address(const std::string& uri);

// Returns the content of the address's password file, without the end of its line; empty if it
// names none. Refused: a file that is missing, readable for all users, or with more than one line.
Result<std::string> read_password(const Address& address);

}  // namespace subak::postgres
