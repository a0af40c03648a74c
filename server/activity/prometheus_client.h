// A client that asks one Prometheus server one instant query at a time, by libcurl. The answer has
// at most limits::kMaxActivityBytes, and takes at most limits::kActivityCallMs. Threads: one thread
// calls ask(); any thread may call stop().
#pragma once

#include <atomic>
#include <string>

#include "core/error.h"

namespace subak {

// How to reach the server.
struct PrometheusAccess {
  // The server's address, such as "http://prometheus.monitoring.svc:9090". A path may follow.
  std::string url;
  // The path of a file with a bearer token, which is read before each query; empty: no token.
  std::string token_file;
  // The path of a PEM file with the CA of the server's certificate; empty: the system's CAs.
  std::string ca_file;
};

// A client of one server. Each query reads the token file again.
class PrometheusClient {
 public:
  explicit PrometheusClient(PrometheusAccess access) : access_(std::move(access)) {}
  PrometheusClient(const PrometheusClient&) = delete;
  PrometheusClient& operator=(const PrometheusClient&) = delete;

  // Returns the body of the answer to the query. Blocks. An error names the address and says what
  // failed: no connection, no answer in time, an answer that is too long, or the HTTP status.
  Result<std::string> ask(const std::string& query);
  // Ends the present call of ask() with an error, within about a second, and each later call.
  void stop() { stopping_ = true; }

 private:
  const PrometheusAccess access_;
  std::atomic<bool> stopping_{false};
};

}  // namespace subak
