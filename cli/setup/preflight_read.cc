#include <algorithm>
#include <charconv>

#include "cli/setup/manifest_objects.h"
#include "cli/setup/manifests.h"
#include "cli/setup/preflight.h"
#include "core/names.h"
#include "kube/known_as.h"
#include "kube/owners/kinds.h"
#include "kube/pod.h"

namespace subak::cli {
namespace {

std::string full_name(json::Value object) {
  const std::string_view ns = json::text_in(object, "metadata", "namespace");
  return std::string(ns) + (ns.empty() ? "" : "/") +
         std::string(json::text_in(object, "metadata", "name"));
}

bool has_text(json::Value parent, std::string_view key, std::string_view wanted) {
  bool found = false;
  if (const auto list = json::member(parent, key)) {
    json::each_item(*list, [&](std::size_t, json::Value item) {
      found = found || json::text(item) == wanted || json::text(item) == "*";
    });
  }
  return found;
}

class Reader {
 public:
  Reader(KubeCaller& api, ClusterFacts& facts) : api_(api), facts_(facts) {}

  std::optional<Error> read(const std::string& user) {
    if (auto error = read_version()) return error;
    read_groups();
    list("/api/v1/nodes", [&](json::Value v) { take_node(v); });
    list("/api/v1/namespaces", [&](json::Value v) { take_namespace(v); });
    list("/api/v1/resourcequotas", [&](json::Value v) { take_quota(v); });
    list("/api/v1/pods", [&](json::Value v) { take_pod(v); });
    const std::string webhooks = "/apis/admissionregistration.k8s.io/v1/";
    list(webhooks + "mutatingwebhookconfigurations",
         [&](json::Value v) { take_webhooks(v, facts_.mutating); });
    list(webhooks + "validatingwebhookconfigurations",
         [&](json::Value v) { take_webhooks(v, facts_.validating); });
    list("/apis/scheduling.k8s.io/v1/priorityclasses", [&](json::Value v) { take_priority(v); });
    if (facts_.groups.contains("resource.k8s.io")) {
      list("/apis/resource.k8s.io/v1/deviceclasses", [&](json::Value v) { take_class(v); });
    }
    read_gpu_operator(api_, facts_.groups, facts_.gpu_operator, facts_.unread);
    read_rights(user);
    return std::nullopt;
  }

 private:
  template <class F>
  void list(const std::string& collection, F&& each) {
    const auto error = api_.list(collection, "", each);
    if (!error || error->code == ErrorCode::kNotFound) return;
    facts_.unread.push_back(collection.substr(collection.rfind('/') + 1));
  }

  std::optional<Error> read_version() {
    const auto reply = api_.get("/version");
    if (!reply.done()) return error_of("GET /version", reply.answer);
    json::Value root;
    if (parser_.parse(reply.body).get(root) == simdjson::SUCCESS) {
      const std::string_view minor = json::text(root, "minor");  // "36", "36+"
      std::from_chars(minor.data(), minor.data() + minor.size(), facts_.minor);
    }
    return std::nullopt;
  }

  void read_groups() {
    const auto reply = api_.get("/apis");
    json::Value root;
    if (!reply.done() || parser_.parse(reply.body).get(root) != simdjson::SUCCESS) {
      facts_.unread.emplace_back("apis");
      return;
    }
    if (const auto groups = json::member(root, "groups")) {
      json::each_item(*groups, [&](std::size_t, json::Value group) {
        facts_.groups.emplace(json::text(group, "name"));
      });
    }
  }

  void take_node(json::Value node) {
    take_operator_node(node, facts_.gpu_operator);
    const auto status = json::member(node, "status");
    const auto capacity = status ? json::member(*status, "capacity") : std::nullopt;
    if (!capacity) return;
    bool gpus = false, shared = false, rdma = false;
    json::each_member(*capacity, [&](std::string_view name, json::Value amount) {
      const bool ours =
          name == names::kGpu || name == names::kGpuShared || name.starts_with(names::kMigPrefix);
      if (ours && json::text(amount) != "0") gpus = true;
      rdma = rdma || (is_rdma(name) && json::text(amount) != "0");
      shared = shared || (name == names::kGpuShared && json::text(amount) != "0");
    });
    const auto metadata = json::member(node, "metadata");
    const auto labels = metadata ? json::member(*metadata, "labels") : std::nullopt;
    const std::string_view replicas =
        labels ? json::text(*labels, names::kLabelReplicas) : std::string_view();
    shared = shared || !(replicas.empty() || replicas == "0" || replicas == "1");
    facts_.gpu_nodes += gpus;
    facts_.shared_gpu_nodes += gpus && shared;
    if (!gpus) return;
    auto& list = rdma ? facts_.rdma_nodes : facts_.nodes_without_rdma;
    list.emplace_back(json::text_in(node, "metadata", "name"));
  }

  void take_namespace(json::Value ns) {
    const auto metadata = json::member(ns, "metadata");
    const auto labels = metadata ? json::member(*metadata, "labels") : std::nullopt;
    const auto managed = labels ? json::member(*labels, names::kManaged) : std::nullopt;
    if (managed) {
      facts_.namespaces.emplace(json::text(*metadata, "name"), json::text(*managed));
    }
  }

  void take_quota(json::Value quota) {
    const auto spec = json::member(quota, "spec");
    const auto hard = spec ? json::member(*spec, "hard") : std::nullopt;
    if (!hard) return;
    json::each_member(*hard, [&](std::string_view key, json::Value amount) {
      const bool gpus = key.find("nvidia.com/") != std::string_view::npos ||
                        key.find(".deviceclass.resource.k") != std::string_view::npos;
      if (!gpus && key != "pods" && key != "count/pods") return;
      facts_.quotas.push_back({full_name(quota),
                               std::string(json::text_in(quota, "metadata", "namespace")),
                               std::string(key), std::string(json::text(amount))});
    });
  }

  void take_own_webhooks(json::Value configuration, json::Value list) {
    const auto metadata = json::member(configuration, "metadata");
    const auto marks = metadata ? json::member(*metadata, "annotations") : std::nullopt;
    const bool injected = marks && !json::text(*marks, kInjectCa).empty();
    json::each_item(list, [&](std::size_t, json::Value hook) {
      if (json::text_in(hook, "clientConfig", "caBundle").empty()) {
        facts_.own.without_ca[std::string(json::text(hook, "name"))] = injected;
      }
    });
  }

  void take_webhooks(json::Value configuration, std::vector<ClusterFacts::Webhook>& out) {
    const std::string name(json::text_in(configuration, "metadata", "name"));
    const auto list = json::member(configuration, "webhooks");
    if (!list) return;
    if (name == "subak" || name == "subak-update") return take_own_webhooks(configuration, *list);
    json::each_item(*list, [&](std::size_t, json::Value hook) {
      ClusterFacts::Webhook found{name, std::string(json::text(hook, "name"))};
      found.fails = json::text(hook, "failurePolicy") != "Ignore";
      const auto rules = json::member(hook, "rules");
      if (!rules) return;
      json::each_item(*rules, [&](std::size_t, json::Value rule) {
        if (!has_text(rule, "apiGroups", "") || !has_text(rule, "resources", "pods")) return;
        found.creates = found.creates || has_text(rule, "operations", "CREATE");
        found.updates = found.updates || has_text(rule, "operations", "UPDATE");
      });
      if (found.creates || found.updates) out.push_back(std::move(found));
    });
  }

  void take_priority(json::Value one) {
    const std::string name(json::text_in(one, "metadata", "name"));
    if (name.starts_with("system-") || json::text(one, "preemptionPolicy") == "Never") return;
    const auto value = json::member(one, "value");
    facts_.preempting[name] = std::to_string(value ? json::integer(*value) : 0);
  }

  // A class gives GPUs if it stands for their resource, or selects devices of NVIDIA's driver.
  void take_class(json::Value one) {
    const auto spec = json::member(one, "spec");
    if (!spec) return;
    bool gpus = json::text(*spec, "extendedResourceName").starts_with(names::kNvidiaPrefix);
    if (const auto selectors = json::member(*spec, "selectors")) {
      json::each_item(*selectors, [&](std::size_t, json::Value selector) {
        gpus = gpus || json::text_in(selector, "cel", "expression").find("gpu.nvidia.com") !=
                           std::string_view::npos;
      });
    }
    if (gpus) facts_.device_classes.push_back(full_name(one));
  }

  void take_pod(json::Value object) {
    const std::string_view phase = json::text_in(object, "status", "phase");
    if (phase == "Succeeded" || phase == "Failed") return;
    const Pod pod = read_pod(object, {});
    if (!pod.asks_gpu()) return;
    const std::string name = full_name(object);
    auto& here = facts_.gpu_pods[std::string(pod.ns)];
    ++here.pods;
    if (pod.node_name.empty() && !pod.gated()) ++here.waiting;
    for (const Text gate : pod.gates) {
      if (gate != names::kGate) here.foreign_gates.emplace(gate, name);
    }
    if (!pod.scheduler_name.empty() && pod.scheduler_name != "default-scheduler") {
      here.schedulers.emplace(pod.scheduler_name, name);
    }
    const std::string_view priority = json::text_in(object, "spec", "priorityClassName");
    if (!priority.empty()) here.priority_classes.emplace(priority);
    if (lacks_gang_size(pod) && !size_may_come(pod)) {
      here.owners.emplace(pod.owner.kind.empty() ? Text("Pod") : pod.owner.kind, name);
    }
  }

  // True if the kubeconfig's user is that user. Then the API server knows the user's groups too.
  bool is_us(const std::string& user) {
    const auto reply = api_.call({"POST", kSelfReviewPath, kSelfReview});
    if (!reply.done()) return false;
    const auto known_as = read_known_as(reply.body);
    return known_as.ok() && *known_as == user;
  }

  // The service needs no rights on kinds that the cluster lacks. If the kinds are unreadable, it
  // may have all of them.
  bool has_group(const std::string& group) const {
    return group.empty() || facts_.groups.empty() || facts_.groups.contains(group);
  }

  // Reads the rights as the API server would judge calls of that user.
  void read_rights(const std::string& user) {
    const bool self = is_us(user);
    for (const ServiceRight& right : service_rights()) {
      if (!has_group(right.group)) continue;
      std::string body = R"({"apiVersion":"authorization.k8s.io/v1","spec":{)";
      if (!self) append_json_member(body, "user", user);
      if (!self && user.starts_with("system:serviceaccount:")) {
        body += R"(,"groups":["system:serviceaccounts","system:authenticated"])";
      }
      body += self ? R"("resourceAttributes":{)" : R"(,"resourceAttributes":{)";
      append_json_member(body, "verb", right.verb);
      append_json_member(body, "group", right.group);
      append_json_member(body, "resource", right.resource);
      append_json_member(body, "subresource", right.sub);
      body += "}}}";
      const auto reply = api_.call({"POST",
                                    std::string("/apis/authorization.k8s.io/v1/") +
                                        (self ? "self" : "") + "subjectaccessreviews",
                                    body});
      json::Value root;
      if (!reply.done() || parser_.parse(reply.body).get(root) != simdjson::SUCCESS) {
        facts_.unread.push_back("the rights of " + user);
        return;
      }
      const auto status = json::member(root, "status");
      if (status && json::boolean(*status, "allowed")) {
        facts_.own.has_rights = true;
        continue;
      }
      facts_.own.denied.push_back(right.verb + " " + right.resource +
                                  (right.sub.empty() ? "" : "/" + right.sub));
    }
  }

  KubeCaller& api_;
  ClusterFacts& facts_;
  json::Parser parser_;
};

}  // namespace

Result<ClusterFacts> read_cluster(KubeCaller& api, const std::string& user) {
  ClusterFacts facts;
  if (auto error = Reader(api, facts).read(user)) return *error;
  return facts;
}

}  // namespace subak::cli
