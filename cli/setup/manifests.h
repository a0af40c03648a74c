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

// The parts of an installation, in the order in which they are applied.
enum class ManifestPart : std::uint8_t {
  // Namespace, account, rights, and priority level at the API server.
  kAccess,
  // The service as a pod with replicas of its webhook, or as several pods on one database. Only
  // with an image.
  kService,
  // The admission webhooks for pods.
  kWebhooks,
  // The rules that the API server enforces by itself (ValidatingAdmissionPolicy).
  kPolicies,
};

// The values of the cluster and of the service.
struct ManifestOptions {
  // The cluster's name in Subak.
  std::string cluster;
  // Of the webhook, "https://10.0.0.5:9443". Empty: that of the service in the cluster.
  std::string url;
  // The CA of the webhook's certificate: one or more certificates.
  std::string ca_pem;
  // The image of the service; empty: it runs outside the cluster.
  std::string image;
  // postgres://user@host/database; empty: a file of one pod.
  std::string state;
  // Pods of the service, if its state is in a database; 0: two.
  std::int64_t replicas = 0;
  // The user name of the service's writes.
  std::string user;
  // The group that may remove Subak's gate by hand.
  std::string break_glass_group;
  // Resources that count as GPUs, beside nvidia.com/.
  std::vector<std::string> gpu_kinds;
  // The minor version of the API server, kOldestMinor at least. It decides which parts are
  // possible.
  int kubernetes_minor = 0;
  // Empty: all parts that are possible.
  std::vector<ManifestPart> parts;
};

// Minor versions of Kubernetes 1: matchConditions with optional fields, ValidatingAdmissionPolicy,
// and MutatingAdmissionPolicy, by which the API server itself sets the gate.
inline constexpr int kOldestMinor = 29;
inline constexpr int kPoliciesMinor = 30;
inline constexpr int kGateMinor = 36;

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
