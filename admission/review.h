// The wire format of admission webhooks: parses the body of a call of kube-apiserver, and writes
// the answer. Both are an AdmissionReview of admission.k8s.io/v1.
// Sources: k8s.io/api admission/v1 types.go; kube-apiserver's checks in
// apiserver/pkg/admission/plugin/webhook/request/admissionreview.go.
//
// Threads: each ReviewParser serves one thread; the functions are pure.
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

// The number of readable bytes that must follow every body (simdjson reads in whole vectors).
inline constexpr std::size_t kBodyPadding = simdjson::SIMDJSON_PADDING;

// One request of the API server. Texts and values point into the parser's document.
struct Review {
  // Identifies this call; never empty.
  std::string_view uid;
  // The type of the object: "batch", "v1", "Job". The core group is empty.
  std::string_view group, version, kind;
  // The subresource, such as "ephemeralcontainers". Empty: the request is about the object itself.
  std::string_view sub_resource;
  // `name` is empty if the API server generates it.
  std::string_view name, ns;
  // CREATE, UPDATE, DELETE or CONNECT.
  std::string_view operation;
  // Who sent the request, as the API server authenticated it.
  std::string_view username;
  std::vector<std::string_view> groups;
  // The object to be stored, and the object that is stored now. None if the request has no such
  // JSON object.
  std::optional<json::Value> object, old_object;
  // True: the API server will not store the object. The answer does not depend on `dry_run`.
  bool dry_run = false;
};

// Parses reviews and reuses its buffers. The parser validates the complete document (structure and
// UTF-8), even the parts that no code reads. So a truncated document never leads to a decision.
class ReviewParser {
 public:
  // Parses `body`. kBodyPadding readable bytes must follow the body, and the body must not change
  // while the Review is in use. parse() fails, with an error for HTTP 400, in these cases: more
  // than limits::kMaxReviewBytes, malformed JSON, no AdmissionReview of admission.k8s.io/v1, no
  // request, no uid.
  Result<Review> parse(std::span<const char> body);

 private:
  json::Parser parser_;
};

// The answer. `patch` is RFC 6902 text; empty: none. `code` and `message` are set only if `allowed`
// is false.
struct ReviewAnswer {
  // False: the API server refuses the request.
  bool allowed = true;
  // The HTTP code of the refusal; 0: the request is allowed.
  int code = 0;
  // The StatusReason of Kubernetes: Forbidden, Invalid.
  std::string_view reason;
  // The text of the refusal, for the user.
  std::string message;
  std::string patch;
  // The API server shows the warnings to the user, even with a refusal.
  std::vector<std::string> warnings;
};

// Returns the AdmissionReview to send, one line of JSON. `uid` is the uid of the review. The patch
// is in base64.
std::string write_answer(std::string_view uid, const ReviewAnswer& answer);

}  // namespace subak
