#include "kube/provisioning/provisioning_request.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "core/text.h"

namespace subak {
namespace {

using Keys = std::span<const std::string_view>;

// The parts of a pod's spec on which its placement depends. Containers and volumes have their own
// lists.
constexpr auto kSpecParts = std::to_array<std::string_view>(
    {"nodeSelector", "tolerations", "schedulerName", "priority", "priorityClassName", "overhead",
     "resources", "resourceClaims", "runtimeClassName", "hostNetwork"});
constexpr auto kContainerParts =
    std::to_array<std::string_view>({"name", "image", "resources", "ports", "restartPolicy"});
constexpr auto kMetadataParts = std::to_array<std::string_view>({"labels"});
// The API server adds these labels to the selectors of a new pod. It refuses a template that names
// a label in both.
constexpr auto kLabelKeys =
    std::to_array<std::string_view>({"matchLabelKeys", "mismatchLabelKeys"});

bool is_one_of(std::string_view key, Keys keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool fits(std::string_view text) { return !text.empty() && text.size() <= limits::kMaxNameBytes; }

std::string up_to(std::string_view text, std::size_t most) {
  return std::string(text.size() <= most ? text : std::string_view());
}

void append_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{') out += ',';
  append_json_string(out, key);
  out += ':';
}

// Appends the value without the members kLabelKeys, at any depth.
void append_without_label_keys(std::string& out, json::Value value) {
  if (value.is_array()) {
    out += '[';
    json::each_item(value, [&](std::size_t i, json::Value item) {
      if (i > 0) out += ',';
      append_without_label_keys(out, item);
    });
    out += ']';
  } else if (json::is_object(value)) {
    out += '{';
    json::each_member(value, [&](std::string_view key, json::Value member) {
      if (is_one_of(key, kLabelKeys)) return;
      append_key(out, key);
      append_without_label_keys(out, member);
    });
    out += '}';
  } else {
    out += simdjson::minify(value);
  }
}

// Appends the members of these names that the object has.
void append_parts(std::string& out, json::Value object, Keys keys) {
  const json::Members members(object);
  for (const std::string_view key : keys) {
    const auto value = members.find(key);
    if (!value) continue;
    append_key(out, key);
    out += simdjson::minify(*value);
  }
}

void append_containers(std::string& out, json::Value spec, std::string_view list) {
  const auto containers = json::member(spec, list);
  if (!containers) return;
  append_key(out, list);
  out += '[';
  json::each_item(*containers, [&](std::size_t i, json::Value container) {
    out += i > 0 ? ",{" : "{";
    append_parts(out, container, kContainerParts);
    out += '}';
  });
  out += ']';
}

// Appends the volumes that are PersistentVolumeClaims, since these may tie a pod to a zone.
void append_claims(std::string& out, json::Value spec) {
  const auto volumes = json::member(spec, "volumes");
  if (!volumes) return;
  append_key(out, "volumes");
  out += '[';
  json::each_item(*volumes, [&](std::size_t, json::Value volume) {
    if (!json::member(volume, "persistentVolumeClaim")) return;
    if (out.back() != '[') out += ',';
    out += simdjson::minify(volume);
  });
  out += ']';
}

void append_head(std::string& out, const std::string& name, const ProvisioningRequest& request) {
  out += R"("metadata":{)";
  append_json_member(out, "namespace", request.ns);
  append_json_member(out, "name", name);
  out += R"(,"labels":{)";
  append_json_member(out, names::kProvisioning, attempt_label(request.job, request.number));
  out += '}';
}

std::optional<ProvisioningState> state_of(std::string_view condition) {
  if (condition == "Accepted") return ProvisioningState::kAccepted;
  if (condition == "Provisioned") return ProvisioningState::kProvisioned;
  if (condition == "BookingExpired") return ProvisioningState::kExpired;
  if (condition == "CapacityRevoked") return ProvisioningState::kRevoked;
  if (condition == "Failed") return ProvisioningState::kFailed;
  return std::nullopt;
}

TimeMs time_of(json::Value object, std::string_view key) {
  const Result<TimeMs> time = parse_time(json::text(object, key), key);
  return time ? *time : 0;
}

void read_condition(json::Value condition, ProvisioningRequest& out) {
  const auto state = state_of(json::text(condition, "type"));
  if (!state || json::text(condition, "status") != "True" || *state < out.state) return;
  out.state = *state;
  out.reason = cut_text(json::text(condition, "reason"), limits::kMaxNameBytes);
  out.message = cut_text(json::text(condition, "message"), limits::kMaxMessageBytes);
  out.since_ms = time_of(condition, "lastTransitionTime");
}

void read_pods(json::Value spec, ProvisioningRequest& out) {
  const auto sets = json::member(spec, "podSets");
  if (!sets) return;
  json::each_item(*sets, [&](std::size_t i, json::Value set) {
    const std::string_view name = json::text_in(set, "podTemplateRef", "name");
    if (i >= kMaxPodSets || !fits(name)) return;
    const auto count = json::member(set, "count");
    out.pods.push_back({std::string(name), count ? json::integer(*count) : 0});
  });
}

}  // namespace

Result<ProvisioningRequest> read_provisioning_request(json::Value object) {
  ProvisioningRequest out;
  const auto metadata = json::member(object, "metadata");
  for (const auto& [key, to] :
       {std::pair{"namespace", &out.ns}, {"name", &out.name}, {"uid", &out.uid}}) {
    if (metadata) *to = json::text(*metadata, key);
    if (fits(*to)) continue;
    return Error{ErrorCode::kInvalid, std::string("metadata.") + key, *to,
                 "want a text of 1 to " + std::to_string(limits::kMaxNameBytes) + " bytes"};
  }
  out.going = !json::text(*metadata, "deletionTimestamp").empty();
  out.since_ms = time_of(*metadata, "creationTimestamp");
  read_attempt_label(json::text_in(*metadata, "labels", names::kProvisioning), out.job, out.number);
  out.digest = up_to(json::text_in(*metadata, "annotations", names::kProvisioningDigest),
                     limits::kMaxNameBytes);
  if (const auto spec = json::member(object, "spec")) {
    out.class_name = up_to(json::text(*spec, "provisioningClassName"), limits::kMaxNameBytes);
    read_pods(*spec, out);
  }
  const auto status = json::member(object, "status");
  const auto conditions = status ? json::member(*status, "conditions") : std::nullopt;
  if (conditions) {
    json::each_item(*conditions, [&](std::size_t, json::Value one) { read_condition(one, out); });
  }
  return out;
}

std::string provisioning_name(JobId job, std::uint32_t number) {
  return "subak-" + text::job_id_text(job) + "-" + std::to_string(number);
}

std::string provisioning_request_body(const ProvisioningRequest& request,
                                      const DomainOwner& owner) {
  std::string out = R"({"apiVersion":"autoscaling.x-k8s.io/v1","kind":"ProvisioningRequest",)";
  append_head(out, request.name, request);
  out += R"(,"annotations":{)";
  append_json_member(out, names::kProvisioningDigest, request.digest);
  out += '}';
  append_owner(owner, out);
  out += R"(},"spec":{)";
  append_json_member(out, "provisioningClassName", request.class_name);
  out += R"(,"podSets":[)";
  for (const ProvisioningPods& pods : request.pods) {
    out += &pods == request.pods.data() ? "{" : ",{";
    out += R"("count":)" + std::to_string(pods.count) + R"(,"podTemplateRef":{)";
    append_json_member(out, "name", pods.pod_template);
    out += "}}";
  }
  return out + "]}}";
}

Result<std::string> pod_template_body(json::Value pod, const std::string& name,
                                      const ProvisioningRequest& request,
                                      const DomainOwner& owner) {
  const auto spec = json::member(pod, "spec");
  if (!spec || !json::member(*spec, "containers"))
    return Error{ErrorCode::kInvalid, "spec.containers", "", "want a list of containers"};
  std::string out = R"({"apiVersion":"v1","kind":"PodTemplate",)";
  append_head(out, name, request);
  append_owner(owner, out);
  out += R"(},"template":{"metadata":{)";
  if (const auto metadata = json::member(pod, "metadata"))
    append_parts(out, *metadata, kMetadataParts);
  out += R"(},"spec":{)";
  append_parts(out, *spec, kSpecParts);
  for (const std::string_view key : {"affinity", "topologySpreadConstraints"}) {
    const auto value = json::member(*spec, key);
    if (!value) continue;
    append_key(out, key);
    append_without_label_keys(out, *value);
  }
  append_claims(out, *spec);
  append_containers(out, *spec, "initContainers");
  append_containers(out, *spec, "containers");
  return out + "}}}";
}

}  // namespace subak
