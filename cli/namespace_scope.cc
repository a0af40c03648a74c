#include "cli/namespace_scope.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/service_facts.h"
#include "cli/setup/kube_context.h"
#include "cli/setup/preflight.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "core/limits.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

// Returns the texts of the files of KUBECONFIG, which may be several. As with kubectl, a file that
// does not exist counts as empty.
std::vector<std::string> kubeconfigs(std::string paths) {
  if (paths.empty()) {
    const char* const home = std::getenv("HOME");
    paths = std::string(home == nullptr ? "" : home) + "/.kube/config";
  }
  std::vector<std::string> texts;
  for (std::size_t at = 0; at <= paths.size();) {
    const std::size_t end = std::min(paths.find(':', at), paths.size());
    const std::string path = paths.substr(at, end - at);
    at = end + 1;
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) continue;
    texts.push_back(read_input(path, limits::kMaxKubeconfigBytes));
  }
  return texts;
}

bool is_job_id(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto digits = [](const std::string& part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  };
  return dash != std::string::npos && digits(text.substr(0, dash)) && digits(text.substr(dash + 1));
}

// Jobs whose names begin the pod's name come first: the job "ns/train" has pods "ns/train-0-x7k2p".
void sort_by_likeness(std::vector<v1::Job>& jobs, const std::string& pod) {
  std::stable_sort(jobs.begin(), jobs.end(), [&](const v1::Job& a, const v1::Job& b) {
    const auto like = [&](const v1::Job& j) {
      const std::string& name = j.spec().name();
      return pod.starts_with(name) ? name.size() : 0;
    };
    return like(a) > like(b);
  });
}

bool has_pod(Session& s, const std::string& job, const std::string& pod) {
  v1::GetJobRequest request;
  request.set_job_id(job);
  request.set_include_pods(true);
  const auto answer = s.call<v1::Job>("JobService/GetJob", request);
  return std::any_of(answer.pods().begin(), answer.pods().end(),
                     [&](const v1::JobPod& p) { return p.name() == pod; });
}

}  // namespace

void add_namespace(Command& command, NamespaceOptions& options, bool all_too) {
  command.option("-n,--namespace", options.ns,
                 "the namespace; default: that of the kubeconfig's context", "NAME");
  if (all_too) command.flag("-A,--all-namespaces", options.all, "all namespaces and accounts");
  command.option("--cluster", options.cluster,
                 "the cluster's name in Subak; default: the only cluster", "NAME");
  add_kube(command, options.kube);
}

std::string namespace_of(const NamespaceOptions& options) {
  if (!options.ns.empty()) {
    if (is_namespace(options.ns)) return options.ns;
    throw usage_failure("--namespace: was \"" + options.ns + "\", want the name of a namespace",
                        "kubectl get namespaces lists them");
  }
  const auto ns = context_namespace(kubeconfigs(options.kube.kubeconfig), options.kube.context);
  if (ns) return *ns;
  throw Failure{ns.error().code == ErrorCode::kNotFound ? kExitNotFound : kExitUsage,
                ns.error().message(), "--namespace NAME needs no kubeconfig"};
}

std::string account_of(Session& s, const NamespaceOptions& options) {
  if (options.all) return "";
  const std::string ns = namespace_of(options);
  const ServiceFacts facts = ask_service(s, options.cluster);
  if (!facts.asked) return "";  // the command's own call reports the failure
  if (!facts.knows_cluster && !options.cluster.empty()) {
    throw Failure{kExitNotFound, "--cluster: there is no cluster \"" + options.cluster + "\"",
                  "subak cluster list shows their names"};
  }
  if (facts.clusters.size() > 1 && options.cluster.empty()) {
    throw usage_failure("--cluster: want one of the clusters of the service",
                        "subak cluster list shows their names");
  }
  const auto found = facts.accounts.find(ns);
  if (found != facts.accounts.end()) return found->second;
  throw Failure{kExitNotFound, "namespace \"" + ns + "\": no account has it",
                "an operator runs: subak account set ACCOUNT --namespaces " + ns + " --reason ..."};
}

std::string job_of(Session& s, const NamespaceOptions& options, const std::string& name) {
  if (is_job_id(name)) return name;
  const bool is_pod = name.starts_with("pod/");
  const std::string wanted = is_pod ? name.substr(4) : name;
  // Jobs that Subak read from pods have the namespace in their names, as pods have.
  const std::string full = namespace_of(options) + "/" + wanted;
  v1::ListJobsRequest request;
  request.set_account(account_of(s, options));
  const auto answer = all_pages<v1::ListJobsResponse>(s, "JobService/ListJobs", request, 0,
                                                      [](auto& a) { return a.mutable_jobs(); });
  std::vector<v1::Job> jobs(answer.jobs().begin(), answer.jobs().end());
  if (!is_pod) {
    std::vector<std::string> named;
    for (const v1::Job& job : jobs) {
      if (job.spec().name() == wanted || job.spec().name() == full) named.push_back(job.id());
    }
    if (named.size() == 1) return named.front();
    if (named.size() > 1) {
      throw usage_failure(
          "JOB: " + std::to_string(named.size()) + " jobs have the name \"" + wanted + "\"",
          "name one of " + named[0] + ", " + named[1] + ", ... or a pod");
    }
  }
  sort_by_likeness(jobs, full);
  for (std::size_t i = 0; i < jobs.size() && i < kMostJobs; ++i) {
    if (has_pod(s, jobs[i].id(), full)) return jobs[i].id();
  }
  throw Failure{kExitNotFound,
                "JOB: no job that has not ended has the name or the pod \"" + full + "\"",
                "kubectl subak queue lists the jobs; a pod without GPUs belongs to no job"};
}

}  // namespace subak::cli
