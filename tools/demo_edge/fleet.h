// The demo's cluster and its teams, which are the same in every run.
// Threads: any; pure functions and constants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subak/v1/account_service.pb.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::demo {

// The cluster's name in the configuration of deploy/demo. Product names are the values of the label
// nvidia.com/gpu.product.
inline constexpr char kCluster[] = "demo";
inline constexpr char kH100[] = "NVIDIA-H100-80GB-HBM3";
inline constexpr char kGb200[] = "NVIDIA-GB200";
inline constexpr char kA100[] = "NVIDIA-A100-SXM4-80GB";
// The rack's NVLink clique, as in the label nvidia.com/gpu.clique: UUID and clique number.
inline constexpr char kClique[] = "5f1d7c1e-9d0e-4d4e-8f6a-1b7f0c2a9e11.1";
inline constexpr int kRackNodes = 18;
inline constexpr int kRackGpusPerNode = 4;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Returns the nodes:
// - 4 HGX nodes of 8 H100,
// - one NVL72 rack of 18 nodes with 4 GB200,
// - 2 nodes of 8 A100 cut into MIG slices (per GPU two 1g.10gb, one 2g.20gb, one 3g.40gb).
std::vector<v1::NodeSpec> demo_fleet();

// A team with its namespace, users and limits.
// `account` also pays for pods in namespace `ns`.
struct Team {
  // The account path, and the namespace in the cluster.
  std::string account, ns;
  // The names of the team's users. The first submits the team's jobs; all users create its pods.
  std::vector<std::string> users;
  // The shares among siblings, as in Account.shares.
  std::int64_t shares;
  // The limit of the account in whole GPUs; 0: none.
  std::int64_t limit_gpus;
  // The account's part of the whole tree, by shares.
  double norm;
};
// Returns the three teams. They exist as long as the program.
const std::vector<Team>& teams();

// Returns the UpdateAccount calls that make the account tree, parents first.
// Each creates its account if the account is missing, and has a request id. So the calls can be
// sent again.
std::vector<v1::UpdateAccountRequest> demo_accounts();

}  // namespace subak::demo
