// The gateway for browsers: a request line, headers and a body, as calls, sign-ins, topics and files.
#include <google/protobuf/message.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>

#include "server/browser/connect.h"
#include "server/browser/live.h"
#include "server/browser/sign_in.h"
#include "server/http/assets.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

// "METHOD TARGET", lines "Name: value", an empty line, the body.
class Request final : public HttpHeaders {
 public:
  explicit Request(std::string_view text) {
    std::string_view line = next(text);
    method_ = line.substr(0, line.find(' '));
    if (method_.size() < line.size()) target_ = line.substr(method_.size() + 1);
    while (!(line = next(text)).empty()) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string_view::npos) {
        headers_.emplace(line.substr(0, colon), line.substr(colon + 2));
      }
    }
    body_ = text;
  }
  std::string_view find(std::string_view name) const override {
    const auto it = headers_.find(name);
    return it == headers_.end() ? std::string_view() : it->second;
  }
  HttpRequest get() const {
    HttpRequest out{method_, target_, {body_.data(), body_.size()}, find("Host")};
    out.headers = this;
    return out;
  }

 private:
  static std::string_view next(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  }

  std::string_view method_, target_, body_;
  std::map<std::string_view, std::string_view> headers_;
};

// An accepted call is a message of its method; a refusal is a Connect error that says what to do.
void check_call(const HttpRequest& request) {
  const auto parsed = browser::parse_call(request);
  if (const auto* const asked = std::get_if<browser::Asked>(&parsed)) {
    const std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(asked->method->input_type())
            ->New());
    assert(message->ParseFromString(asked->message));
    assert(asked->timeout_ms > 0);
    return;
  }
  const auto& response = std::get<HttpResponse>(parsed);
  assert(response.status >= 400);
  const boost::json::object error = boost::json::parse(response.body).as_object();
  assert(!error.at("code").as_string().empty() && !error.at("message").as_string().empty());
  const auto& info = error.at("details").as_array().back().at("debug").at("metadata").as_object();
  assert(info.contains("field") && info.contains("want"));
}

void check_sign_in(const HttpRequest& request) {
  const auto wish = browser::parse_sign_in(request);
  if (!wish.ok()) return fuzz::check_error(wish.error());
  assert(wish->to.starts_with('/') && !wish->to.starts_with("//"));
  assert(wish->to.find_first_of("\r\n\\") == std::string::npos);
  const std::string page = browser::sign_in_page(wish->to, wish->token, 200).body;
  const std::string plain = browser::sign_in_page("/", "x", 200).body;
  const auto count = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '<');
  };
  assert(count(page) == count(plain) || wish->token.empty());
}

void check_headers(const HttpRequest& request) {
  const std::string authorization = browser::authorization_of(request);
  assert(!authorization.starts_with("Session ") || authorization.size() == 8 + 64);
  static_cast<void>(browser::is_foreign(request));
  const auto topics = browser::parse_topics(browser::parameter_of(request.target, "topics"));
  if (!topics.ok()) fuzz::check_error(topics.error());
  static constexpr Asset kFile[] = {{"/", "text/html", "\"e\"", "body", "packed"}};
  const auto file =
      Assets(kFile).answer(browser::path_of(request.target), request.header("Accept-Encoding"),
                           request.header("If-None-Match"));
  assert(!file || file->status == 304 || !file->body.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Request request(fuzz::text_of(data, size));
  check_call(request.get());
  check_sign_in(request.get());
  check_headers(request.get());
  return 0;
}
