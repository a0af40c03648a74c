// The manifests that install Subak in a cluster, as `subak install` prints them. They are the files
// of deploy/kubernetes with the values of the cluster filled in. The program contains these files.
// Threads: any; pure functions.
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
  // The namespace, the service account, its rights, its priority level at the API server, and the
  // PriorityClass of GPU pods.
  kAccess,
  // The service: one pod with replicas of its webhook, or several pods with one database. This part
  // needs `image`.
  kService,
  // The admission webhooks for pods.
  kWebhooks,
  // The rules that the API server enforces by itself (ValidatingAdmissionPolicy).
  kPolicies,
};

// The values of the cluster and of the service that the manifests contain.
struct ManifestOptions {
  // The cluster's name in Subak.
  std::string cluster;
  // The address of the webhook: "https://10.0.0.5:9443". Empty: the address of the Service in the
  // cluster.
  std::string url;
  // The CA of the webhook's certificate: one or more certificates. Empty if `cert_manager` is true.
  std::string ca_pem;
  // True: cert-manager makes the certificate of the service in the cluster, and writes its CA into
  // the webhooks.
  bool cert_manager = false;
  // The image of the service. Empty: the service runs outside the cluster.
  std::string image;
  // The store: postgres://user@host/database. Empty: the store is a file, which only one pod can
  // use.
  std::string state;
  // The number of pods of the service, if its store is a database; 0: two.
  std::int64_t replicas = 0;
  // The user name with which the service writes to the API server.
  std::string user;
  // The group that may remove Subak's gate by hand.
  std::string break_glass_group;
  // Resources that count as GPUs, in addition to those of nvidia.com/.
  std::vector<std::string> gpu_kinds;
  // The minor version of the API server, at least kOldestMinor. This version decides which parts
  // are possible.
  int kubernetes_minor = 0;
  // The parts to return. Empty: all parts that are possible.
  std::vector<ManifestPart> parts;
};

// The first minor version of Kubernetes 1 that has each of these features, in this order:
// matchConditions with optional fields, ValidatingAdmissionPolicy, and MutatingAdmissionPolicy.
// With MutatingAdmissionPolicy, the API server itself sets the gate.
inline constexpr int kOldestMinor = 29;
inline constexpr int kPoliciesMinor = 30;
inline constexpr int kGateMinor = 36;

// The annotation with which a webhook asks cert-manager for its CA, and the namespace and name of
// the Certificate in deploy/kubernetes/certificates.yaml.
inline constexpr std::string_view kInjectCa = "cert-manager.io/inject-ca-from";
inline constexpr std::string_view kCertificate = "subak-system/subak-tls";

// Returns YAML documents for `kubectl apply -f -`. kInvalid names the wrong option. The function
// quotes no value. Instead it refuses a value that would change the meaning of the text.
Result<std::string> manifests(const ManifestOptions& options);

}  // namespace cli

template <>
struct EnumText<cli::ManifestPart> {
  static constexpr std::array<std::string_view, 4> names{"access", "service", "webhooks",
                                                         "policies"};
};

}  // namespace subak
