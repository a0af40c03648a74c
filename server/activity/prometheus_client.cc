#include "server/activity/prometheus_client.h"

#include <curl/curl.h>

#include <array>
#include <fstream>
#include <memory>
#include <utility>

#include "core/duration.h"
#include "core/edge_limits.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/printable.h"

namespace subak {
namespace {

struct EasyEnd {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct TextEnd {
  void operator()(char* text) const { curl_free(text); }
};

struct Call {
  std::unique_ptr<CURL, EasyEnd> easy{curl_easy_init()};
  std::unique_ptr<curl_slist, ListEnd> headers;
  std::array<char, CURL_ERROR_SIZE> why{};
  std::string body;
  bool too_long = false;
  const std::atomic<bool>* stopping = nullptr;
};

template <class... Value>
void set(Call& call, CURLoption option, Value... value) {
  must(curl_easy_setopt(call.easy.get(), option, value...) == CURLE_OK, "libcurl knows the option");
}

std::size_t on_body(char* bytes, std::size_t /*one*/, std::size_t count, void* to) {
  Call& call = *static_cast<Call*>(to);
  if (call.body.size() + count > limits::kMaxActivityBytes) {
    call.too_long = true;
    return 0;
  }
  call.body.append(bytes, count);
  return count;
}

// libcurl calls it at least once a second.
int on_progress(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<Call*>(to)->stopping ? 1 : 0;
}

std::string failure(const Call& call, CURLcode result) {
  if (call.too_long) {
    return "the answer has more than " + std::to_string(limits::kMaxActivityBytes) + " bytes";
  }
  if (result == CURLE_OPERATION_TIMEDOUT) {
    return "no complete answer within " + format_duration(limits::kActivityCallMs);
  }
  if (result == CURLE_ABORTED_BY_CALLBACK) return "the service stops";
  return call.why[0] != 0 ? call.why.data() : curl_easy_strerror(result);
}

// A token has one line. A token with other characters would change the request.
Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token) || token.empty() || token.size() > limits::kMaxMessageBytes ||
      !is_printable(token)) {
    return Error{ErrorCode::kPrecondition, "prometheusToken", path,
                 "want a readable file with a token in its first line"};
  }
  return token;
}

}  // namespace

Result<std::string> PrometheusClient::ask(const std::string& query) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  Call call;
  must(once == CURLE_OK && call.easy != nullptr, "libcurl starts");
  call.stopping = &stopping_;
  if (!access_.token_file.empty()) {
    const Result<std::string> token = read_token(access_.token_file);
    if (!token) return token.error();
    call.headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + *token).c_str()));
    set(call, CURLOPT_HTTPHEADER, call.headers.get());
  }
  const std::unique_ptr<char, TextEnd> escaped(
      curl_easy_escape(call.easy.get(), query.data(), static_cast<int>(query.size())));
  const std::string form = "query=" + std::string(escaped.get());
  const bool slash = access_.url.ends_with('/');
  set(call, CURLOPT_URL, (access_.url + (slash ? "" : "/") + "api/v1/query").c_str());
  set(call, CURLOPT_ERRORBUFFER, call.why.data());
  set(call, CURLOPT_POSTFIELDS, form.c_str());
  set(call, CURLOPT_PROTOCOLS_STR, "http,https");
  set(call, CURLOPT_PROXY, "");
  set(call, CURLOPT_NOSIGNAL, 1L);
  set(call, CURLOPT_USERAGENT, "subakd");
  set(call, CURLOPT_ACCEPT_ENCODING, "gzip");
  set(call, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits::kKubeConnectMs));
  set(call, CURLOPT_TIMEOUT_MS, static_cast<long>(limits::kActivityCallMs));
  if (!access_.ca_file.empty()) set(call, CURLOPT_CAINFO, access_.ca_file.c_str());
  set(call, CURLOPT_WRITEFUNCTION, &on_body);
  set(call, CURLOPT_WRITEDATA, static_cast<void*>(&call));
  set(call, CURLOPT_NOPROGRESS, 0L);
  set(call, CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(call, CURLOPT_XFERINFODATA, static_cast<void*>(&call));
  const CURLcode result = curl_easy_perform(call.easy.get());
  const auto refuse = [&](const std::string& got) {
    return Error{ErrorCode::kPrecondition, "prometheus",
                 access_.url + ": " + cut_text(printable(got)),
                 "want a Prometheus server that answers"};
  };
  if (result != CURLE_OK) return refuse(failure(call, result));
  long status = 0;
  curl_easy_getinfo(call.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  // With 400, 422 and 503, the body says what is wrong (read_samples()).
  const bool answered = status == 200 || status == 400 || status == 422 || status == 503;
  if (!answered || call.body.empty()) return refuse("HTTP status " + std::to_string(status));
  return std::move(call.body);
}

}  // namespace subak
