// Sends one POST request and waits for the answer. Uses no proxy and follows no redirect. Threads:
// one at a time for each object. Another thread may set the flag `stopping`, which the caller
// passes to the constructor.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "server/curl/easy.h"

namespace subak::curl {

// One request.
class Post {
 public:
  struct Bounds {
    // How many bytes an answer may have. A longer answer counts as no answer.
    std::size_t answer_bytes = 0;
    // How long the connection may take, and the complete request.
    DurationMs connect_ms = 0, all_ms = 0;
  };
  // `ca_file`: a PEM file with the CA of the server; empty: the CAs of the system. The object must
  // not outlive `stopping`. Once it is true, send() ends within about a second.
  Post(const std::string& url, const std::string& ca_file, Bounds bounds,
       const std::atomic<bool>& stopping);
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  // Sets another option of the transfer, before send().
  template <class Value>
  void set(CURLoption option, Value value) {
    curl::set(easy_.get(), option, value);
  }
  void add_header(const std::string& line) { append(headers_, line); }
  // Returns the text as a value of a form.
  std::string escaped(const std::string& text) const;

  // Sends the body and waits for the answer. Returns why there is no complete answer; nullopt:
  // there is one. Call it once.
  std::optional<std::string> send(const std::string& body);
  // The status and the body of the answer.
  int status() const;
  std::string& body() { return body_; }
  // How many seconds the answer asks to wait (Retry-After); 0: it asks for no wait.
  std::int64_t retry_after_s() const;

 private:
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* to);
  static int on_progress(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  std::string failure(CURLcode result) const;

  const Bounds bounds_;
  const std::atomic<bool>& stopping_;
  Easy easy_ = new_easy();
  List headers_;
  // libcurl's words for a failure.
  std::array<char, CURL_ERROR_SIZE> why_{};
  std::string body_;
  bool too_long_ = false;
};

}  // namespace subak::curl
