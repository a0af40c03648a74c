#include "tools/demo_edge/webhook.h"

#include <curl/curl.h>
#include <openssl/evp.h>

#include <chrono>
#include <thread>
#include <utility>

namespace subak::demo {
namespace {

constexpr int kTries = 400;

std::size_t keep(char* data, std::size_t size, std::size_t count, void* out) {
  static_cast<std::string*>(out)->append(data, size * count);
  return size * count;
}

std::string from_base64(const std::string& text) {
  std::string out(text.size(), '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(text.data()),
                                static_cast<int>(text.size()));
  if (n < 0) return "";
  std::size_t size = static_cast<std::size_t>(n);
  for (std::size_t i = text.size(); i > 0 && text[i - 1] == '='; --i) --size;
  out.resize(size);
  return out;
}

// Sends the request that the handle describes, and waits for the answer.
HttpAnswer perform(CURL* curl, const std::string& url) {
  HttpAnswer answer;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 10L);  // a kube-apiserver's own default
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  const bool done = curl_easy_perform(curl) == CURLE_OK;
  if (done) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace

HttpAnswer http_get(const std::string& url) {
  CURL* const curl = curl_easy_init();
  HttpAnswer answer = perform(curl, url);
  curl_easy_cleanup(curl);
  return answer;
}

WebhookClient::WebhookClient(Door& door, std::string ca_file)
    : door_(door), ca_file_(std::move(ca_file)), curl_(curl_easy_init()) {}

WebhookClient::~WebhookClient() { curl_easy_cleanup(curl_); }

HttpAnswer WebhookClient::post(const std::string& body) {
  for (int i = 0; i < kTries; ++i) {
    const auto link = door_.wait();
    if (!link) return {};
    HttpAnswer answer = post_once("https://" + link->ports.webhook + "/mutate/" + "demo", body);
    if (answer.status != 0) return answer;
    ++repeats_;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

HttpAnswer WebhookClient::post_once(const std::string& url, const std::string& body) {
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  headers = curl_slist_append(headers, "Expect:");
  curl_easy_setopt(curl_, CURLOPT_CAINFO, ca_file_.c_str());
  curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  HttpAnswer answer = perform(curl_, url);
  curl_slist_free_all(headers);
  return answer;
}

Verdict read_verdict(const HttpAnswer& answer, const std::string& uid) {
  Verdict out;
  out.patch = nlohmann::json::array();
  if (answer.status != 200) return out;
  const nlohmann::json review = nlohmann::json::parse(answer.body, nullptr, false);
  if (!review.is_object() || !review.contains("response")) return out;
  const nlohmann::json& response = review["response"];
  if (response.value("uid", "") != uid) return out;
  out.allowed = response.value("allowed", false);
  if (response.contains("status")) {
    out.code = response["status"].value("code", 0L);
    out.message = response["status"].value("message", "");
  }
  if (response.value("patchType", "") == "JSONPatch") {
    out.patch = nlohmann::json::parse(from_base64(response.value("patch", "")), nullptr, false);
  }
  return out;
}

}  // namespace subak::demo
