#include "admission/review.h"

#include <array>

#include "core/limits.h"

namespace subak {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";

Error bad(std::string_view field, std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, std::string(field), std::string(got), std::string(want)};
}

void read_kind(json::Value v, Review& review) {
  json::each_member(v, [&](std::string_view key, json::Value value) {
    if (key == "group") review.group = json::text(value);
    if (key == "version") review.version = json::text(value);
    if (key == "kind") review.kind = json::text(value);
  });
}

void read_user(json::Value v, Review& review) {
  json::each_member(v, [&](std::string_view key, json::Value value) {
    if (key == "username") review.username = json::text(value);
    if (key != "groups") return;
    json::each_item(
        value, [&](std::size_t, json::Value group) { review.groups.push_back(json::text(group)); });
  });
}

void read_request(json::Value request, Review& review) {
  json::each_member(request, [&](std::string_view key, json::Value value) {
    if (key == "uid") review.uid = json::text(value);
    if (key == "kind") read_kind(value, review);
    if (key == "subResource") review.sub_resource = json::text(value);
    if (key == "name") review.name = json::text(value);
    if (key == "namespace") review.ns = json::text(value);
    if (key == "operation") review.operation = json::text(value);
    if (key == "userInfo") read_user(value, review);
    if (key == "object" && json::is_object(value)) review.object = value;
    if (key == "oldObject" && json::is_object(value)) review.old_object = value;
    if (key == "dryRun") review.dry_run = json::boolean(value);
  });
}

}  // namespace

Result<Review> ReviewParser::parse(std::span<const char> body) {
  if (body.size() > limits::kMaxReviewBytes) {
    return bad("body", "",
               "has " + std::to_string(body.size()) + " bytes, want at most " +
                   std::to_string(limits::kMaxReviewBytes));
  }
  json::Value root;
  const auto error = parser_.parse({body.data(), body.size()}, true).get(root);
  if (error != simdjson::SUCCESS) {
    return bad("body", "",
               std::string(simdjson::error_message(error)) + " Want an AdmissionReview in JSON");
  }
  const std::string_view version = json::text(root, "apiVersion");
  const std::string_view kind = json::text(root, "kind");
  if (kind != kKind) return bad("kind", kind, "want AdmissionReview");
  if (version != kApiVersion) return bad("apiVersion", version, "want admission.k8s.io/v1");
  const auto request = json::member(root, "request");
  if (!request || !json::is_object(*request)) return bad("request", "", "want an object");
  Review review;
  read_request(*request, review);
  if (review.uid.empty()) return bad("request.uid", "", "want the uid of the call");
  if (review.uid.size() > limits::kMaxNameBytes) {
    return bad("request.uid", review.uid,
               "want at most " + std::to_string(limits::kMaxNameBytes) + " bytes");
  }
  return review;
}

namespace {

void append_status(std::string& out, const ReviewAnswer& answer) {
  out += ",\"status\":{\"code\":";
  out += std::to_string(answer.code);
  out += ",\"reason\":";
  append_json_string(out, answer.reason);
  out += ",\"message\":";
  append_json_string(out, answer.message);
  out += '}';
}

}  // namespace

std::string write_answer(std::string_view uid, const ReviewAnswer& answer) {
  std::string out;
  out.reserve(256 + answer.message.size() + answer.patch.size() * 4 / 3);
  out += R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":)";
  append_json_string(out, uid);
  out += answer.allowed ? ",\"allowed\":true" : ",\"allowed\":false";
  if (!answer.allowed) append_status(out, answer);
  if (!answer.patch.empty()) {
    out += R"(,"patchType":"JSONPatch","patch":)";
    append_json_bytes(out, answer.patch);
  }
  for (std::size_t i = 0; i < answer.warnings.size(); ++i) {
    out += i == 0 ? ",\"warnings\":[" : ",";
    append_json_string(out, answer.warnings[i]);
  }
  if (!answer.warnings.empty()) out += ']';
  out += "}}";
  return out;
}

}  // namespace subak
