// subak uninstall: removes Subak from a cluster. The service may be alive or dead.
#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/kube_options.h"
#include "cli/setup/leave.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

constexpr DurationMs kLookMs = 2000;
constexpr DurationMs kNoProgressMs = 30'000;  // of the service; then the command opens the gates
                                              // itself

struct UninstallCommand {
  KubeOptions kube;
  std::string cluster, queued = "release";
  std::int64_t rate = 20;
  bool dry_run = false;
};

std::string number(std::size_t n, const std::string& of) {
  return std::to_string(n) + " " + of + (n == 1 ? "" : "s");
}

class Leaving {
 public:
  Leaving(Session& s, const UninstallCommand& o, KubeCaller& api) : s_(s), o_(o), api_(api) {}

  int run() {
    traces_ = must_have(find_traces(api_));
    tell_traces();
    if (o_.dry_run) {
      s_.say("nothing was changed, because of --dry-run");
      return kExitDone;
    }
    const std::optional<v1::Cluster> served = find_service();
    remove(traces_.guards);
    for (const std::string& name : traces_.namespaces) must_be_done(forget_namespace(api_, name));
    s_.say(
        "policies, webhooks and labels are removed: Kubernetes schedules new pods without Subak");
    if (o_.queued == "delete") stop_queued();
    if (o_.queued == "release") release_queued(served);
    if (o_.queued != "keep") resume_owners();
    if (o_.queued != "keep" || !served) remove(traces_.rights);
    return tell_left();
  }

 private:
  template <class T>
  static T must_have(Result<T> result) {
    if (!result) throw kube_failure(result.error());
    return std::move(result).value();
  }
  static void must_be_done(const std::optional<Error>& error) {
    if (error) throw kube_failure(*error);
  }

  void tell_traces() {
    s_.say("found " + number(traces_.guards.size(), "policy or webhook object") + ", " +
           number(traces_.namespaces.size(), "labelled namespace") + ", " +
           number(traces_.pods.size(), "queued pod") + ", " +
           number(traces_.owners.size(), "suspended owner"));
    for (const std::string& path : traces_.guards) s_.say("  " + path);
    for (const std::string& name : traces_.namespaces) s_.say("  /api/v1/namespaces/" + name);
  }

  void remove(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) must_be_done(remove_object(api_, path));
  }

  // Returns what the service knows of this cluster. nullopt: the service is dead, or it serves
  // other clusters. Without --cluster, the name of the cluster comes from the webhook's address.
  std::optional<v1::Cluster> find_service() {
    v1::ListClustersResponse answer;
    try {
      answer = s_.call<v1::ListClustersResponse>("ClusterService/ListClusters",
                                                 v1::ListClustersRequest());
    } catch (const Failure& failure) {
      if (failure.exit_code != kExitUnreachable) throw;
      s_.say(
          "the service does not answer, so the order of its jobs is not known: the oldest gang "
          "comes first");
      return std::nullopt;
    }
    const std::string& wanted = o_.cluster.empty() ? traces_.cluster : o_.cluster;
    for (const v1::Cluster& cluster : answer.clusters()) {
      const bool only = wanted.empty() && answer.clusters_size() == 1;
      if (only || cluster.name() == wanted) return cluster;
    }
    if (o_.cluster.empty() && !wanted.empty()) {
      s_.say("the service that answers serves no cluster " + wanted +
             ", so the order of its jobs is not known: the oldest gang comes first");
      return std::nullopt;
    }
    throw usage_failure(o_.cluster.empty()
                            ? "which cluster? the service knows several"
                            : "--cluster: the service knows no \"" + o_.cluster + "\"",
                        "--cluster NAME; `subak cluster list` shows them");
  }

  // Sets the cluster to observe; the service then opens its gates in share order.
  void observe(const v1::Cluster& cluster) {
    v1::UpdateClusterRequest request;
    request.set_name(cluster.name());
    request.set_mode(v1::MODE_OBSERVE);
    for (const auto& own : cluster.namespaces()) {
      auto* exception = request.add_namespaces();
      exception->set_namespace_(own.namespace_());
      exception->set_mode(v1::MODE_UNSPECIFIED);
    }
    request.set_reason("subak uninstall");
    s_.call<v1::UpdateClusterResponse>("ClusterService/UpdateCluster", request);
    s_.say(
        "cluster " + cluster.name() +
        " is in observe mode: the service now opens the gates of its waiting pods in share order");
  }

  void release_queued(const std::optional<v1::Cluster>& served) {
    if (served) {
      observe(*served);
      wait_for_service();
    }
    const auto pods = must_have(queued_pods(api_));
    if (pods.empty()) return;
    s_.say("opening " + number(pods.size(), "pod") + ", " + std::to_string(o_.rate) + " a second");
    for (const QueuedPod& pod : pods) {
      if (const auto error = release_pod(api_, pod)) {
        s_.warn(std::vector<std::string>{pod.ns + "/" + pod.name + ": " + error->message()});
      }
      api_.wait(1000 / o_.rate);
    }
  }

  void wait_for_service() {
    std::size_t left = 0;
    for (DurationMs still_ms = 0; still_ms < kNoProgressMs; still_ms += kLookMs) {
      const std::size_t now = must_have(queued_pods(api_)).size();
      if (now == 0) return;
      if (now != left) still_ms = 0;
      left = now;
      api_.wait(kLookMs);
    }
    s_.say("the service has stopped opening gates: this command opens the remaining ones");
  }

  // Deletes the queued pods that no owner creates again. The other ones stay gated, since their
  // owners would create them again.
  void stop_queued() {
    std::size_t made = 0;
    for (const QueuedPod& pod : traces_.pods) {
      made += pod.is_made;
      if (!pod.is_made) must_be_done(delete_pod(api_, pod));
    }
    s_.say("deleted " + number(traces_.pods.size() - made, "pod") +
           " that no controller creates again; " + number(made, "pod") +
           " of Jobs and other owners stay gated: delete these owners");
  }

  void resume_owners() {
    for (const SuspendedOwner& owner : must_have(suspended_owners(api_))) {
      must_be_done(resume_owner(api_, owner));
      if (owner.taken_back) api_.wait(1000 / o_.rate);
      if (!owner.taken_back) s_.say(owner.path + " was cancelled and stays suspended");
    }
  }

  int tell_left() {
    const auto left = must_have(queued_pods(api_));
    for (std::size_t i = 0; i < left.size() && i < 10; ++i) {
      s_.say("  still gated: " + left[i].ns + "/" + left[i].name);
    }
    s_.say(number(left.size(), "pod") +
           " with Subak's gate left. The namespace subak-system stays, with the service and its "
           "state: kubectl delete namespace subak-system");
    return left.empty() || o_.queued == "keep" ? kExitDone : kExitRefused;
  }

  Session& s_;
  const UninstallCommand& o_;
  KubeCaller& api_;
  Traces traces_;
};

int uninstall(Session& s, const UninstallCommand& o) {
  if (o.rate < 1 || o.rate > 1000) {
    throw usage_failure("--rate: was " + std::to_string(o.rate) + ", want 1 to 1000 pods a second",
                        "20 is what the service does");
  }
  const auto api = open_kube(o.kube);
  return Leaving(s, o, *api).run();
}

}  // namespace

void add_uninstall(Command root) {
  auto o = std::make_shared<UninstallCommand>();
  Command c = root.add(
      "uninstall",
      "remove Subak from a cluster: policies and webhooks first, then the gates of waiting pods");
  add_kube(c, o->kube);
  c.option("--cluster", o->cluster, "the cluster's name in Subak; default: the only cluster",
           "NAME");
  c.choice("--queued", o->queued,
           "what happens to waiting pods: release them in share order (default), keep them gated, "
           "or delete pods that no controller creates again",
           {"release", "keep", "delete"});
  c.option("--rate", o->rate, "pods to release per second if the service does not run; default 20",
           "N");
  c.flag("--dry-run", o->dry_run, "show which objects Subak has in the cluster; change nothing");
  c.details(
      "The command works even if the service does not run.\n"
      "The exit code is 1 if a pod still has Subak's gate.");
  c.run([o](Session& s) { return uninstall(s, *o); });
}

}  // namespace subak::cli
