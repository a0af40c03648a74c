// The manifests that install Subak in a cluster. They are the files of deploy/kubernetes, embedded
// in the program, with the values of the cluster filled in. Threads: pure functions.
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
  kAccess,  // namespace, account, rights, priority level at the API server
  // The service as a pod with replicas of its webhook, or as several pods on one database. Only
  // with an image.
  kService,
  kWebhooks,  // the admission webhooks for pods
  kPolicies,  // the rules that the API server enforces by itself
};

struct ManifestOptions {
  std::string cluster;  // its name in Subak
  // Of the webhook, "https://10.0.0.5:9443". Empty: that of the service in the cluster.
  std::string url;
  std::string ca_pem;                  // CA of the webhook's certificate: one or more certificates
  std::string image;                   // of the service; empty: it runs elsewhere
  std::string state;                   // postgres://user@host/database; empty: a file of one pod
  std::int64_t replicas = 0;           // of the service, if its state is in a database; 0: two
  std::string user;                    // user name of the service's writes
  std::string break_glass_group;       // may remove the gate
  std::vector<std::string> gpu_kinds;  // resources that count as GPUs, beside nvidia.com/
  int kubernetes_minor = 0;            // of the API server, 29 at least
  std::vector<ManifestPart> parts;     // empty: all that are possible
};

inline constexpr int kOldestMinor = 29;    // matchConditions with optional fields
inline constexpr int kPoliciesMinor = 30;  // ValidatingAdmissionPolicy
inline constexpr int kGateMinor = 36;      // MutatingAdmissionPolicy: the API server sets the gate

// Returns YAML documents for `kubectl apply -f -`. kInvalid names the wrong option. A value that
// would change the meaning of the text is refused, not quoted.
Result<std::string> manifests(const ManifestOptions& options);

}  // namespace cli

template <>
struct EnumText<cli::ManifestPart> {
  static constexpr std::array<std::string_view, 4> names{"access", "service", "webhooks",
                                                         "policies"};
};

}  // namespace subak
