#include "kube/domain/domain_objects.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/content_hash.h"
#include "core/limits.h"
#include "core/text.h"

namespace subak {
namespace {

constexpr std::size_t kMostReadable = 40;  // of a name, so that it fits into a DNS label

Error unusable(const char* field, std::string_view got) {
  return {ErrorCode::kInvalid, field, std::string(got),
          "want a text of 1 to " + std::to_string(limits::kMaxNameBytes) + " bytes"};
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::kMaxNameBytes;
}

std::string_view label_of(json::Value object, std::string_view key) {
  const auto metadata = json::member(object, "metadata");
  return metadata ? json::text_in(*metadata, "labels", key) : std::string_view();
}

void read_nodes(json::Value nodes, ComputeDomain& out) {
  json::each_item(nodes, [&](std::size_t, json::Value node) {
    const std::string_view name = json::text(node, "name");
    if (!is_name(name) || out.nodes >= limits::kMaxNodes) return;
    ++out.nodes;
    if (json::text(node, "status") != "Ready") out.not_ready.emplace_back(name);
  });
  std::sort(out.not_ready.begin(), out.not_ready.end());
}

void read_owner(json::Value owners, DomainOwner& out) {
  json::each_item(owners, [&](std::size_t i, json::Value owner) {
    if (i > 0) return;
    out = {std::string(json::text(owner, "apiVersion")), std::string(json::text(owner, "kind")),
           std::string(json::text(owner, "name")), std::string(json::text(owner, "uid"))};
  });
}

// True if each request is for the class of channels. An alternative (firstAvailable) is not.
bool asks_only_channels(json::Value requests) {
  bool any = false, other = false;
  json::each_item(requests, [&](std::size_t, json::Value request) {
    any = true;
    other = other || json::text_in(request, "exactly", "deviceClassName") != names::kChannelClass;
  });
  return any && !other;
}

bool is_first_channel(json::Value device) {
  const auto attributes = json::member(device, "attributes");
  if (!attributes || json::text_in(*attributes, "type", "string") != "channel") return false;
  const auto id = json::member(*attributes, "id");
  const auto value = id ? json::member(*id, "int") : std::nullopt;
  return value && json::integer(*value, -1) == 0;
}

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool stays = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!upper && !stays && (out.empty() || out.back() == '-')) continue;
    out += upper ? static_cast<char>(c - 'A' + 'a') : stays ? c : '-';
    if (out.size() == kMostReadable) break;
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  digits.fill('0');
  std::array<char, 16> found{};
  char* const end = std::to_chars(found.data(), found.data() + found.size(), number, 16).ptr;
  std::copy_backward(found.data(), end, digits.data() + digits.size());
  return {digits.begin(), digits.end()};
}

}  // namespace

Result<ComputeDomain> read_compute_domain(json::Value object) {
  ComputeDomain out;
  const auto metadata = json::member(object, "metadata");
  if (metadata) {
    out.ns = json::text(*metadata, "namespace");
    out.name = json::text(*metadata, "name");
    out.uid = json::text(*metadata, "uid");
    out.resource_version = json::text(*metadata, "resourceVersion");
    out.going = !json::text(*metadata, "deletionTimestamp").empty();
  }
  if (!is_name(out.ns)) return unusable("metadata.namespace", out.ns);
  if (!is_name(out.name)) return unusable("metadata.name", out.name);
  if (!is_name(out.uid)) return unusable("metadata.uid", out.uid);
  if (const auto owners = json::member(*metadata, "ownerReferences"))
    read_owner(*owners, out.owner);
  read_attempt_label(label_of(object, names::kAttempt), out.job, out.attempt);
  const auto spec = json::member(object, "spec");
  const auto channel = spec ? json::member(*spec, "channel") : std::nullopt;
  if (channel) out.claim_template = json::text_in(*channel, "resourceClaimTemplate", "name");
  if (!is_name(out.claim_template)) out.claim_template.clear();
  const auto status = json::member(object, "status");
  const auto nodes = status ? json::member(*status, "nodes") : std::nullopt;
  if (nodes) read_nodes(*nodes, out);
  return out;
}

Result<ClaimTemplate> read_claim_template(json::Value object) {
  ClaimTemplate out;
  out.ns = json::text_in(object, "metadata", "namespace");
  out.name = json::text_in(object, "metadata", "name");
  if (!is_name(out.ns)) return unusable("metadata.namespace", out.ns);
  if (!is_name(out.name)) return unusable("metadata.name", out.name);
  const std::string_view uid = label_of(object, names::kLabelDomainUid);
  if (is_name(uid)) out.domain_uid = uid;
  const auto spec = json::member(object, "spec");
  const auto claim = spec ? json::member(*spec, "spec") : std::nullopt;
  const auto devices = claim ? json::member(*claim, "devices") : std::nullopt;
  const auto requests = devices ? json::member(*devices, "requests") : std::nullopt;
  out.of_channel = requests && asks_only_channels(*requests);
  return out;
}

Result<ChannelSlice> read_channel_slice(json::Value object) {
  ChannelSlice out;
  out.name = json::text_in(object, "metadata", "name");
  if (!is_name(out.name)) return unusable("metadata.name", out.name);
  const auto spec = json::member(object, "spec");
  if (!spec || json::text(*spec, "driver") != names::kChannelDriver) return out;
  const std::string_view node = json::text(*spec, "nodeName");
  if (is_name(node)) out.node = node;
  const auto devices = json::member(*spec, "devices");
  if (!devices) return out;
  json::each_item(*devices, [&](std::size_t, json::Value device) {
    out.has_channel = out.has_channel || is_first_channel(device);
  });
  return out;
}

std::string domain_name_of(const Pod& pod, std::string_view otherwise) {
  std::string identity = "pod " + std::string(otherwise);
  Text readable = pod.name.empty() ? pod.generate_name : pod.name;
  const MarkedGroup group = marked_group_of(pod);
  if (!pod.gang.id.empty()) {
    identity = "gang " + pod.gang.id + " " + pod.gang.owner;
    readable = pod.gang.job;
  } else if (!group.name.empty()) {
    identity = "group " + group.name + " " + group.owner;
    readable = group.name;
  }
  std::string name(names::kDomainTemplatePrefix);
  const std::string words = plain(readable);
  if (!words.empty()) name += words + "-";
  return name + hex(content_hash(identity));
}

std::string attempt_label(JobId job, std::uint32_t attempt) {
  return text::job_id_text(job) + "." + std::to_string(attempt);
}

bool read_attempt_label(std::string_view label, JobId& job, std::uint32_t& attempt) {
  const std::size_t dot = label.find('.');
  if (dot == std::string_view::npos) return false;
  const auto id = text::parse_job_id(label.substr(0, dot));
  std::uint32_t number = 0;
  const char* const end = label.data() + label.size();
  const auto read = std::from_chars(label.data() + dot + 1, end, number);
  if (!id || !*id || read.ec != std::errc() || read.ptr != end || number == 0) return false;
  job = *id;
  attempt = number;
  return true;
}

void append_owner(const DomainOwner& owner, std::string& out) {
  if (owner.uid.empty()) return;
  out += R"(,"ownerReferences":[{)";
  append_json_member(out, "apiVersion", owner.api_version);
  append_json_member(out, "kind", owner.kind);
  append_json_member(out, "name", owner.name);
  append_json_member(out, "uid", owner.uid);
  out += "}]";
}

std::string compute_domain_body(const std::string& ns, const std::string& name, JobId job,
                                std::uint32_t attempt, const DomainOwner& owner) {
  std::string out =
      R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomain","metadata":{)";
  append_json_member(out, "namespace", ns);
  append_json_member(out, "name", name);
  out += R"(,"labels":{)";
  append_json_member(out, names::kAttempt, attempt_label(job, attempt));
  out += "}";
  append_owner(owner, out);
  out += R"(},"spec":{"numNodes":0,"channel":{"resourceClaimTemplate":{)";
  append_json_member(out, "name", name);
  return out + R"(},"allocationMode":"Single"}}})";
}

}  // namespace subak
