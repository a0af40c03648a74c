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
  // A file that contains only the password; empty: the address names none.
  std::string password_file;
  // Host, port and database, without the user.
  std::string place;
  // User, host, port and database, for logs.
  std::string shown;
};

// True if `state` is the address of a database, and not a file.
bool is_address(std::string_view state);

// Parses an address. It refuses
// - an address that libpq does not read;
// - an address with a password, which every list of processes would show (libpq can read one from
//   the file that `passfile` names, or from ~/.pgpass, at each connection);
// - another host than this machine, if sslmode is not verify-full, the default for such a host.
// The parameter `password_file=FILE` is Subak's own. It exists because libpq ignores a passfile
// that a group may read, and a group may read the files of a Kubernetes Secret.
Result<Address> parse_address(const std::string& uri);

// Returns the content of the address's password file, without the line end. Empty: the address
// names no such file. It refuses a file that is missing, that all users may read, or that has more
// than one line.
Result<std::string> read_password(const Address& address);

}  // namespace subak::postgres
