#include "server/store/postgres/database/address.h"

#include <libpq-fe.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "core/limits.h"

namespace subak::postgres {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

Error refuse(std::string got, std::string want) {
  return {ErrorCode::kInvalid, "state", std::move(got), std::move(want)};
}

// True if all hosts are this machine: a folder of sockets, or loopback.
bool is_local(const std::string& hosts) {
  std::size_t begin = 0;
  while (begin <= hosts.size()) {
    const std::size_t end = std::min(hosts.find(',', begin), hosts.size());
    const std::string host = hosts.substr(begin, end - begin);
    const bool local = host.empty() || host.front() == '/' || host.front() == '@' ||
                       host == "localhost" || host.starts_with("127.") || host == "::1";
    if (!local) return false;
    begin = end + 1;
  }
  return true;
}

// Removes the parameter from the address before libpq reads it, since libpq does not know its name.
std::string take_parameter(std::string& uri, std::string_view name) {
  const std::string key = std::string(name) + "=";
  for (std::size_t at = uri.find('?'); at < uri.size(); at = uri.find('&', at + 1)) {
    if (uri.compare(at + 1, key.size(), key) != 0) continue;
    const std::size_t begin = at + 1 + key.size();
    const std::size_t end = std::min(uri.find('&', begin), uri.size());
    std::string value = uri.substr(begin, end - begin);
    // The sign before it stays if other parameters follow.
    uri.erase(end < uri.size() ? at + 1 : at, end < uri.size() ? end - at : end);
    return value;
  }
  return {};
}

}  // namespace

bool is_address(std::string_view state) {
  return state.starts_with("postgres://") || state.starts_with("postgresql://");
}

Result<Address> parse_address(const std::string& text) {
  Address out;
  std::string uri = text;
  out.password_file = take_parameter(uri, "password_file");
  char* words = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(uri.c_str(), &words));
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(words, &PQfreemem);
  if (!options) {
    std::string said = words == nullptr ? "no address" : words;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return refuse(said, "want postgres://user@host/database");
  }
  std::map<std::string, std::string> said;
  for (const PQconninfoOption* o = options.get(); o->keyword != nullptr; ++o) {
    if (o->val != nullptr) said[o->keyword] = o->val;
  }
  if (!said["password"].empty()) {
    return refuse("a password in the address",
                  "want it in a file that only subakd may read: ?password_file=FILE, "
                  "?passfile=FILE, or ~/.pgpass");
  }
  const std::string hosts = said["hostaddr"].empty() ? said["host"] : said["hostaddr"];
  if (!is_local(hosts)) {
    const std::string mode = said.try_emplace("sslmode", "verify-full").first->second;
    if (mode != "verify-full") {
      return refuse("sslmode=" + mode + " to host " + hosts,
                    "want verify-full: the ledger is sent over this connection");
    }
  }
  said.try_emplace("connect_timeout", "5");
  said.try_emplace("application_name", "subakd");
  said.try_emplace("tcp_user_timeout", "10000");
  const auto known = [&](const char* key, const char* usual) {
    const std::string& value = said[key];
    return value.empty() ? std::string(usual) : value;
  };
  out.place = known("host", "local") + (said["port"].empty() ? "" : ":" + said["port"]) + "/" +
              known("dbname", "?");
  out.shown = "postgres " + known("user", "?") + "@" + out.place;
  for (auto& [key, value] : said) {
    if (!value.empty()) out.parameters.emplace_back(key, value);
  }
  return out;
}

Result<std::string> read_password(const Address& address) {
  const std::string& path = address.password_file;
  if (path.empty()) return std::string();
  const auto refuse_file = [&](const std::string& got, const char* want) {
    return Error{ErrorCode::kInvalid, "state.password_file", path + ": " + got, want};
  };
  struct stat known {};
  std::ifstream file(path, std::ios::binary);
  if (::stat(path.c_str(), &known) != 0 || !file) {
    return refuse_file(std::strerror(errno), "want a file that subakd may read");
  }
  if ((known.st_mode & S_IRWXO) != 0) {
    return refuse_file("every user may use it",
                       "want a file that only subakd and its group may read");
  }
  std::string password(limits::kMaxTokenBytes + 2, '\0');
  file.read(password.data(), static_cast<std::streamsize>(password.size()));
  password.resize(static_cast<std::size_t>(file.gcount()));
  if (password.ends_with('\n')) password.pop_back();
  const bool is_line = password.find_first_of(std::string_view("\0\n", 2)) == std::string::npos;
  if (password.empty() || password.size() > limits::kMaxTokenBytes || !is_line) {
    return refuse_file(password.empty() ? "nothing" : "no line with a password",
                       "want the password alone");
  }
  return password;
}

}  // namespace subak::postgres
