#include "server/browser/reads.h"

#include <algorithm>
#include <string>
#include <vector>

#include "subak/v1/account_service.pb.h"
#include "subak/v1/admin_service.pb.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/job_service.pb.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::browser {
namespace {

constexpr std::string_view kReads[] = {
    "/subak.v1.AccountService/GetAccount",
    "/subak.v1.AccountService/ListAccounts",
    "/subak.v1.AccountService/ListShares",
    "/subak.v1.AccountService/ListBudgets",
    "/subak.v1.AccountService/GetAccountHistory",
    "/subak.v1.AdminService/GetStatus",
    "/subak.v1.AdminService/ListAudit",
    "/subak.v1.AdminService/GetPolicy",
    "/subak.v1.ClusterService/ListClusters",
    "/subak.v1.ClusterService/ListNodes",
    "/subak.v1.ClusterService/GetFleetMap",
    "/subak.v1.ClusterService/ListDomains",
    "/subak.v1.ClusterService/ListNodePools",
    "/subak.v1.ClusterService/ListMigSlices",
    "/subak.v1.ClusterService/GetPlan",
    "/subak.v1.JobService/GetJob",
    "/subak.v1.JobService/ListJobs",
    "/subak.v1.JobService/ListQueue",
    "/subak.v1.JobService/ListClaims",
    "/subak.v1.JobService/ExplainJob",
    "/subak.v1.JobService/GetJobHistory",
    "/subak.v1.UsageService/ReportUsage",
    "/subak.v1.UsageService/ListLedger",
    "/subak.v1.UsageService/GetUsageHistory",
};

// Returns the pools' entries of the paths. Naming a message of each file links the file in.
std::vector<const google::protobuf::MethodDescriptor*> resolve() {
  const google::protobuf::Descriptor* const files[] = {
      v1::GetAccountRequest::descriptor(), v1::GetStatusRequest::descriptor(),
      v1::ListNodesRequest::descriptor(), v1::GetJobRequest::descriptor(),
      v1::ReportUsageRequest::descriptor()};
  std::vector<const google::protobuf::MethodDescriptor*> out;
  for (const std::string_view path : kReads) {
    std::string name(path.substr(1));
    std::replace(name.begin(), name.end(), '/', '.');
    out.push_back(files[0]->file()->pool()->FindMethodByName(name));
  }
  return out;
}

}  // namespace

std::span<const std::string_view> read_methods() { return kReads; }

const google::protobuf::MethodDescriptor* find_read(std::string_view path) {
  static const auto* const resolved =
      new std::vector<const google::protobuf::MethodDescriptor*>(resolve());
  const auto* const found = std::find(std::begin(kReads), std::end(kReads), path);
  if (found == std::end(kReads)) return nullptr;
  return (*resolved)[static_cast<std::size_t>(found - std::begin(kReads))];
}

}  // namespace subak::browser
