// Selects one of several servers of one service. The servers share a database: one of them leads
// and decides, and the others follow and serve reads. A read goes to the first server that answers.
// A change goes to the leader. The caller (client.h) owns the connections. Threads: one at a time.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace subak::cli {

// Splits "a:9444,b:9444", and drops an address that comes a second time. Throws a usage failure if
// an address is empty, or if there are more than limits::kMaxServers addresses.
std::vector<std::string> split_servers(const std::string& list);

// Returns why a service that answered is not available for this call: the reason in the answer's
// ErrorInfo, such as "BEHIND". Empty: no service answered, or it gave no reason.
std::string reason_in(const grpc::Status& status);
// Returns the leader's address from a refusal with an ErrorInfo NOT_LEADER. The address is empty if
// the server does not know the leader. A server that refuses a call in this way has done nothing.
// nullopt: the status is no such refusal.
std::optional<std::string> leader_named_in(const grpc::Status& status);

// The addresses of one service, and the address that answered last.
class Servers {
 public:
  // `given`: never empty. `verified`: TLS proves the identity of each server. Then the client may
  // also call a leader whose address is not in `given`, because TLS proves that leader's identity
  // too.
  Servers(std::vector<std::string> given, bool verified);
  const std::vector<std::string>& given() const { return given_; }

  // The result of one attempt. `elsewhere`: this server is unreachable, and the client may try
  // another server. A second call there does no harm, even if this server has already carried out
  // the call.
  struct Answer {
    grpc::Status status;
    bool elsewhere = false;
  };
  using Ask = std::function<Answer(const std::string& server)>;
  // Tries servers until one answers. It starts with the server that answered last, and goes on with
  // the other servers in their order. A server that does not lead refuses a change and names the
  // leader. Then ask() tries the leader next. During a take-over, there may be no leader. Then
  // ask() calls `pause` and starts another round, up to limits::kServerRounds rounds. Returns the
  // status of the first server that takes the call. If none takes it, returns the last refusal of a
  // server that does not lead, or else the last status of an unreachable server.
  grpc::Status ask(const Ask& one, const std::function<void()>& pause);
  // Returns the server that answered last.
  const std::string& asked() const { return at_; }

 private:
  // True if the client may call a leader at this address.
  bool may_follow(const std::string& address) const;

  // The addresses in the order of the command line.
  std::vector<std::string> given_;
  bool verified_;
  // The server that answered last. Before the first answer: the first address of `given_`.
  std::string at_;
};

}  // namespace subak::cli
