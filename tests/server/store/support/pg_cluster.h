// A PostgreSQL server of a test's own: a new cluster in a temporary folder, reached by a socket there. As root it runs
// as the user postgres. It dies with the test, whatever becomes of that. A failure to start throws.
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

  // Waits until it takes connections.
  void start();
  // All its processes at the same instant, as if the power had gone.
  void kill();
  // As an operator restarts it: sessions are ended.
  void restart();

  const std::filesystem::path& folder() const { return folder_; }  // of its socket
  std::string uri(const std::string& database) const;
  // The same database by another socket's folder.
  static std::string uri_by(const std::string& folder, const std::string& uri);
  // A database that was not there; its address.
  std::string make_database();
  // One statement, as the owner of all. Throws where it fails.
  void sql(const std::string& database_uri, const std::string& statement) const;

 private:
  std::vector<pid_t> processes() const;  // the postmaster first
  int run(const std::vector<std::string>& command) const;
  pid_t spawn(const std::vector<std::string>& command) const;

  std::filesystem::path folder_;
  pid_t postmaster_ = 0;
  int databases_ = 0;
};

// One session of a test's own. Throws where a statement fails.
class PgSession {
 public:
  explicit PgSession(const std::string& uri);
  ~PgSession();
  PgSession(const PgSession&) = delete;
  PgSession& operator=(const PgSession&) = delete;
  void run(const std::string& statement) { number(statement); }
  long number(const std::string& statement);  // the first column of the first row; 0: there is none

 private:
  pg_conn* connection_;
};

}  // namespace subak
