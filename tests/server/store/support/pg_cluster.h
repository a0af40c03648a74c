// A PostgreSQL server for one test: a new database cluster in a temporary folder, with its socket
// in that folder. If the test runs as root, the server runs as the user postgres. The server ends
// with the test, even if the test crashes. Functions throw if the server does not start.
// Threads: one at a time.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

struct pg_conn;

namespace subak {

class PgCluster {
 public:
  // Makes the cluster and starts it.
  PgCluster();
  ~PgCluster();
  PgCluster(const PgCluster&) = delete;
  PgCluster& operator=(const PgCluster&) = delete;

  // Starts the server, and waits until it accepts connections.
  void start();
  // Kills all processes of the server at once, as a power cut does.
  void kill();
  // Restarts the server as an operator does, which ends all sessions.
  void restart();

  const std::filesystem::path& folder() const { return folder_; }  // the folder of the socket
  std::string uri(const std::string& database) const;
  // Returns the address of the same database through a socket in another folder, such as a PgProxy.
  static std::string uri_by(const std::string& folder, const std::string& uri);
  // Makes a new database and returns its address.
  std::string make_database();
  // Runs one statement as the superuser. Throws if the statement fails.
  void sql(const std::string& database_uri, const std::string& statement) const;

 private:
  std::vector<pid_t> processes() const;  // the postmaster first
  int run(const std::vector<std::string>& command) const;
  pid_t spawn(const std::vector<std::string>& command) const;

  std::filesystem::path folder_;
  pid_t postmaster_ = 0;
  int databases_ = 0;
};

// A session that a test uses directly. Throws if a statement fails.
class PgSession {
 public:
  explicit PgSession(const std::string& uri);
  ~PgSession();
  PgSession(const PgSession&) = delete;
  PgSession& operator=(const PgSession&) = delete;
  void run(const std::string& statement) { number(statement); }
  // Returns the first column of the first row of the result; 0: there is none.
  long number(const std::string& statement);

 private:
  pg_conn* connection_;
};

}  // namespace subak
