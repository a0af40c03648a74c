// Selects one of several servers: the first that answers, and for a change the leader. The caller
// owns the connections. Threads: one.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace subak::cli {

// Splits "a:9444,b:9444". Throws a usage failure: an empty name, more than limits::kMaxServers, or
// one twice.
std::vector<std::string> split_servers(const std::string& list);

// Returns why a reached service is not available for this call: the reason of its ErrorInfo, such
// as "BEHIND". Empty: it was not reached, or gave none.
std::string reason_in(const grpc::Status& status);
// Returns the leader's address from a refusal with an ErrorInfo NOT_LEADER, empty if it is unknown.
// The service did nothing then. nullopt: another status.
std::optional<std::string> leader_named_in(const grpc::Status& status);

// The addresses of one service, and the one that answered last.
class Servers {
 public:
  // `given`: never empty. `verified`: TLS proves the servers' identity. Then the client may follow
  // a leader to an address that was not given, since that server has to prove the same.
  Servers(std::vector<std::string> given, bool verified);
  const std::vector<std::string>& given() const { return given_; }

  // The result of one attempt. `elsewhere`: this server is unreachable and another may be tried. It
  // does no harm if the first has carried out the call.
  struct Answer {
    grpc::Status status;
    bool elsewhere = false;
  };
  using Ask = std::function<Answer(const std::string& server)>;
  // Tries servers until one answers. The first is the one that answered last, then the others in
  // their order. For a change, a server that does not lead names the leader, which is tried next.
  // If no permitted server leads, as during a take-over, `pause` is called between rounds, up to
  // limits::kServerRounds. Returns the status of the last answer of a reachable server.
  grpc::Status ask(const Ask& one, const std::function<void()>& pause);
  // Returns the server that answered last.
  const std::string& asked() const { return at_; }

 private:
  // True if a leader may be followed to this address.
  bool may_follow(const std::string& address) const;

  // In the order of the command line.
  std::vector<std::string> given_;
  bool verified_;
  // The server that answered last; the first one before that.
  std::string at_;
};

}  // namespace subak::cli
