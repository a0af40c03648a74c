#include "server/notify/post.h"

#include <curl/curl.h>

#include <array>
#include <memory>

#include "core/duration.h"
#include "core/error.h"
#include "core/must.h"
#include "core/printable.h"
#include "server/notify/notice_limits.h"

namespace subak {
namespace {

struct EasyEnd {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Call {
  std::unique_ptr<CURL, EasyEnd> easy{curl_easy_init()};
  std::unique_ptr<curl_slist, ListEnd> headers;
  std::array<char, CURL_ERROR_SIZE> why{};
  std::string body;
  const std::atomic<bool>* stopping = nullptr;
};

template <class... Value>
void set(Call& call, CURLoption option, Value... value) {
  must(curl_easy_setopt(call.easy.get(), option, value...) == CURLE_OK, "libcurl knows the option");
}

void add_header(Call& call, const std::string& line) {
  curl_slist* const list = curl_slist_append(call.headers.get(), line.c_str());
  must(list != nullptr, "there is memory for a header");
  static_cast<void>(call.headers.release());
  call.headers.reset(list);
}

std::size_t on_body(char* bytes, std::size_t /*one*/, std::size_t count, void* to) {
  std::string& body = static_cast<Call*>(to)->body;
  if (body.size() + count > limits::kMaxNoticeAnswerBytes) return 0;
  body.append(bytes, count);
  return count;
}

// libcurl calls it at least once a second.
int on_progress(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<Call*>(to)->stopping ? 1 : 0;
}

CallAnswer failed(const Call& call, CURLcode result) {
  CallAnswer answer;
  answer.message = result == CURLE_OPERATION_TIMEDOUT
                       ? "no complete answer within " + format_duration(limits::kNoticePostMs)
                   : call.why[0] != 0 ? std::string(call.why.data())
                                      : std::string(curl_easy_strerror(result));
  return answer;
}

CallAnswer answer_of(const Call& call) {
  long status = 0;
  curl_off_t wait_s = 0;
  curl_easy_getinfo(call.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(call.easy.get(), CURLINFO_RETRY_AFTER, &wait_s);
  CallAnswer answer = read_answer(static_cast<int>(status), std::to_string(wait_s), call.body);
  answer.message = "HTTP status " + std::to_string(status);
  if (status >= 300 && status < 400) answer.message += ", and redirects are not followed";
  if (!call.body.empty()) answer.message += ": " + printable(cut_text(call.body));
  return answer;
}

}  // namespace

CallAnswer NoticePost::send(const NoticeReceiver& receiver, const std::string& id,
                            const std::string& body, TimeMs at_ms) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  Call call;
  must(once == CURLE_OK && call.easy != nullptr, "libcurl starts");
  call.stopping = &stopping_;
  add_header(call, "Content-Type: application/json");
  add_header(call, "Expect:");
  add_header(call, "Subak-Notice: " + id);
  if (!receiver.secret.empty()) {
    add_header(call, "Subak-Signature: " + notice_signature(receiver.secret, at_ms, body));
  }
  set(call, CURLOPT_URL, receiver.url.c_str());
  set(call, CURLOPT_PROTOCOLS_STR, receiver.url.starts_with("https:") ? "https" : "http");
  set(call, CURLOPT_FOLLOWLOCATION, 0L);
  set(call, CURLOPT_PROXY, "");
  set(call, CURLOPT_NOSIGNAL, 1L);
  set(call, CURLOPT_USERAGENT, "subakd");
  set(call, CURLOPT_ERRORBUFFER, call.why.data());
  set(call, CURLOPT_HTTPHEADER, call.headers.get());
  set(call, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(call, CURLOPT_POSTFIELDS, body.c_str());
  set(call, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits::kNoticePostMs));
  set(call, CURLOPT_TIMEOUT_MS, static_cast<long>(limits::kNoticePostMs));
  if (!receiver.ca_file.empty()) set(call, CURLOPT_CAINFO, receiver.ca_file.c_str());
  set(call, CURLOPT_WRITEFUNCTION, &on_body);
  set(call, CURLOPT_WRITEDATA, static_cast<void*>(&call));
  set(call, CURLOPT_NOPROGRESS, 0L);
  set(call, CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(call, CURLOPT_XFERINFODATA, static_cast<void*>(&call));
  const CURLcode result = curl_easy_perform(call.easy.get());
  return result == CURLE_OK ? answer_of(call) : failed(call, result);
}

}  // namespace subak
