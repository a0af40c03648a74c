#include "cli/setup/preflight.h"

#include <algorithm>

#include "cli/setup/manifests.h"
#include "cli/setup/some.h"
#include "core/names.h"

namespace subak::cli {
namespace {

std::string count(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

class Judge {
 public:
  Judge(const ClusterFacts& cluster, const ServiceFacts& service) : c_(cluster), s_(service) {}

  std::vector<Finding> all() {
    versions();
    nodes();
    rights();
    devices();
    gpu_operator();
    quotas();
    other_managers();
    owners();
    webhooks();
    own_webhooks();
    preemption();
    autoscalers();
    namespaces();
    unread();
    std::stable_sort(out_.begin(), out_.end(),
                     [](const Finding& a, const Finding& b) { return a.level < b.level; });
    return std::move(out_);
  }

 private:
  void say(Level level, std::string what, std::string where, std::string todo) {
    out_.push_back({level, std::move(what), std::move(where), std::move(todo)});
  }

  // True if Subak queues pods of the namespace, or will once the label counts.
  bool is_managed(const std::string& ns) const {
    return c_.namespaces.contains(ns) || s_.accounts.contains(ns);
  }

  std::string mode_of(const std::string& ns) const {
    const auto own = s_.modes.find(ns);
    if (own != s_.modes.end()) return own->second;
    const auto whole = s_.modes.find("");
    return whole == s_.modes.end() ? "observe" : whole->second;
  }

  void versions() {
    const std::string version = "Kubernetes 1." + std::to_string(c_.minor);
    if (c_.minor == 0) {
      say(Level::kWarning, "the API server does not say its version", "/version",
          "1.29 or later is needed");
    } else if (c_.minor < kOldestMinor) {
      say(Level::kBlocker, version + " is too old", "/version",
          "1.29 or later: the webhooks' conditions need it");
    } else if (c_.minor < kPoliciesMinor) {
      say(Level::kNote, version + " has no ValidatingAdmissionPolicy", "/version",
          "install --kubernetes 1.29 registers a webhook on updates instead");
    } else if (c_.minor >= kGateMinor) {
      say(Level::kNote, version + " sets the gate by itself", "/version",
          "install --kubernetes 1.36: while Subak does not run, GPU pods wait and no pod is "
          "refused");
    }
  }

  void nodes() {
    if (c_.gpu_nodes == 0) {
      say(Level::kWarning, "no node offers nvidia.com/gpu or MIG slices", "",
          "is the device plugin running? For GPUs of other vendors, set gpuKinds");
    }
    if (c_.shared_gpu_nodes > 0) {
      say(Level::kNote, "GPUs that several pods share by time-slicing or MPS",
          count(c_.shared_gpu_nodes, "node", "nodes"), "each replica counts as a part of its GPU");
    }
    rdma();
  }

  // If no node offers RDMA, the cluster is meant to have none, so there is no finding.
  void rdma() {
    if (c_.nodes_without_rdma.empty() || c_.rdma_nodes.empty()) return;
    say(Level::kWarning, "GPU nodes without an RDMA resource, although others have one",
        some(c_.nodes_without_rdma),
        "gangs that ask for RDMA never use them: does the RDMA device plugin run there?");
  }

  void rights() {
    if (c_.own.denied.empty()) return;
    if (!c_.own.has_rights) {
      say(Level::kWarning, "the service's user has no rights here yet", "",
          "`subak install --print --only access | kubectl apply -f -`; --as names another user");
      return;
    }
    say(Level::kBlocker, "the service's user lacks rights that the service needs",
        some(c_.own.denied),
        "apply `subak install --print --only access`; --as names another user");
  }

  void devices() {
    if (c_.device_classes.empty()) return;
    say(Level::kNote, "pods may request GPUs by device classes (DRA)", some(c_.device_classes),
        "Subak counts these GPUs from Kubernetes 1.34 on; docs/kubernetes-devices.md says "
        "which ResourceClaims it reads");
  }

  void gpu_operator() {
    for (Finding& f : judge_gpu_operator(c_.gpu_operator, is_managed(c_.gpu_operator.ns))) {
      out_.push_back(std::move(f));
    }
  }

  void quotas() {
    std::vector<std::string> gpus, pods;
    for (const auto& quota : c_.quotas) {
      if (!is_managed(quota.ns)) continue;
      auto& list = quota.key == "pods" || quota.key == "count/pods" ? pods : gpus;
      list.push_back(quota.name + " (" + quota.key + ": " + quota.hard + ")");
    }
    if (!gpus.empty()) {
      say(Level::kWarning,
          "ResourceQuotas on GPUs count waiting pods, so they refuse pods that should queue",
          some(gpus),
          "remove the GPUs from these ResourceQuotas, and set the account's quota and limit "
          "instead");
    }
    if (!pods.empty()) {
      say(Level::kNote, "ResourceQuotas on the number of pods count waiting pods too", some(pods),
          "make them large enough for the waiting pods");
    }
  }

  void other_managers() {
    std::vector<std::string> gates, schedulers;
    for (const auto& [ns, here] : c_.gpu_pods) {
      if (!is_managed(ns)) continue;
      for (const auto& [gate, pod] : here.foreign_gates) gates.push_back(pod + " (" + gate + ")");
      for (const auto& [name, pod] : here.schedulers) {
        schedulers.push_back(pod + " (" + name + ")");
      }
    }
    if (!gates.empty()) {
      say(Level::kWarning, "pods also wait for another controller's gate", some(gates),
          "use one queue in a namespace: remove the other, or leave the namespace in observe");
    }
    if (!schedulers.empty()) {
      say(Level::kWarning,
          "pods name another scheduler; mode enforce refuses schedulers of other queue managers",
          some(schedulers),
          "remove schedulerName from their templates, or leave the namespace in observe");
    }
    static constexpr std::pair<std::string_view, std::string_view> kManagers[] = {
        {"kueue.x-k8s.io", "Kueue"},
        {"scheduling.volcano.sh", "Volcano"},
        {"scheduling.run.ai", "KAI"},
        {"slinky.slurm.net", "Slurm (Slinky)"},
    };
    for (const auto& [group, name] : kManagers) {
      if (!c_.groups.contains(std::string(group))) continue;
      say(Level::kNote, std::string(name) + " is installed", std::string(group),
          "it may manage namespaces in mode observe");
    }
  }

  void owners() {
    for (const auto& [ns, here] : c_.gpu_pods) {
      if (!is_managed(ns)) continue;
      for (const auto& [kind, pod] : here.owners) {
        say(Level::kWarning, "pods of a " + kind + " do not say how many start together", pod,
            "add the label " + std::string(names::kGangSize) +
                ": \"N\" to their template; without it, they wait for the reason GangIncomplete");
      }
    }
  }

  void webhooks() {
    std::vector<std::string> after, updates;
    for (const auto& hook : c_.mutating) {
      if (hook.creates && hook.configuration > "subak") {
        after.push_back(hook.configuration + "/" + hook.name);
      }
    }
    for (const auto* list : {&c_.mutating, &c_.validating}) {
      for (const auto& hook : *list) {
        if (hook.updates && hook.fails) updates.push_back(hook.configuration + "/" + hook.name);
      }
    }
    if (!after.empty()) {
      say(Level::kNote, "webhooks that change pods after Subak's webhook", some(after),
          "Subak checks these pods again, and refuses a pod without its gate");
    }
    if (!updates.empty()) {
      say(Level::kWarning, "webhooks on updates of pods with failurePolicy Fail", some(updates),
          "while one of them does not answer, no gate opens; exclude updates of schedulingGates");
    }
  }

  void own_webhooks() {
    std::vector<std::string> waiting, missing;
    for (const auto& [name, injected] : c_.own.without_ca) {
      (injected ? waiting : missing).push_back(name);
    }
    const bool has_manager = c_.groups.empty() || c_.groups.contains("cert-manager.io");
    if (!waiting.empty() && !has_manager) {
      say(Level::kBlocker, "Subak's webhooks wait for cert-manager, which the cluster lacks",
          some(waiting), "install cert-manager, or run subak install --print --ca FILE");
    } else if (!waiting.empty()) {
      say(Level::kWarning, "cert-manager has not written the CA into Subak's webhooks",
          some(waiting), "kubectl describe certificate -n subak-system subak-tls");
    }
    if (!missing.empty()) {
      say(Level::kWarning, "Subak's webhooks have no caBundle", some(missing),
          "subak install --print --ca FILE; without it, the API server uses the CAs of its "
          "machine");
    }
  }

  void preemption() {
    std::set<std::string> used;
    for (const auto& [ns, here] : c_.gpu_pods) {
      for (const std::string& name : here.priority_classes) {
        if (c_.preempting.contains(name)) used.insert(name);
      }
    }
    if (!used.empty()) {
      say(Level::kWarning,
          "priority classes of GPU pods preempt: the scheduler ends other pods for them",
          some(used), "preemptionPolicy: Never; Subak decides the order");
    } else if (!c_.preempting.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : c_.preempting) names.push_back(name + " (" + value + ")");
      say(Level::kNote, "priority classes that preempt; no GPU pod has one now", some(names),
          "preemptionPolicy: Never for those that GPU pods may use");
    }
  }

  void autoscalers() {
    if (c_.groups.contains("karpenter.sh")) {
      say(Level::kNote, "Karpenter is installed", "karpenter.sh",
          "it adds no nodes for pods that wait behind a gate: keep the GPU nodes that you share");
    }
    if (c_.groups.contains("autoscaling.x-k8s.io")) {
      say(Level::kNote, "the cluster autoscaler is installed", "autoscaling.x-k8s.io",
          "it adds no nodes for pods that wait behind a gate: keep the GPU nodes that you share");
    }
  }

  void namespaces() {
    for (const auto& [ns, value] : c_.namespaces) {
      if (value != "true" && value != "warn") {
        say(Level::kWarning, "the label subak.gpu/managed is neither true nor warn",
            ns + " (" + value + ")", "the API server does not ask Subak about its pods");
      }
    }
    if (!s_.asked) {
      say(Level::kNote, "the service was not asked for its accounts and modes", "",
          "--server HOST:PORT");
      return;
    }
    if (!s_.knows_cluster) {
      say(Level::kWarning, "the service knows no such cluster", s_.cluster,
          "--cluster NAME; `subak status` lists them");
      return;
    }
    labelled_namespaces();
    accounts_namespaces();
  }

  void labelled_namespaces() {
    std::vector<std::string> nobody, lax;
    for (const auto& [ns, value] : c_.namespaces) {
      if (!s_.accounts.contains(ns)) nobody.push_back(ns);
      if (value == "true" && mode_of(ns) != "enforce") lax.push_back(ns + " (" + mode_of(ns) + ")");
    }
    if (!nobody.empty()) {
      say(Level::kWarning, "managed namespaces that no account names", some(nobody),
          "subak account set PATH --namespaces ...");
    }
    if (!lax.empty()) {
      say(Level::kWarning,
          "subak.gpu/managed=true without mode enforce: the policies refuse pods that Subak does "
          "not gate",
          some(lax), "subak cluster mode, or the label subak.gpu/managed=warn");
    }
  }

  void accounts_namespaces() {
    std::vector<std::string> open, foreign;
    for (const auto& [ns, account] : s_.accounts) {
      if (mode_of(ns) == "enforce" && !c_.namespaces.contains(ns)) open.push_back(ns);
    }
    for (const auto& [ns, here] : c_.gpu_pods) {
      if (is_managed(ns)) {
        if (here.waiting > 0 && mode_of(ns) != "enforce") {
          foreign.push_back(ns + " (" + count(here.waiting, "pod", "pods") + ")");
        }
      }
    }
    if (!open.empty()) {
      say(Level::kWarning,
          "mode enforce without the label: the API server does not ask Subak about their pods",
          some(open), "kubectl label namespace NAME subak.gpu/managed=true");
    }
    if (!foreign.empty()) {
      say(Level::kNote, "GPU pods wait without Subak's gate", some(foreign),
          "mode enforce will not gate these pods; they may start before queued jobs");
    }
  }

  void unread() {
    if (c_.unread.empty()) return;
    say(Level::kWarning, "not checked, because this user may not read it", some(c_.unread),
        "run preflight as an operator of the cluster");
  }

  const ClusterFacts& c_;
  const ServiceFacts& s_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> judge(const ClusterFacts& cluster, const ServiceFacts& service) {
  return Judge(cluster, service).all();
}

}  // namespace subak::cli
