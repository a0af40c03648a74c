#include "pg_cluster.h"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace subak {
namespace fs = std::filesystem;
namespace {

// Debian's folder of the newest version.
fs::path programs() {
  fs::path newest;
  const fs::path all = "/usr/lib/postgresql";
  if (fs::exists(all)) {
    for (const auto& version : fs::directory_iterator(all)) {
      const fs::path bin = version.path() / "bin";
      if (fs::exists(bin / "postgres") && bin > newest) newest = bin;
    }
  }
  if (newest.empty()) throw std::runtime_error("no PostgreSQL server under /usr/lib/postgresql");
  return newest;
}

const passwd* other_user() {
  if (::geteuid() != 0) return nullptr;
  const passwd* const user = ::getpwnam("postgres");
  if (user == nullptr)
    throw std::runtime_error("PostgreSQL does not run as root; no user postgres");
  return user;
}

std::string text_of(const fs::path& file) {
  std::stringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

}  // namespace

PgCluster::PgCluster() {
  // In memory where there is such a place: a start after a crash syncs every file. Processes are killed here, not the
  // machine, so what they wrote is there all the same.
  const fs::path memory = "/dev/shm";
  const fs::path parent = ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
  std::string name = (parent / "subak_pg_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
  const passwd* const user = other_user();
  if (user != nullptr && ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("chown " + name);
  }
  if (run({programs() / "initdb", "-D", folder_ / "data", "-U", "subak", "-A", "trust", "-E",
           "UTF8", "--locale=C", "--no-sync"}) != 0) {
    throw std::runtime_error("initdb: " + text_of(folder_ / "log"));
  }
  start();
}

PgCluster::~PgCluster() {
  kill();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

pid_t PgCluster::spawn(const std::vector<std::string>& command) const {
  const passwd* const user = other_user();
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (user != nullptr) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)
      ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int log = ::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (::chdir("/") != 0) ::_exit(126);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

int PgCluster::run(const std::vector<std::string>& command) const {
  int status = 0;
  ::waitpid(spawn(command), &status, 0);
  return status;
}

void PgCluster::start() {
  std::vector<std::string> command{programs() / "postgres", "-D", folder_ / "data", "-k", folder_,
                                   "-c", "listen_addresses=",
                                   // In its folder, so that nothing stays when it is killed.
                                   "-c", "dynamic_shared_memory_type=mmap"};
  postmaster_ = spawn(command);
  const std::string address = uri("postgres");
  for (int i = 0; i < 3000; ++i) {
    if (PQping(address.c_str()) == PQPING_OK) return;
    // It refuses to start while a child that a kill overlooked is not gone yet.
    if (::waitpid(postmaster_, nullptr, WNOHANG) == postmaster_) postmaster_ = spawn(command);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("PostgreSQL does not start: " + text_of(folder_ / "log"));
}

std::vector<pid_t> PgCluster::processes() const {
  std::vector<pid_t> out{postmaster_};
  const std::string id = std::to_string(postmaster_);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child = 0; children >> child;) out.push_back(child);
  return out;
}

void PgCluster::kill() {
  if (postmaster_ == 0) return;
  ::kill(postmaster_, SIGSTOP);  // so that it has no new children
  for (const pid_t process : processes()) ::kill(process, SIGKILL);
  ::waitpid(postmaster_, nullptr, 0);
  postmaster_ = 0;
}

void PgCluster::restart() {
  ::kill(postmaster_, SIGINT);
  ::waitpid(postmaster_, nullptr, 0);
  start();
}

std::string PgCluster::uri(const std::string& database) const {
  return uri_by(folder_.string(), "/" + database);
}

std::string PgCluster::uri_by(const std::string& folder, const std::string& uri) {
  std::string host;
  for (const char c : folder) host += c == '/' ? "%2F" : std::string(1, c);
  return "postgres://subak@" + host + uri.substr(uri.rfind('/'));
}

std::string PgCluster::make_database() {
  const std::string name = "store" + std::to_string(++databases_);
  sql(uri("postgres"), "CREATE DATABASE " + name);
  return uri(name);
}

void PgCluster::sql(const std::string& database_uri, const std::string& statement) const {
  PgSession(database_uri).run(statement);
}

PgSession::PgSession(const std::string& uri) : connection_(PQconnectdb(uri.c_str())) {}
PgSession::~PgSession() { PQfinish(connection_); }

long PgSession::number(const std::string& statement) {
  PGresult* const result = PQexec(connection_, statement.c_str());
  const ExecStatusType status = PQresultStatus(result);
  const long out = PQntuples(result) > 0 ? std::strtol(PQgetvalue(result, 0, 0), nullptr, 10) : 0;
  PQclear(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return out;
  throw std::runtime_error(PQerrorMessage(connection_));
}

}  // namespace subak
