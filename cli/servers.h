// Which of several servers is asked: the first that answers, and for a change the one that leads. Knows nothing of
// connections, which are the caller's. Threads: one.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace subak::cli {

// "a:9444,b:9444". Throws a usage failure: an empty one, more than limits::kMaxServers, one twice.
std::vector<std::string> split_servers(const std::string& list);

// Why a service that was reached is not available for this: the reason of its ErrorInfo, such as "BEHIND". Empty: it
// was not reached, or said none.
std::string reason_in(const grpc::Status& status);
// A refusal with an ErrorInfo NOT_LEADER: the address of who leads, empty if that is not known. Nothing was done then.
std::optional<std::string> leader_named_in(const grpc::Status& status);

class Servers {
 public:
  // Never empty. `verified`: they prove by TLS who they are, so that a leader may be followed to an address that was not
  // given, which has to prove the same.
  Servers(std::vector<std::string> given, bool verified);
  const std::vector<std::string>& given() const { return given_; }

  // What became of one attempt. `elsewhere`: another server may be asked, as this one cannot be reached, and it would do
  // no harm if it had done what it was asked.
  struct Answer {
    grpc::Status status;
    bool elsewhere = false;
  };
  using Ask = std::function<Answer(const std::string& server)>;
  // Asks until one answers: first who answered last, then the others in their order; for a change, where one says that
  // it does not lead, whom it names. Where nobody leads of those that may be asked, as while another takes over,
  // `pause` comes between rounds, of which there are limits::kServerRounds. The status is that of the last answer of
  // one that could be reached.
  grpc::Status ask(const Ask& one, const std::function<void()>& pause);
  // Who answered last.
  const std::string& asked() const { return at_; }

 private:
  // Whether a leader may be followed there.
  bool may_follow(const std::string& address) const;

  std::vector<std::string> given_;
  bool verified_;
  std::string at_;
};

}  // namespace subak::cli
