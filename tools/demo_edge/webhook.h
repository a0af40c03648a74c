// Calls the service's webhook as a kube-apiserver does: HTTPS, with the service's own CA verified.
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

// Threads: one caller each.
// Owns a curl handle, so connections are reused. Call curl_global_init() before.
class WebhookClient {
 public:
  // The address outlives it. `ca_file`: PEM, read at each connection; it may appear later.
  WebhookClient(Door& door, std::string ca_file);
  ~WebhookClient();
  WebhookClient(const WebhookClient&) = delete;
  WebhookClient& operator=(const WebhookClient&) = delete;

  // Posts a review, repeated while the service is away.
  // To /mutate/demo, each try with a timeout of 10 s, up to 400 tries 50 ms apart. An HTTP error is
  // an answer and not repeated. status 0: no try succeeded, or shut() was called.
  HttpAnswer post(const std::string& body);
  // Posts that were repeated so far.
  int repeats() const { return repeats_; }

 private:
  // Posts once. status 0: the connection failed, or no answer came in time.
  HttpAnswer post_once(const std::string& url, const std::string& body);
  Door& door_;
  std::string ca_file_;
  // The handle; owned.
  void* curl_;
  int repeats_ = 0;
};

// A review's answer as a kube-apiserver reads it.
// `message` is that of a refusal, for the user.
struct Verdict {
  bool allowed = false;
  // The code of a refusal; 0: it is none, or the answer is unreadable.
  long code = 0;
  std::string message;
  // RFC 6902; an empty array: there is none.
  nlohmann::json patch;
};
// Reads the answer. An unreadable one has allowed false and code 0.
// `uid`: the review's. An answer to another one counts as unreadable.
Verdict read_verdict(const HttpAnswer& answer, const std::string& uid);

}  // namespace subak::demo
