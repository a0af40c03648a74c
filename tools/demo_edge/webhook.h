// Calls the service's webhook as a kube-apiserver does: by HTTPS, with verification by the
// service's own CA.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/demo_edge/door.h"

namespace subak::demo {

// An answer over HTTP.
struct HttpAnswer {
  // The HTTP status; 0: no answer.
  long status = 0;
  std::string body;
};

// Gets a page over plain HTTP, within 10 s. A status of 0: no answer.
HttpAnswer http_get(const std::string& url);

// Posts reviews to the webhook. It owns a curl handle, so it reuses connections. Call
// curl_global_init() before.
// Threads: one caller for each client.
class WebhookClient {
 public:
  // `door` outlives the client. `ca_file`: a PEM file that each connection reads;
  // it need not exist yet.
  WebhookClient(Door& door, std::string ca_file);
  ~WebhookClient();
  WebhookClient(const WebhookClient&) = delete;
  WebhookClient& operator=(const WebhookClient&) = delete;

  // Posts a review to /mutate/demo, and repeats that while the service is down.
  // It makes at most 400 attempts with a timeout of 10 s and pauses of 50 ms. An HTTP error is an
  // answer, after which it does not repeat. If `status` is 0, no attempt succeeded, or shut() of
  // `door` was called.
  HttpAnswer post(const std::string& body);
  // Returns the number of repeated posts so far.
  int repeats() const { return repeats_; }

 private:
  // Posts once. status 0: the connection failed, or no answer came in time.
  HttpAnswer post_once(const std::string& url, const std::string& body);
  Door& door_;
  std::string ca_file_;
  // The curl handle, which this object owns.
  void* curl_;
  int repeats_ = 0;
};

// The answer to a review, as a kube-apiserver reads it.
struct Verdict {
  bool allowed = false;
  // The code of a refusal; 0: there is no refusal, or the answer is unreadable.
  long code = 0;
  std::string message;
  // The patch (RFC 6902); an empty array: there is none.
  nlohmann::json patch;
};
// Reads the answer. For an unreadable answer, `allowed` is false and `code` is 0.
// `uid`: that of the review. An answer to another review counts as unreadable.
Verdict read_verdict(const HttpAnswer& answer, const std::string& uid);

}  // namespace subak::demo
