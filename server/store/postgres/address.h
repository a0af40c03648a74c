// The address of a PostgreSQL database, as a person writes it: postgres://user@host:port/database?parameters.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace subak::postgres {

struct Address {
  std::vector<std::pair<std::string, std::string>> parameters;  // of libpq
  std::string password_file;  // holds the password alone; empty: none is named
  std::string place;          // host, port and database: the same for each role
  std::string shown;          // the same with the user: for logs
};

// Whether a --state names a database, not a file.
bool is_address(std::string_view state);

// Refused: what libpq does not read; a password in it, which would be in every list of processes (libpq reads one
// from the file that `passfile` names, or from ~/.pgpass, at each connection); a host that is not this machine
// without sslmode=verify-full, which is what it gets if it says nothing.
// Beside libpq's parameters there is `password_file=FILE`. libpq leaves a passfile aside that a group may read, as it may
// each file of a Secret in a pod of Kubernetes.
Result<Address> parse_address(const std::string& uri);

// What is in the file that the address names, without the end of its line; empty, where it names none. Refused: one that
// is not there, that everybody may read, or with more than a line.
Result<std::string> read_password(const Address& address);

}  // namespace subak::postgres
