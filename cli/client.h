// The one place that speaks gRPC: connects, to another of several servers where one is away or does not lead,
// authenticates, calls by method name, turns a refusal into a Failure. Methods are named without the package:
// "JobService/GetJob"; the types of request and answer are checked against the service's descriptor. Threads: one.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace subak::cli {

struct ServerOptions {
  std::string server;      // HOST:PORT, or several with commas between
  std::string token_file;  // a bearer token; empty: none
  std::string tls_ca;      // PEM; empty: none, or the system's beyond loopback
};

// "127.0.0.1:9444", "localhost:1", "[::1]:9444": plain text is good enough.
bool is_loopback(std::string_view server);
// A call of this method may be repeated where it is not known what became of it: it reads, or its request has an id.
bool may_repeat(std::string_view method, const google::protobuf::Message& request);

class Client {
 public:
  // Reads the files; connects with the first call. Throws Failure.
  explicit Client(const ServerOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // From now on calls fail as unreachable after this long instead of a minute.
  void be_patient_for(std::int64_t ms);

  using Message = google::protobuf::Message;
  // Throws Failure: refused, unreachable, not found.
  void call(std::string_view method, const Message& request, Message& answer);
  // Calls `each` with every message of a server stream until it returns false or the stream ends.
  void stream(std::string_view method, const Message& request, Message& answer,
              const std::function<bool()>& each);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak::cli
