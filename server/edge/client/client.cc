#include "server/edge/client/client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "server/curl/easy.h"

namespace subak {
namespace {

constexpr const char* kAgent = "subakd";

bool starts_as(std::string_view line, std::string_view lower_case) {
  if (line.size() < lower_case.size()) return false;
  return std::equal(lower_case.begin(), lower_case.end(), line.begin(), [](char want, char c) {
    return want == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return text;
}

// Returns "https://10.0.0.1:6443/a" as "https://NAME:6443/a", and the address that libcurl connects
// to.
struct Address {
  std::string url, connect_to;
};
Address address_of(const KubeAccess& access) {
  if (access.tls_server_name.empty()) return {access.server, ""};
  const std::size_t host = access.server.find("://") + 3;
  const std::size_t end = std::min(access.server.find('/', host), access.server.size());
  const std::string_view authority = std::string_view(access.server).substr(host, end - host);
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  const std::string port(has_port ? authority.substr(colon + 1) : "443");
  const std::string to(authority.substr(0, has_port ? colon : authority.size()));
  return {access.server.substr(0, host) + access.tls_server_name + ":" + port +
              access.server.substr(end),
          "::" + to + ":" + port};
}

struct MultiEnd {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using curl::append;
using curl::set;

// One call or one watch.
struct Transfer {
  std::uint64_t id = 0;
  KubeCall call;
  KubeClient::Answered answered;  // of a call
  std::unique_ptr<WatchStream> stream;
  WatchStream::Take take;
  KubeClient::Ended ended;                  // of a watch
  std::array<char, CURL_ERROR_SIZE> why{};  // why it failed, in libcurl's words
  curl::Easy easy;
  curl::List headers, connect_to;
  std::string body, retry_after;
  std::string wrong;  // why reading stopped
  bool stopped = false;
};

long code_of(CURL* easy) {
  long code = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::size_t on_body(char* bytes, std::size_t /*one*/, std::size_t count, void* to) {
  Transfer& t = *static_cast<Transfer*>(to);
  if (t.stopped) return 0;
  const bool events = t.stream != nullptr && code_of(t.easy.get()) == 200;
  if (events) {
    const auto error = t.stream->feed({bytes, count}, t.take);
    if (error) t.wrong = error->message();
  } else if (t.body.size() + count > limits::kMaxKubeAnswerBytes) {
    t.wrong = "want at most " + std::to_string(limits::kMaxKubeAnswerBytes) + " bytes in an answer";
  } else {
    t.body.append(bytes, count);
  }
  return t.wrong.empty() ? count : 0;
}

std::size_t on_header(char* bytes, std::size_t /*one*/, std::size_t count, void* to) {
  constexpr std::string_view kRetryAfter = "retry-after:";
  const std::string_view line(bytes, count);
  if (starts_as(line, kRetryAfter)) {
    static_cast<Transfer*>(to)->retry_after = trimmed(line.substr(kRetryAfter.size()));
  }
  return count;
}

// Returns the remedy for a failed transfer, with libcurl's message.
std::string failure_text(const Transfer& t, CURLcode result, const std::string& server) {
  const std::string why = t.why[0] != 0 ? t.why.data() : curl_easy_strerror(result);
  curl_off_t connected_us = 0;
  curl_easy_getinfo(t.easy.get(), CURLINFO_PRETRANSFER_TIME_T, &connected_us);
  switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
      if (connected_us == 0) {
        return "no connection to " + server + " within " + format_duration(limits::kKubeConnectMs);
      }
      return t.stream
                 ? server + " was silent for " + format_duration(limits::kWatchSilentMs)
                 : "no answer from " + server + " within " + format_duration(limits::kKubeCallMs);
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return "no connection to " + server + ": " + why;
    case CURLE_PEER_FAILED_VERIFICATION:
      return server + " has a certificate that could not be verified: " + why +
             "; want its CA in certificate-authority, or the name in its certificate in "
             "tls-server-name";
    case CURLE_SSL_CACERT_BADFILE:
      return "want a certificate-authority in PEM: " + why;
    case CURLE_SSL_CERTPROBLEM:
      return "want a client-certificate in PEM with its client-key, without a password: " + why;
    default:
      return "the connection to " + server + " was lost: " + why;
  }
}

CallAnswer answer_of(const Transfer& t, CURLcode result, const std::string& server) {
  if (!t.wrong.empty()) {
    CallAnswer answer;
    answer.outcome = Outcome::kRefused;
    answer.message = t.wrong;
    return answer;
  }
  if (result == CURLE_OK) {
    return read_answer(static_cast<int>(code_of(t.easy.get())), t.retry_after, t.body);
  }
  return read_answer(0, "", failure_text(t, result, server));
}

}  // namespace

std::string pod_path(const std::string& ns, const std::string& name) {
  return "/api/v1/namespaces/" + ns + "/pods/" + name;
}

class KubeClient::Impl {
 public:
  explicit Impl(KubeAccess access)
      : access_(std::move(access)),
        address_(address_of(access_)),
        token_(access_.token),
        certificate_(access_.certificate),
        key_(access_.key) {
    curl::start();
    multi_.reset(curl_multi_init());
    must(multi_ != nullptr, "libcurl starts");
  }
  ~Impl() {
    for (const auto& [easy, transfer] : running_) curl_multi_remove_handle(multi_.get(), easy);
  }

  void set_token(std::string token) { token_ = std::move(token); }
  void set_certificate(std::string certificate, std::string key) {
    const bool own = certificate.empty();
    certificate_ = own ? access_.certificate : PemOrPath{std::move(certificate), ""};
    key_ = own ? access_.key : PemOrPath{std::move(key), ""};
  }
  std::size_t calls() const { return calls_; }

  bool add_call(KubeCall call, Answered answered) {
    if (calls_ >= limits::kMaxKubeCalls) return false;
    auto t = std::make_unique<Transfer>();
    t->call = std::move(call);
    t->answered = std::move(answered);
    ++calls_;
    waiting_.push_back(std::move(t));
    return true;
  }

  WatchId add_watch(std::string path, WatchStream::Take take, Ended ended) {
    auto t = std::make_unique<Transfer>();
    t->id = ++last_watch_;
    t->call.path = std::move(path);
    t->stream = std::make_unique<WatchStream>();
    t->take = std::move(take);
    t->ended = std::move(ended);
    new_watches_.push_back(std::move(t));
    return last_watch_;
  }

  // The watch may be in the middle of an event. turn() frees the rest of it.
  void stop(WatchId id) {
    const auto is_it = [id](const auto& t) { return t->id == id; };
    std::erase_if(new_watches_, is_it);
    for (const auto& [easy, transfer] : running_) {
      if (transfer->id == id && transfer->stream) transfer->stopped = true;
    }
  }

  void turn(DurationMs most) {
    begin_waiting();
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(most), nullptr);
    int left = 0;
    curl_multi_perform(multi_.get(), &left);
    end_stopped();
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
    }
    begin_waiting();
  }

  void wake() { curl_multi_wakeup(multi_.get()); }

 private:
  void begin_waiting() {
    for (; !new_watches_.empty(); new_watches_.pop_front()) begin(std::move(new_watches_.front()));
    for (; !waiting_.empty() && calls_running_ < limits::kKubeCallConnections;
         waiting_.pop_front()) {
      ++calls_running_;
      begin(std::move(waiting_.front()));
    }
  }

  void begin(std::unique_ptr<Transfer> t) {
    t->easy = curl::new_easy();
    set_request(*t);
    set_trust(t->easy.get());
    CURL* const easy = t->easy.get();
    running_.emplace(easy, std::move(t));
    curl_multi_add_handle(multi_.get(), easy);
  }

  void set_request(Transfer& t) {
    CURL* const easy = t.easy.get();
    set(easy, CURLOPT_ERRORBUFFER, t.why.data());
    set(easy, CURLOPT_URL, (address_.url + t.call.path).c_str());
    if (!address_.connect_to.empty()) {
      append(t.connect_to, address_.connect_to);
      set(easy, CURLOPT_CONNECT_TO, t.connect_to.get());
    }
    set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_PROXY, "");
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_USERAGENT, kAgent);
    set(easy, CURLOPT_CUSTOMREQUEST, t.call.method.c_str());
    append(t.headers, "Accept: application/json");
    if (!token_.empty()) append(t.headers, "Authorization: Bearer " + token_);
    if (!t.call.body.empty()) {
      append(t.headers, "Content-Type: " + t.call.content_type);
      append(t.headers, "Expect:");
      set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(t.call.body.size()));
      set(easy, CURLOPT_POSTFIELDS, t.call.body.c_str());
    }
    set(easy, CURLOPT_HTTPHEADER, t.headers.get());
    set(easy, CURLOPT_WRITEFUNCTION, &on_body);
    set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&t));
    set(easy, CURLOPT_HEADERFUNCTION, &on_header);
    set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&t));
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits::kKubeConnectMs));
    if (t.stream) {
      set(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
      set(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits::kWatchSilentMs / kSecondMs));
    } else {
      set(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
      set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limits::kKubeCallMs));
    }
  }

  void set_trust(CURL* easy) const {
    if (access_.insecure) {
      set(easy, CURLOPT_SSL_VERIFYPEER, 0L);
      set(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    set_pem(easy, access_.authority, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB);
    if (certificate_.empty()) return;
    set(easy, CURLOPT_SSLCERTTYPE, "PEM");
    set(easy, CURLOPT_SSLKEYTYPE, "PEM");
    set(easy, CURLOPT_KEYPASSWD, "");  // none: no user is there to enter one
    set_pem(easy, certificate_, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB);
    set_pem(easy, key_, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB);
  }

  static void set_pem(CURL* easy, const PemOrPath& from, CURLoption path, CURLoption blob) {
    if (!from.path.empty()) set(easy, path, from.path.c_str());
    if (from.pem.empty()) return;
    curl_blob bytes{const_cast<char*>(from.pem.data()), from.pem.size(), CURL_BLOB_COPY};
    set(easy, blob, &bytes);
  }

  std::unique_ptr<Transfer> take_out(CURL* easy) {
    curl_multi_remove_handle(multi_.get(), easy);
    auto found = running_.extract(easy);
    must(!found.empty(), "what ends has begun");
    return std::move(found.mapped());
  }

  void finish(CURL* easy, CURLcode result) {
    const std::unique_ptr<Transfer> t = take_out(easy);
    if (t->stopped) return;
    const CallAnswer answer = answer_of(*t, result, access_.server);
    if (t->stream) return t->ended(answer);
    --calls_;
    --calls_running_;
    const bool done = answer.outcome == Outcome::kDone;
    t->answered(answer, done ? std::string_view(t->body) : std::string_view());
  }

  void end_stopped() {
    std::vector<CURL*> stopped;
    for (const auto& [easy, transfer] : running_) {
      if (transfer->stopped) stopped.push_back(easy);
    }
    for (CURL* const easy : stopped) take_out(easy);
  }

  const KubeAccess access_;
  const Address address_;
  std::string token_;
  PemOrPath certificate_, key_;
  std::unique_ptr<CURLM, MultiEnd> multi_;
  std::map<CURL*, std::unique_ptr<Transfer>> running_;
  std::deque<std::unique_ptr<Transfer>> waiting_, new_watches_;
  std::size_t calls_ = 0, calls_running_ = 0;
  WatchId last_watch_ = 0;
};

KubeClient::KubeClient(KubeAccess access) : impl_(std::make_unique<Impl>(std::move(access))) {}
KubeClient::~KubeClient() = default;
void KubeClient::set_token(std::string token) { impl_->set_token(std::move(token)); }
void KubeClient::set_certificate(std::string certificate, std::string key) {
  impl_->set_certificate(std::move(certificate), std::move(key));
}
bool KubeClient::call(KubeCall call, Answered answered) {
  return impl_->add_call(std::move(call), std::move(answered));
}
std::size_t KubeClient::calls() const { return impl_->calls(); }
KubeClient::WatchId KubeClient::watch(std::string path, WatchStream::Take take, Ended ended) {
  return impl_->add_watch(std::move(path), std::move(take), std::move(ended));
}
void KubeClient::stop(WatchId watch) { impl_->stop(watch); }
void KubeClient::turn(DurationMs most) { impl_->turn(most); }
void KubeClient::wake() { impl_->wake(); }

}  // namespace subak
