// The options of the API server, and the objects that the server uses. Plain values; the comments
// of the functions name their threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/policy_config.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "kube/domain/domain_row.h"
#include "model/input.h"
#include "net/connection_limiter.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

class ActivityBook;

// A call that was refused because the caller lacks the rights for it. Such a call never reaches the
// engine. In contrast, if the engine refuses a call because of the state, this refusal is a fact,
// and the audit log shows it.
struct ApiDenial {
  // The caller, such as "token:ci"; empty: the caller was not authenticated.
  std::string actor;
  // The address of the caller as gRPC writes it, such as "ipv4:10.0.0.7:4711".
  std::string peer;
  // The path of the account, or the job; empty: it is not known.
  std::string subject;
  // The text of the answer that the caller got.
  std::string message;
};

// An operator's call of AdminService.AcceptLoss, which declares all facts after `until` lost.
struct LossAsked {
  // The number of the last fact that stays.
  std::uint64_t until = 0;
  // The person who declares the loss, and the reason. Both go into the audit log.
  std::string actor, reason;
  // True: the call is only checked. The answer is the same, but no fact is declared lost.
  bool validate_only = false;
};
// The last durable fact that this replica knows, if the database lacks that fact. `known_seq`: the
// number of the fact; 0: the database has the fact, or this replica knows none. `known_ms`: the
// time of the fact.
struct LossSeen {
  std::uint64_t known_seq = 0;
  TimeMs known_ms = 0;
};

// Functions that return data of the service which the engine does not have. The server may call
// them on any thread. Each may be null.
struct ServiceReads {
  // Returns further warnings for an operator, each of which is one sentence. GetStatus shows them.
  std::function<std::vector<std::string>()> warnings;
  // Returns the ComputeDomains that this service made in the cluster with this name; nullptr: no
  // edge of this service follows the cluster.
  std::function<std::shared_ptr<const std::vector<ComputeDomainRow>>(std::string_view cluster)>
      compute_domains;
  // `policy_values` returns the values of a policy for users, and `policy_with` returns a policy
  // with other values for some keys. null: GetPolicy returns no values, and SetPolicy knows no key.
  std::function<std::vector<PolicyValue>(const Policy&)> policy_values;
  std::function<Result<Policy>(const Policy&,
                               const std::vector<std::pair<std::string, std::string>>&)>
      policy_with;
  // Returns how many facts this process has read for the change of the half-life that is under way.
  std::function<std::uint64_t()> half_life_facts;
};

// The options of the API server.
struct ApiOptions {
  // An IP address and a port. With port 0, the system chooses the port.
  std::string address = "127.0.0.1:0";
  // The limits on connections in all, and on those from one address. When a limit is reached, the
  // server closes the oldest connection that has sent nothing. If all connections have sent
  // something, the server closes the new one.
  ListenerLimits connections{limits::kMaxGrpcConnections, limits::kMaxGrpcConnectionsPerPeer};
  // The paths of the PEM files of the certificate and its key. Set both or neither.
  std::string tls_cert, tls_key;
  // The path of the token file (server/api/common/auth.h). Empty: the server listens on loopback
  // only, and every caller is the admin "loopback". Set: every call needs a token, and an address
  // that is not on loopback requires tls_cert. The server speaks TLS if tls_cert is set.
  std::string token_file;
  // Counts only without a token file. False: the server refuses every caller on loopback with
  // UNAUTHENTICATED, so that only the Unix socket admits callers.
  bool loopback_admin = true;
  // The path of a Unix socket on which the server listens too; empty: there is none. The socket
  // admits root, the service's own user and `socket_users`, and closes the connection of any other
  // user. A caller on the socket is the admin "socket". If there is a token file and the caller
  // sends a token, it has the role of the token instead.
  std::string socket;
  // The ids of further users that the socket admits.
  std::vector<std::uint32_t> socket_users;
  // The version of this program, for AdminService.GetStatus.
  std::string version;
  // The mode of clusters that an import creates.
  Mode default_mode = Mode::kObserve;
  // True: the configuration names clusters, so no cluster is a placeholder.
  bool names_clusters = false;
  // The clusters that edges of this service follow: parts that report a cluster and carry out
  // decisions there. An empty name stands for the only cluster. For these clusters, the API refuses
  // Observe, Effects and CreateJob.
  std::vector<std::string> own_edges;
  // The configuration by which webhook-only replicas decide. The server sends it to them with a
  // part of the state.
  AdmissionConfig admission;
  ServiceReads reads;
  // Declares facts lost. Any thread may call it, and it must not block. null: this store cannot
  // lose facts.
  std::function<Result<LossSeen>(const LossAsked&)> accept_loss;
  // Called for each refusal for lack of rights, by any thread. The function must not block, and may
  // be null.
  std::function<void(const ApiDenial&)> on_denied;
  // The sums of activity, which must outlive the server; nullptr: activity is not observed.
  const ActivityBook* activity = nullptr;
  // True: ExplainJob names the jobs with idle GPUs.
  bool show_idle_holders = false;
  // How many unread bytes all WatchJobs streams together may have. If they have more, the server
  // ends the stream that is furthest behind.
  std::size_t most_watch_bytes = limits::kMaxWatchBytes;
};

// The objects that the server uses. The caller owns them, and starts them before the server. These
// objects must outlive the server.
struct ApiDeps {
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
};

}  // namespace subak
