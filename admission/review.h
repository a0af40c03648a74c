// The wire format of admission webhooks: AdmissionReview admission.k8s.io/v1 in, the same out.
// Sources: k8s.io/api admission/v1 types.go; kube-apiserver's checks in
// apiserver/pkg/admission/plugin/webhook/request/admissionreview.go.
//
// Threads: one ReviewParser per thread; the rest are pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/json.h"

namespace subak {

// Readable bytes that must follow every body (simdjson reads in whole vectors).
inline constexpr std::size_t kBodyPadding = simdjson::SIMDJSON_PADDING;

// One request of the API server. Texts and values point into the parser's document.
struct Review {
  // Identifies this call; never empty.
  std::string_view uid;
  // Of the object: "batch", "v1", "Job". The core group is empty.
  std::string_view group, version, kind;
  // "ephemeralcontainers"; empty: the request is about the object itself.
  std::string_view sub_resource;
  // `name` is empty if the API server generates it.
  std::string_view name, ns;
  // CREATE, UPDATE, DELETE or CONNECT.
  std::string_view operation;
  // Who sent the request, as the API server authenticated it.
  std::string_view username;
  std::vector<std::string_view> groups;
  // The object to be stored, and the stored one. None where the request has no JSON object.
  std::optional<json::Value> object, old_object;
  // The API server stores nothing: the answer is the same.
  bool dry_run = false;
};

// Keeps its buffers between calls. It validates the complete document (structure and UTF-8), also
// the parts that no code reads, so half a document never leads to a decision.
class ReviewParser {
 public:
  // Parses `body`. kBodyPadding readable bytes must follow it, and it must not change while the
  // Review is in use. Errors (all of them HTTP 400): over limits::kMaxReviewBytes, malformed JSON,
  // not an AdmissionReview of admission.k8s.io/v1, no request, no uid.
  Result<Review> parse(std::span<const char> body);

 private:
  json::Parser parser_;
};

// The answer. `patch` is RFC 6902 text, empty for none; code and message only when not allowed.
struct ReviewAnswer {
  // False: the API server refuses the request.
  bool allowed = true;
  // The HTTP code of the refusal; 0: it is none.
  int code = 0;
  // Kubernetes' StatusReason: Forbidden, Invalid.
  std::string_view reason;
  // Of the refusal, for the user.
  std::string message;
  std::string patch;
  // The API server shows them to the user, also with a denial.
  std::vector<std::string> warnings;
};

// Returns the AdmissionReview to send, one line of JSON.
// `uid`: the review's. The patch is written in base64.
std::string write_answer(std::string_view uid, const ReviewAnswer& answer);

}  // namespace subak
