// The gRPC client of the commands. It connects, authenticates, calls a method by name, and turns a
// refusal into a Failure (cli/text/failure.h). Commands call it through a Session. Only this
// client, servers.h and refusal.h use gRPC in cli. If one of several servers is unreachable or does
// not lead, the client tries another server. The name of a method has no package:
// "JobService/GetJob". The client checks the types of request and answer against the service's
// descriptor.
// Threads: one at a time.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace subak::cli {

// The options of every command that calls the service.
struct ServerOptions {
  // HOST:PORT, or several of these, separated by commas.
  std::string server;
  // A file with a bearer token. Empty: the client sends no token.
  std::string token_file;
  // A PEM file with the CA that signs the server's certificate. Empty: plaintext on loopback,
  // elsewhere the system's CAs.
  std::string tls_ca;
};

// True for "127.0.0.1:9444", "localhost:1", "[::1]:9444" and "unix:FILE". To such an address the
// client speaks plaintext, unless the user gives a CA.
bool is_loopback(std::string_view server);
// True if the client may repeat a call after an unknown outcome, because the method only reads or
// the request has an id.
bool may_repeat(std::string_view method, const google::protobuf::Message& request);

// A connection to the service: to the replica that leads, or for a read to any replica. Calls
// block.
class Client {
 public:
  // Reads the files that `options` names. The first call opens the connection. Throws Failure if a
  // file is unreadable or `server` is wrong.
  explicit Client(const ServerOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sets the timeout of later calls, which is one minute by default. A call that takes longer
  // fails, as if the service were unreachable.
  void be_patient_for(std::int64_t ms);

  // Later calls read the state of an earlier moment: the number of a fact in the service's log, or
  // a time of RFC 3339. They may take long, since the service has to compute the state of that
  // moment first.
  void go_to(const std::string& moment);
  // The moment that the last answer shows, in ms since 1970; 0: the present. `sequence`: the number
  // of the last fact in the answer, or empty.
  struct Shown {
    std::int64_t time_ms = 0;
    std::string sequence;
  };
  Shown shown() const;

  using Message = google::protobuf::Message;
  // Calls a method and fills `answer`. Throws Failure. The exit code of the Failure says whether
  // the service refused the call, was unreachable, or did not know a name.
  void call(std::string_view method, const Message& request, Message& answer);
  // Calls `each` for every message of a server stream until `each` returns false or the stream
  // ends. During each call of `each`, `answer` is that message. stream() throws the same failures
  // as call().
  void stream(std::string_view method, const Message& request, Message& answer,
              const std::function<bool()>& each);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak::cli
