#include "kube/event.h"

#include "core/duration.h"
#include "core/error.h"
#include "kube/json.h"

namespace subak {
namespace {

constexpr std::string_view kController = "subak.gpu/subakd";
constexpr std::size_t kMaxWordBytes = 128, kMaxNoteBytes = 1024;  // of the API

// MicroTime: always with six digits of a second.
std::string micro_time(TimeMs at) {
  const std::string whole = format_time(at - at % kSecondMs);  // "...T07:44:27Z"
  const std::string ms = std::to_string(kSecondMs + at % kSecondMs).substr(1);
  return whole.substr(0, whole.find_first_of(".Z")) + "." + ms + "000Z";
}

}  // namespace

std::string event_body(const KubeEvent& event) {
  const std::string_view ns = event.regarding.ns.empty() ? "default" : event.regarding.ns;
  std::string out = R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{)";
  append_json_member(out, "name", event.name);
  append_json_member(out, "namespace", ns);
  out += '}';
  append_json_member(out, "eventTime", micro_time(event.at_ms));
  append_json_member(out, "reportingController", kController);
  append_json_member(out, "reportingInstance", event.instance.substr(0, kMaxWordBytes));
  append_json_member(out, "action", event.action.substr(0, kMaxWordBytes));
  append_json_member(out, "reason", event.reason.substr(0, kMaxWordBytes));
  append_json_member(out, "type", event.warning ? "Warning" : "Normal");
  append_json_member(out, "note", cut_text(event.note, kMaxNoteBytes - kCutNoteBytes));
  out += R"(,"regarding":{)";
  append_json_member(out, "apiVersion", event.regarding.api_version);
  append_json_member(out, "kind", event.regarding.kind);
  if (!event.regarding.ns.empty()) append_json_member(out, "namespace", ns);
  append_json_member(out, "name", event.regarding.name);
  append_json_member(out, "uid", event.regarding.uid);
  return out + "}}";
}

std::string event_again(std::uint32_t count, TimeMs at_ms) {
  std::string out = R"({"series":{"count":)" + std::to_string(count);
  append_json_member(out, "lastObservedTime", micro_time(at_ms));
  return out + "}}";
}

}  // namespace subak
