#include "server/curl/post.h"

#include <cstdint>

#include "core/duration.h"

namespace subak::curl {
namespace {

struct TextEnd {
  void operator()(char* text) const { curl_free(text); }
};

}  // namespace

Post::Post(const std::string& url, const std::string& ca_file, Bounds bounds,
           const std::atomic<bool>& stopping)
    : bounds_(bounds), stopping_(stopping) {
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "subakd");
  set(CURLOPT_ERRORBUFFER, why_.data());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(bounds.connect_ms));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(bounds.all_ms));
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
}

std::size_t Post::on_body(char* bytes, std::size_t /*one*/, std::size_t count, void* to) {
  Post& post = *static_cast<Post*>(to);
  if (post.body_.size() + count > post.bounds_.answer_bytes) {
    post.too_long_ = true;
    return 0;
  }
  post.body_.append(bytes, count);
  return count;
}

// libcurl calls it at least once a second.
int Post::on_progress(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Post*>(to)->stopping_ ? 1 : 0;
}

std::string Post::failure(CURLcode result) const {
  if (too_long_)
    return "the answer has more than " + std::to_string(bounds_.answer_bytes) + " bytes";
  if (result == CURLE_OPERATION_TIMEDOUT)
    return "no complete answer within " + format_duration(bounds_.all_ms);
  if (result == CURLE_ABORTED_BY_CALLBACK) return "the service stops";
  return why_[0] != 0 ? why_.data() : curl_easy_strerror(result);
}

std::string Post::escaped(const std::string& text) const {
  const std::unique_ptr<char, TextEnd> out(
      curl_easy_escape(easy_.get(), text.data(), static_cast<int>(text.size())));
  must(out != nullptr, "libcurl has memory");
  return out.get();
}

std::optional<std::string> Post::send(const std::string& body) {
  if (headers_ != nullptr) set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
  const CURLcode result = curl_easy_perform(easy_.get());
  return result == CURLE_OK ? std::nullopt : std::optional(failure(result));
}

int Post::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

std::int64_t Post::retry_after_s() const {
  curl_off_t wait_s = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &wait_s);
  return wait_s;
}

}  // namespace subak::curl
