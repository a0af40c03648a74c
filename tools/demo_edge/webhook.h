// Calls the service's webhook as a kube-apiserver does: HTTPS, with the service's own CA verified.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/demo_edge/door.h"

namespace subak::demo {

struct HttpAnswer {
  long status = 0;  // 0: no answer
  std::string body;
};

// Threads: one caller each.
class WebhookClient {
 public:
  WebhookClient(Door& door, std::string ca_file);
  ~WebhookClient();
  WebhookClient(const WebhookClient&) = delete;
  WebhookClient& operator=(const WebhookClient&) = delete;

  // Posts a review, repeated while the service is away.
  HttpAnswer post(const std::string& body);
  int repeats() const { return repeats_; }

 private:
  HttpAnswer post_once(const std::string& url, const std::string& body);
  Door& door_;
  std::string ca_file_;
  void* curl_;
  int repeats_ = 0;
};

// A review's answer as a kube-apiserver reads it.
struct Verdict {
  bool allowed = false;
  long code = 0;  // of a refusal
  std::string message;
  nlohmann::json patch;  // empty array: none
};
// Reads the answer. An unreadable one has allowed false and code 0.
Verdict read_verdict(const HttpAnswer& answer, const std::string& uid);

}  // namespace subak::demo
