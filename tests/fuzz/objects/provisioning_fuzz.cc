// ProvisioningRequests as the edge reads them from a watch, and the PodTemplate of a pod.
#include "core/limits.h"
#include "server/edge/provisioning/request_cache.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_name(const std::string& text) {
  assert(!text.empty() && text.size() <= limits::kMaxNameBytes);
}

json::Value parse(simdjson::dom::parser& parser, const std::string& text) {
  json::Value made;
  assert(parser.parse(text).get(made) == simdjson::SUCCESS);
  return made;
}

void check_request(const ProvisioningRequest& request) {
  check_name(request.ns);
  check_name(request.name);
  check_name(request.uid);
  assert(request.class_name.size() <= limits::kMaxNameBytes);
  assert(request.digest.size() <= limits::kMaxNameBytes);
  assert(request.message.size() <= limits::kMaxMessageBytes);
  assert(request.pods.size() <= kMaxPodSets && request.since_ms >= 0);
  assert(request.is_ours() == (request.number > 0));
  for (const ProvisioningPods& pods : request.pods) check_name(pods.pod_template);
  if (!request.is_ours()) return;
  // What Subak writes for the same request reads back the same.
  std::string text = provisioning_request_body(request, {"v1", "Pod", "p", "P"});
  text.replace(text.find(R"("metadata":{)"), 12, R"("metadata":{"uid":"U",)");
  simdjson::dom::parser parser;
  const auto again = read_provisioning_request(parse(parser, text));
  assert(again.ok());
  assert(again->name == request.name && again->ns == request.ns && again->job == request.job);
  assert(again->number == request.number && again->digest == request.digest);
  assert(again->class_name == request.class_name && again->pods == request.pods);
}

void check_template(json::Value object) {
  ProvisioningRequest request;
  request.ns = "a";
  request.job = JobId(ClusterId(1), 1);
  request.number = 1;
  const auto body = pod_template_body(object, "t", request, {"v1", "Pod", "p", "P"});
  if (!body.ok()) return fuzz::check_error(body.error());
  simdjson::dom::parser parser;
  const json::Value made = parse(parser, *body);
  const auto pod_template = json::member(made, "template");
  assert(json::text_in(made, "metadata", "name") == "t" && pod_template);
  const auto spec = json::member(*pod_template, "spec");
  assert(spec && json::member(*spec, "containers"));
  assert(!json::member(*spec, "schedulingGates") && !json::member(*spec, "nodeName"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simdjson::dom::parser parser;
  WatchEvent event;
  const auto text = fuzz::text_of(data, size);
  if (parser.parse(text.data(), text.size()).get(event.object) != simdjson::SUCCESS) return 0;
  const auto request = read_provisioning_request(event.object);
  request.ok() ? check_request(*request) : fuzz::check_error(request.error());
  check_template(event.object);
  RequestCache cache;
  event.kind = WatchKind::kModified;
  assert(cache.see(event).has_value() == !request.ok());
  assert(cache.all().size() == (request.ok() && request->is_ours() ? 1U : 0U));
  if (request.ok()) {
    const ProvisioningRequest* const usable = cache.provisioned(request->job, request->ns);
    assert(usable == nullptr || usable->state == ProvisioningState::kProvisioned);
  }
  event.kind = WatchKind::kDeleted;
  cache.see(event);
  assert(cache.all().empty());
  return 0;
}
