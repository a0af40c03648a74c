// Selects one of several servers. A read goes to the first server that answers, a change to the
// leader. The caller owns the connections. Threads: one.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace subak::cli {

// Splits "a:9444,b:9444", and drops an address that comes again. Throws a usage failure if an
// address is empty, or if there are more than limits::kMaxServers.
std::vector<std::string> split_servers(const std::string& list);

// Returns why a service that answered is not available for this call: the reason of its ErrorInfo,
// such as "BEHIND". Empty: no service answered, or it gave no reason.
std::string reason_in(const grpc::Status& status);
// Returns the leader's address from a refusal with an ErrorInfo NOT_LEADER; the address is empty if
// the server does not know it. A server that refuses so has done nothing. nullopt: another status.
std::optional<std::string> leader_named_in(const grpc::Status& status);

// The addresses of one service, and the one that answered last.
class Servers {
 public:
  // `given`: never empty. `verified`: TLS proves the identity of each server. Then the client may
  // also call a leader whose address is not in `given`, since TLS proves that leader's identity
  // too.
  Servers(std::vector<std::string> given, bool verified);
  const std::vector<std::string>& given() const { return given_; }

  // The result of one attempt. `elsewhere`: this server is unreachable, and the client may try
  // another one. The call does no harm there if this server has carried it out already.
  struct Answer {
    grpc::Status status;
    bool elsewhere = false;
  };
  using Ask = std::function<Answer(const std::string& server)>;
  // Tries servers until one answers. It starts with the server that answered last, and goes on with
  // the others in their order. If a server refuses a change because it does not lead, it names the
  // leader, and ask() tries that one next. During a take-over no server may lead. Then ask() calls
  // `pause` and starts another round, up to limits::kServerRounds. Returns the status of the last
  // answer of a reachable server.
  grpc::Status ask(const Ask& one, const std::function<void()>& pause);
  // Returns the server that answered last.
  const std::string& asked() const { return at_; }

 private:
  // True if the client may call a leader at this address.
  bool may_follow(const std::string& address) const;

  // In the order of the command line.
  std::vector<std::string> given_;
  bool verified_;
  // The server that answered last. Before the first answer it is the first of `given_`.
  std::string at_;
};

}  // namespace subak::cli
