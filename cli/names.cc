#include "cli/names.h"

#include <set>

#include "core/limits.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

std::vector<std::string> accounts(Client& client) {
  v1::ListAccountsRequest request;
  request.set_include_users(true);
  request.set_page_size(limits::kMaxPageSize);
  v1::ListAccountsResponse answer;
  client.call("AccountService/ListAccounts", request, answer);
  std::vector<std::string> names;
  for (const auto& account : answer.accounts()) {
    if (!account.path().empty()) names.push_back(account.path());
  }
  return names;
}

std::vector<std::string> jobs(Client& client) {
  v1::ListJobsRequest request;
  request.set_page_size(limits::kDefaultPageSize);
  v1::ListJobsResponse answer;
  client.call("JobService/ListJobs", request, answer);
  std::vector<std::string> names;
  for (const auto& job : answer.jobs()) names.push_back(job.id());
  return names;
}

std::vector<std::string> nodes(Client& client, const std::string& cluster) {
  v1::ListNodesRequest request;
  request.set_cluster(cluster);
  request.set_page_size(limits::kMaxPageSize);
  v1::ListNodesResponse answer;
  client.call("ClusterService/ListNodes", request, answer);
  std::vector<std::string> names;
  for (const auto& node : answer.nodes()) names.push_back(node.spec().name());
  return names;
}

std::vector<std::string> of_clusters(Client& client, NameKind kind) {
  v1::ListClustersResponse answer;
  client.call("ClusterService/ListClusters", v1::ListClustersRequest(), answer);
  std::set<std::string> names;
  for (const auto& cluster : answer.clusters()) {
    if (kind == NameKind::kClusters) names.insert(cluster.name());
    if (kind == NameKind::kProducts) {
      for (const auto& product : cluster.products()) names.insert(product.product());
    }
    if (kind == NameKind::kNodes) {
      for (const std::string& node : nodes(client, cluster.name())) names.insert(node);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> known_names(Client& client, NameKind kind) {
  switch (kind) {
    case NameKind::kAccounts:
      return accounts(client);
    case NameKind::kJobs:
      return jobs(client);
    case NameKind::kClusters:
    case NameKind::kNodes:
    case NameKind::kProducts:
      return of_clusters(client, kind);
  }
  return {};
}

}  // namespace subak::cli
