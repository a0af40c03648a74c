#include "cli/service_facts.h"

#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

void take_cluster(const v1::Cluster& cluster, ServiceFacts& facts) {
  facts.knows_cluster = true;
  facts.cluster = cluster.name();
  facts.modes[""] = word(cluster.mode());
  for (const auto& own : cluster.namespaces()) facts.modes[own.namespace_()] = word(own.mode());
  for (const auto& label : cluster.namespace_labels()) {
    facts.accounts[label.namespace_()] = label.account();
  }
}

// Reads the account's namespaces: "ns" in every cluster, or "cluster/ns".
void take_account(const v1::Account& account, ServiceFacts& facts) {
  facts.paths.insert(account.path());
  for (const std::string& name : account.namespaces()) {
    const std::size_t slash = name.find('/');
    if (slash != std::string::npos && name.substr(0, slash) != facts.cluster) continue;
    facts.accounts[name.substr(slash == std::string::npos ? 0 : slash + 1)] = account.path();
  }
}

}  // namespace

ServiceFacts ask_service(Session& s, const std::string& wanted) {
  ServiceFacts facts;
  facts.cluster = wanted;
  v1::ListClustersResponse clusters;
  try {
    clusters =
        s.call<v1::ListClustersResponse>("ClusterService/ListClusters", v1::ListClustersRequest());
  } catch (const Failure& failure) {
    if (failure.exit_code != kExitUnreachable) throw;
    return facts;
  }
  facts.asked = true;
  for (const v1::Cluster& cluster : clusters.clusters()) {
    facts.clusters.push_back(cluster.name());
    const bool only = wanted.empty() && clusters.clusters_size() == 1;
    if (only || cluster.name() == wanted) take_cluster(cluster, facts);
  }
  const auto accounts = all_pages<v1::ListAccountsResponse>(
      s, "AccountService/ListAccounts", v1::ListAccountsRequest(), 0,
      [](auto& a) { return a.mutable_accounts(); });
  for (const v1::Account& account : accounts.accounts()) take_account(account, facts);
  return facts;
}

}  // namespace subak::cli
