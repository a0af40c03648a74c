#include "server/store/postgres/address.h"

#include <libpq-fe.h>

#include <algorithm>
#include <map>
#include <memory>

namespace subak::postgres {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

Error refuse(std::string got, std::string want) {
  return {ErrorCode::kInvalid, "state", std::move(got), std::move(want)};
}

// One or more hosts, all of which are this machine: a folder of sockets, or loopback.
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

}  // namespace

bool is_address(std::string_view state) {
  return state.starts_with("postgres://") || state.starts_with("postgresql://");
}

Result<Address> parse_address(const std::string& uri) {
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
                  "want it in a file that only subakd may read: ?passfile=FILE, or ~/.pgpass");
  }
  const std::string hosts = said["hostaddr"].empty() ? said["host"] : said["hostaddr"];
  if (!is_local(hosts)) {
    const std::string mode = said.try_emplace("sslmode", "verify-full").first->second;
    if (mode != "verify-full") {
      return refuse("sslmode=" + mode + " to host " + hosts,
                    "want verify-full: the books go over that line");
    }
  }
  said.try_emplace("connect_timeout", "5");
  said.try_emplace("application_name", "subakd");
  said.try_emplace("tcp_user_timeout", "10000");
  Address out;
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

}  // namespace subak::postgres
