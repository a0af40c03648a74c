// What is applied to a cluster for Subak, as text: the files of deploy/kubernetes, which travel inside
// the program, with what differs from cluster to cluster filled in. Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace subak {
namespace cli {

// In the order in which they are applied.
enum class ManifestPart : std::uint8_t {
  kAccess,   // namespace, account, what it may do, its place among the API server's callers
  kService,  // the service as a pod of the cluster with replicas of its webhook, or as several on one database; only
             // where an image is named
  kWebhooks,  // who is asked about pods
  kPolicies,  // what the API server holds by itself
};

struct ManifestOptions {
  std::string cluster;  // its name in Subak
  // Of the webhook, "https://10.0.0.5:9443". Empty: that of the service in the cluster.
  std::string url;
  std::string ca_pem;         // who vouches for the webhook's certificate: one or more certificates
  std::string image;          // of the service; empty: it runs elsewhere
  std::string state;          // postgres://user@host/database; empty: a file of one pod
  std::int64_t replicas = 0;  // of the service, where its state is in a database; 0: two
  std::string user;           // as whom the service writes
  std::string break_glass_group;       // who may take the gate away
  std::vector<std::string> gpu_kinds;  // resources that count as GPUs, beside nvidia.com/
  int kubernetes_minor = 0;            // of the API server, 29 at least
  std::vector<ManifestPart> parts;     // empty: all that can be
};

inline constexpr int kOldestMinor = 29;    // matchConditions with optional fields
inline constexpr int kPoliciesMinor = 30;  // ValidatingAdmissionPolicy
inline constexpr int kGateMinor = 36;      // MutatingAdmissionPolicy: the API server sets the gate

// YAML documents for `kubectl apply -f -`. kInvalid names the option that is wrong: a value that
// would change what the text means is refused, not quoted.
Result<std::string> manifests(const ManifestOptions& options);

}  // namespace cli

template <>
struct EnumText<cli::ManifestPart> {
  static constexpr std::array<std::string_view, 4> names{"access", "service", "webhooks",
                                                         "policies"};
};

}  // namespace subak
