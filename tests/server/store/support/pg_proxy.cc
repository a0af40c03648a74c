#include "pg_proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace subak {
namespace {

sockaddr_un address_of(const std::string& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/.s.PGSQL.5432";
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int open_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// False: the other side is gone.
bool take(int from, std::string& into) {
  char bytes[65536];
  const ssize_t got = ::recv(from, bytes, sizeof bytes, 0);
  if (got > 0) into.append(bytes, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

bool give(int to, std::string& from) {
  if (from.empty()) return true;
  const ssize_t sent = ::send(to, from.data(), from.size(), MSG_NOSIGNAL);
  if (sent > 0) from.erase(0, static_cast<std::size_t>(sent));
  return sent > 0 || errno == EAGAIN || errno == EWOULDBLOCK;
}

void close_if_open(int& socket) {
  if (socket >= 0) ::close(socket);
  socket = -1;
}

}  // namespace

PgProxy::PgProxy(const std::string& server_folder) : server_(server_folder) {
  std::string name = (std::filesystem::temp_directory_path() / "subak_px_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
  listener_ = open_socket();
  const sockaddr_un address = address_of(folder_);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0) {
    throw std::runtime_error("no socket in " + folder_);
  }
  thread_ = std::thread([this] { serve(); });
}

PgProxy::~PgProxy() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
  std::filesystem::remove_all(folder_);
}

void PgProxy::cut() {
  cut_ = true;
  while (cut_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void PgProxy::drop() {
  drop_ = true;
  while (drop_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void PgProxy::lead_to(const std::string& server_folder) {
  const std::lock_guard lock(mutex_);
  server_ = server_folder;
}

void PgProxy::connect(int client) {
  Line line;
  line.client = client;
  line.server = open_socket();
  sockaddr_un address{};
  {
    const std::lock_guard lock(mutex_);
    address = address_of(server_);
  }
  if (turn_away_ ||
      ::connect(line.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close_if_open(line.client);
    close_if_open(line.server);
  }
  lines_.push_back(std::move(line));
}

void PgProxy::serve() {
  while (!stop_) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0) connect(client);
    const bool cuts = cut_, drops = drop_,
               lets_go = let_go_;  // for all lines, or for none of them yet
    for (Line& line : lines_) {
      if (cuts || drops) close_if_open(line.client);
      if (drops) close_if_open(line.server);
      if (lets_go) line.to_server += std::exchange(line.kept, {});
      move(line);
    }
    if (cuts) cut_ = false;
    if (drops) drop_ = false;
    if (lets_go) let_go_ = keeps_end_ = false;
    std::size_t requests = 0, answers = 0;
    for (const Line& line : lines_) {
      requests += line.to_server.size();
      answers += line.to_client.size();
    }
    held_requests_ = requests;
    held_answers_ = answers;
    std::erase_if(lines_, [](const Line& l) { return l.client < 0 && l.server < 0; });
    wait_for_bytes();
  }
  for (Line& line : lines_) {
    close_if_open(line.client);
    close_if_open(line.server);
  }
}

// Or a moment: commands come without any.
void PgProxy::wait_for_bytes() {
  constexpr int kMomentMs = 1;
  std::vector<pollfd> sockets{{listener_, POLLIN, 0}};
  for (const Line& line : lines_) {
    sockets.push_back({line.client, POLLIN, 0});
    sockets.push_back({line.server, POLLIN, 0});
  }
  ::poll(sockets.data(), sockets.size(), kMomentMs);
}

void PgProxy::deliver_late_before(std::string text) {
  const std::lock_guard lock(mutex_);
  awaited_ = std::move(text);
}

bool PgProxy::is_awaited(const std::string& request) {
  const std::lock_guard lock(mutex_);
  if (awaited_.empty() || request.find(awaited_) == std::string::npos) return false;
  awaited_.clear();
  return true;
}

// Whether the request may go on. Where the end of a batch is to be kept: once it is all here, from its Parse ('P') to
// its Sync, and then without that end.
bool PgProxy::is_whole(Line& line) {
  constexpr std::string_view kSync("S\0\0\0\4", 5);
  std::string& request = line.to_server;
  if (kept_tail_ == 0 || !line.kept.empty() || !request.starts_with('P')) return true;
  if (!request.ends_with(kSync)) return false;
  if (request.find("INSERT INTO facts") == std::string::npos) return true;
  const std::size_t tail = std::min(kept_tail_.exchange(0), request.size() - 1);
  line.kept = request.substr(request.size() - tail);
  request.resize(request.size() - tail);
  keeps_end_ = true;
  return true;
}

void PgProxy::deliver_late() {
  for (Line& line : lines_) {
    if (line.client >= 0 || line.server < 0) continue;
    while (!line.to_server.empty() && give(line.server, line.to_server)) {
    }
    pollfd answer{line.server, POLLIN, 0};
    ::poll(&answer, 1, 5000);
    close_if_open(line.server);
    line.to_server.clear();
  }
}

void PgProxy::move(Line& line) {
  std::string& request = line.kept.empty() ? line.to_server : line.kept;
  if (line.client >= 0 && !take(line.client, request)) close_if_open(line.client);
  if (line.server >= 0 && !take(line.server, line.to_client)) close_if_open(line.server);
  const bool late = line.client < 0;
  if (!late && is_awaited(line.to_server)) deliver_late();
  if (!late && !hold_requests_ && line.server >= 0 && is_whole(line) &&
      !give(line.server, line.to_server)) {
    close_if_open(line.server);
  }
  if (!hold_answers_ && line.client >= 0 && !give(line.client, line.to_client)) {
    close_if_open(line.client);
  }
  if (line.client < 0 && line.to_server.empty() && line.kept.empty()) close_if_open(line.server);
  if (line.server < 0 && line.to_client.empty()) close_if_open(line.client);
}

}  // namespace subak
