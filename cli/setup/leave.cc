#include "cli/setup/leave.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/setup/manifest_objects.h"
#include "core/names.h"
#include "kube/owners/kinds.h"
#include "kube/pod.h"
#include "kube/release.h"
#include "server/edge/writes/plan.h"

namespace subak::cli {
namespace {

constexpr std::string_view kPods = "/api/v1/pods";
constexpr std::string_view kReleased = "released: Subak has left this cluster";
constexpr int kReleaseTries = 20;
constexpr DurationMs kReleaseAgainMs = 500;

constexpr std::string_view kMutating = "/mutatingwebhookconfigurations/subak";

// Returns the object's text; empty if it does not exist.
Result<std::string> keep_present(KubeCaller& api, std::string path,
                                 std::vector<std::string>& present) {
  auto reply = api.get(path);
  if (reply.answer.outcome == Outcome::kNotFound) return std::string();
  if (!reply.done()) return error_of("GET " + path, reply.answer);
  present.push_back(std::move(path));
  return std::move(reply.body);
}

// "/mutate/main", at the end of a webhook's address, names the cluster.
std::string cluster_of(const std::string& webhooks) {
  json::Parser parser;
  json::Value root;
  std::string name;
  if (parser.parse(webhooks).get(root) != simdjson::SUCCESS) return name;
  const auto list = json::member(root, "webhooks");
  if (!list) return name;
  json::each_item(*list, [&](std::size_t, json::Value hook) {
    const auto client = json::member(hook, "clientConfig");
    if (!client) return;
    std::string_view path = json::text(*client, "url");
    if (path.empty()) path = json::text_in(*client, "service", "path");
    const std::size_t at = path.find("/mutate/");
    if (at != std::string_view::npos) name = path.substr(at + std::string_view("/mutate/").size());
  });
  return name;
}

QueuedPod queued_pod(const Pod& pod) {
  const bool is_made = !pod.owner.uid.empty();
  return {std::string(pod.ns), std::string(pod.name), std::string(pod.created_at),
          std::string(is_made ? pod.owner.uid : pod.uid), is_made};
}

std::optional<Error> find_owners(KubeCaller& api, const OwnerKindRow& kind,
                                 std::string_view collection, std::vector<SuspendedOwner>& owners) {
  const std::size_t slash = collection.rfind('/');
  auto error = api.list(std::string(collection), "", [&](json::Value owner) {
    const auto metadata = json::member(owner, "metadata");
    const auto notes = metadata ? json::member(*metadata, "annotations") : std::nullopt;
    const auto mark = notes ? json::text(*notes, names::kSuspendedBy) : std::string_view();
    if (mark.empty()) return;
    owners.push_back({std::string(collection.substr(0, slash)) + "/namespaces/" +
                          std::string(json::text(*metadata, "namespace")) +
                          std::string(collection.substr(slash)) + "/" +
                          std::string(json::text(*metadata, "name")),
                      mark == kMarkTakenBack || mark == names::kParked,
                      std::string(json::text(*metadata, "creationTimestamp")), kind.suspend});
  });
  if (error && error->code == ErrorCode::kNotFound) return std::nullopt;  // no such kind
  return error;
}

std::optional<Error> patch(KubeCaller& api, const std::string& path, std::string body) {
  KubeCall call{"PATCH", path, std::move(body), "application/merge-patch+json"};
  const auto reply = api.call(call);
  if (reply.done() || reply.answer.outcome == Outcome::kNotFound) return std::nullopt;
  return error_of("PATCH " + path, reply.answer);
}

// Returns a merge patch that removes the key from the map; `rest`: further changes.
std::string metadata_patch(std::string_view map, std::string_view key, std::string_view rest) {
  std::string out = R"({"metadata":{")" + std::string(map) + R"(":{)";
  append_json_string(out, key);
  return out + ":null}}" + std::string(rest) + "}";
}

}  // namespace

Result<std::vector<QueuedPod>> queued_pods(KubeCaller& api) {
  std::vector<QueuedPod> pods;
  const auto error =
      api.list(std::string(kPods), "fieldSelector=status.phase%3DPending", [&](json::Value object) {
        const Pod pod = read_pod(object, {});
        if (pod.gated()) pods.push_back(queued_pod(pod));
      });
  if (error) return *error;
  std::map<std::string, std::string> oldest;  // by owner
  for (const QueuedPod& pod : pods) {
    std::string& created = oldest[pod.owner];
    if (created.empty() || pod.created < created) created = pod.created;
  }
  const auto key = [&](const QueuedPod& pod) {
    return std::tie(oldest.at(pod.owner), pod.owner, pod.ns, pod.name);
  };
  std::sort(pods.begin(), pods.end(),
            [&](const QueuedPod& a, const QueuedPod& b) { return key(a) < key(b); });
  return pods;
}

Result<std::vector<SuspendedOwner>> suspended_owners(KubeCaller& api) {
  std::vector<SuspendedOwner> owners;
  for (const OwnerKindRow& kind : owner_kinds()) {
    if (!kind.parks()) continue;
    // A cluster serves the objects of a kind in each of its versions.
    for (const std::string_view version : kind.versions) {
      if (version.empty()) continue;
      const std::size_t before = owners.size();
      if (const auto error = find_owners(api, kind, collection_of(kind, version), owners))
        return *error;
      if (owners.size() > before) break;
    }
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const auto& a, const auto& b) { return a.created < b.created; });
  return owners;
}

Result<Traces> find_traces(KubeCaller& api) {
  Traces traces;
  // Finds objects by their names: objects with other names are not Subak's.
  for (const std::string& guard : guard_paths()) {
    const auto text = keep_present(api, guard, traces.guards);
    if (!text) return text.error();
    if (guard.ends_with(kMutating)) traces.cluster = cluster_of(*text);
  }
  for (const std::string& right : right_paths()) {
    const auto text = keep_present(api, right, traces.rights);
    if (!text) return text.error();
  }
  const auto error =
      api.list("/api/v1/namespaces", "labelSelector=subak.gpu%2Fmanaged", [&](json::Value ns) {
        const auto metadata = json::member(ns, "metadata");
        const auto labels = json::member(*metadata, "labels");
        if (!labels || !json::member(*labels, names::kManaged)) return;
        traces.namespaces.emplace_back(json::text(*metadata, "name"));
      });
  if (error) return *error;
  auto owners = suspended_owners(api);
  if (!owners) return owners.error();
  traces.owners = std::move(owners).value();
  auto pods = queued_pods(api);
  if (!pods) return pods.error();
  traces.pods = std::move(pods).value();
  return traces;
}

std::optional<Error> remove_object(KubeCaller& api, const std::string& path) {
  KubeCall call;
  call.method = "DELETE";
  call.path = path;
  const auto reply = api.call(call);
  if (reply.done() || reply.answer.outcome == Outcome::kNotFound) return std::nullopt;
  return error_of("DELETE " + path, reply.answer);
}

std::optional<Error> forget_namespace(KubeCaller& api, const std::string& name) {
  return patch(api, "/api/v1/namespaces/" + name, metadata_patch("labels", names::kManaged, ""));
}

std::optional<Error> release_pod(KubeCaller& api, const QueuedPod& pod) {
  json::Parser parser;
  std::optional<Error> last;
  for (int tried = 0; tried < kReleaseTries; ++tried) {
    const auto seen = api.get(pod_path(pod.ns, pod.name));
    if (seen.answer.outcome == Outcome::kNotFound) return std::nullopt;
    if (!seen.done()) return error_of("GET " + pod_path(pod.ns, pod.name), seen.answer);
    json::Value object;
    if (parser.parse(seen.body).get(object) != simdjson::SUCCESS) return std::nullopt;
    const auto gated = read_gated_pod(object);
    if (!gated) {
      const bool open = gated.error().code == ErrorCode::kPrecondition;
      return open ? std::nullopt : std::optional(gated.error());
    }
    auto body = release_patch(*gated, {"", kReleased});
    if (!body) return body.error();
    const KubeCall call{"PATCH", pod_path(pod.ns, pod.name), std::move(body).value(),
                        "application/json-patch+json"};
    const auto reply = api.call(call);
    if (reply.done() || reply.answer.outcome == Outcome::kNotFound) return std::nullopt;
    last = error_of("PATCH " + pod_path(pod.ns, pod.name), reply.answer);
    api.wait(reply.answer.outcome == Outcome::kInvalid ? 0 : kReleaseAgainMs);
  }
  return last;
}

std::optional<Error> delete_pod(KubeCaller& api, const QueuedPod& pod) {
  return remove_object(api, pod_path(pod.ns, pod.name));
}

std::optional<Error> resume_owner(KubeCaller& api, const SuspendedOwner& owner) {
  return patch(
      api, owner.path,
      metadata_patch("annotations", names::kSuspendedBy,
                     owner.taken_back ? R"(,"spec":)" + suspension_patch(owner.field, false) : ""));
}

}  // namespace subak::cli
