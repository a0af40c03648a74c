#include "server/browser/gateway.h"

#include <boost/json.hpp>
#include <future>
#include <optional>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "server/api/common/browser_limits.h"
#include "server/browser/connect.h"
#include "server/browser/reads.h"
#include "server/browser/sign_in.h"
#include "server/log/log.h"

namespace subak::browser {
namespace {

using grpc::StatusCode;

bool is_open(std::string_view path) {
  return path == "/metrics" || path == "/healthz" || path == "/readyz";
}

HttpResponse plain(int status, std::string_view text) {
  return {status, "text/plain; charset=utf-8", std::string(text) + "\n",
          "\r\nCache-Control: no-store"};
}

HttpResponse see_other(const std::string& path) {
  HttpResponse out = plain(303, "see " + path);
  out.headers += "\r\nLocation: " + path;
  return out;
}

// Answers in the form of the path: as a Connect error, or as text.
HttpResponse refused(std::string_view path, StatusCode code, const Error& error) {
  if (is_call(path) || path == "/live") return connect_refusal(code, error);
  return plain(connect_code(code).http, error.message());
}

// Returns the refusal of a request from beyond this machine; nullopt: it may pass.
std::optional<HttpResponse> refuse_place(const HttpRequest& request, bool wants_token) {
  if (is_local(request.peer) || (request.secure && wants_token)) return std::nullopt;
  const char* const want =
      wants_token
          ? "want https: beyond this machine, pages and calls need TLS (tlsCert, tlsKey)"
          : "want a token file (tokens): beyond this machine, pages and calls need a sign-in";
  return refused(path_of(request.target), StatusCode::PERMISSION_DENIED,
                 {ErrorCode::kDenied, request.secure ? "tokens" : "connection", "", want});
}

std::optional<HttpResponse> refuse_origin(const HttpRequest& request) {
  if (!is_foreign(request)) return std::nullopt;
  return refused(path_of(request.target), StatusCode::PERMISSION_DENIED,
                 {ErrorCode::kDenied, "Origin",
                  std::string(request.header("Origin").substr(0, limits::kMaxEchoBytes)),
                  "want a request of this page's own origin"});
}

HttpResponse unauthenticated() {
  return connect_error(
      {StatusCode::UNAUTHENTICATED,
       "want \"Authorization: Bearer TOKEN\", or a sign-in at /login; the session may have ended"});
}

// Returns whose turn it is. The digest stands for a secret.
std::string caller_of(const std::string& authorization, const Peer& peer) {
  if (authorization.empty()) {
    return {reinterpret_cast<const char*>(peer.address.data()), peer.address.size()};
  }
  const api::TokenDigest digest = api::digest_of(authorization);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

StatusCode sign_in_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kDenied:
      return StatusCode::UNAUTHENTICATED;
    case ErrorCode::kExhausted:
      return StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kPrecondition:
      return StatusCode::FAILED_PRECONDITION;
    default:
      return StatusCode::INVALID_ARGUMENT;
  }
}

std::string_view role_name(api::Role role) {
  if (role == api::Role::kAdmin) return "admin";
  return role == api::Role::kTeamAdmin ? "team-admin" : "viewer";
}

}  // namespace

DurationMs answer_ms_of(std::string_view target) {
  return is_call(target) ? limits::kBrowserCallMs + limits::kHttpAnswerMs : limits::kHttpAnswerMs;
}

Gateway::Gateway(GatewayPorts ports)
    : ports_(std::move(ports)),
      shared_calls_(
          {[this](Asked asked, Calls::Done done) { calls_.ask(std::move(asked), std::move(done)); },
           [clock = ports_.clock] { return clock->monotonic_ms(); }}),
      live_({[this](const Topic& topic) { return read_topic(topic); }, ports_.sequence,
             [clock = ports_.clock] { return clock->monotonic_ms(); }}) {}

Gateway::~Gateway() { close(); }

void Gateway::open(std::shared_ptr<grpc::Channel> channel, api::Sessions& sessions) {
  calls_.start(std::move(channel));
  shared_calls_.start();
  sessions_ = &sessions;
  live_.start();
}

void Gateway::close() {
  sessions_ = nullptr;
  shared_calls_.stop();
  calls_.stop();
  live_.stop();
}

void Gateway::handle(const HttpRequest& request, const HttpReplier& done) {
  const std::string_view path = path_of(request.target);
  if (is_open(path)) return ports_.routes(request.method, request.target, done);
  if (auto no = refuse_place(request, ports_.wants_token)) return done(*std::move(no));
  if (request.method != "GET" && request.method != "HEAD") {
    if (auto no = refuse_origin(request)) return done(*std::move(no));
  }
  if (is_call(path)) return call(request, done);
  api::Sessions* const sessions = sessions_;
  if (path == "/login" || path == "/logout" || path == "/live") {
    if (sessions == nullptr) {
      return done(refused(path, StatusCode::UNAVAILABLE,
                          {ErrorCode::kPrecondition, "", "", "the service starts; try again"}));
    }
    if (path == "/login") return sign_in(request, *sessions, done);
    if (path == "/logout") return sign_out(request, *sessions, done);
    return live(request, *sessions, done);
  }
  page(request, done);
}

void Gateway::call(const HttpRequest& request, const HttpReplier& done) {
  auto parsed = parse_call(request);
  if (auto* const no = std::get_if<HttpResponse>(&parsed)) return done(std::move(*no));
  Asked& asked = std::get<Asked>(parsed);
  asked.authorization = authorization_of(request);
  const api::Sessions* const sessions = sessions_;
  std::string_view rights;
  if (sessions != nullptr) {
    asked.peer = sessions->own() + " " + address_text(request.peer);
    const auto caller = sessions->caller(asked.authorization);
    if (caller) rights = role_name(caller->role);
  }
  asked.caller = caller_of(asked.authorization, request.peer);
  shared_calls_.ask(std::move(asked), rights,
                    [done](Answered answered) { done(connect_answer(std::move(answered))); });
}

void Gateway::sign_in(const HttpRequest& request, api::Sessions& sessions,
                      const HttpReplier& done) {
  if (request.method == "GET" || request.method == "HEAD") {
    return done(sign_in_page(parameter_of(request.target, "to"), "", 200));
  }
  if (request.method != "POST") return done(plain(405, "want GET or POST"));
  const Result<SignIn> wish = parse_sign_in(request);
  if (!wish) return done(connect_refusal(StatusCode::INVALID_ARGUMENT, wish.error()));
  const std::string address = address_text(request.peer);
  const auto made = sessions.sign_in(wish->token, address.substr(0, address.rfind(':')));
  if (!made) {
    log::warn("sign-in refused", {{"peer", address}, {"error", made.error().message()}});
    const StatusCode code = sign_in_code(made.error().code);
    if (!wish->from_page) return done(connect_refusal(code, made.error()));
    return done(sign_in_page(wish->to, made.error().want, connect_code(code).http));
  }
  log::info("signed in", {{"actor", made->actor}, {"peer", address}});
  HttpResponse out = see_other(wish->to);
  if (!wish->from_page) {
    const boost::json::object who{{"actor", made->actor}, {"role", role_name(made->role)}};
    out = {200, "application/json", boost::json::serialize(who), "\r\nCache-Control: no-store"};
  }
  out.headers += set_cookie(made->secret);
  done(std::move(out));
}

void Gateway::sign_out(const HttpRequest& request, api::Sessions& sessions,
                       const HttpReplier& done) {
  if (request.method != "POST") return done(plain(405, "want POST"));
  sessions.sign_out(session_of(request.header("Cookie")));
  HttpResponse out = see_other("/login");
  if (request.header("Content-Type").starts_with("application/json")) {
    out = {200, "application/json", "{}", "\r\nCache-Control: no-store"};
  }
  out.headers += remove_cookie();
  done(std::move(out));
}

void Gateway::live(const HttpRequest& request, api::Sessions& sessions, const HttpReplier& done) {
  if (request.method != "GET") return done(plain(405, "want GET"));
  if (auto no = refuse_origin(request)) return done(*std::move(no));
  const auto topics = parse_topics(parameter_of(request.target, "topics"));
  if (!topics) return done(connect_refusal(StatusCode::INVALID_ARGUMENT, topics.error()));
  const std::string authorization = authorization_of(request);
  if (!sessions.caller(authorization)) return done(unauthenticated());
  LiveReader reader;
  reader.topics = *topics;
  reader.last_id = parse_event_id(request.header("Last-Event-ID"));
  if (!authorization.empty()) reader.session = caller_of(authorization, request.peer);
  reader.may_read = [&sessions, authorization] {
    return sessions.caller(authorization).has_value();
  };
  auto stream = live_.open(std::move(reader));
  if (!stream) return done(connect_refusal(StatusCode::RESOURCE_EXHAUSTED, stream.error()));
  HttpResponse out{200, "text/event-stream", ""};
  out.headers = "\r\nCache-Control: no-store\r\nX-Accel-Buffering: no";
  out.stream = *std::move(stream);
  done(std::move(out));
}

bool Gateway::may_see(const HttpRequest& request) const {
  if (is_local(request.peer)) return true;
  const api::Sessions* const sessions = sessions_;
  return sessions != nullptr && sessions->caller(authorization_of(request));
}

// A link from another site comes without the cookie (SameSite=Strict). So a visitor without a
// session who followed such a link is sent to the same page once more, now from this site.
void Gateway::page(const HttpRequest& request, const HttpReplier& done) {
  if (request.method != "GET" && request.method != "HEAD") {
    return done(plain(405, "only GET and HEAD"));
  }
  if (!may_see(request)) {
    const std::string to = own_path(request.target);
    if (!is_followed_link(request)) return done(see_other("/login?to=" + to));
    HttpResponse again = plain(200, "see " + to);
    again.headers += "\r\nRefresh: 0; url=" + to;
    return done(std::move(again));
  }
  if (!ports_.assets.empty()) {
    if (auto file = ports_.assets.answer(path_of(request.target), request.header("Accept-Encoding"),
                                         request.header("If-None-Match"))) {
      return done(*std::move(file));
    }
  }
  ports_.routes(request.method, request.target, done);
}

Answered Gateway::read_topic(const Topic& topic) {
  const api::Sessions* const sessions = sessions_;
  if (sessions == nullptr) return {{StatusCode::UNAVAILABLE, "closed"}, "", "", ""};
  Asked asked;
  asked.method = find_read(topic.method);
  auto message = message_of(*asked.method, topic.request);
  if (!message) return {{StatusCode::INTERNAL, message.error().message()}, "", "", ""};
  asked.message = *std::move(message);
  asked.authorization = sessions->own();
  asked.peer = sessions->own() + " console";
  asked.caller = "console";
  asked.timeout_ms = limits::kHttpAnswerMs;
  const auto answer = std::make_shared<std::promise<Answered>>();
  std::future<Answered> got = answer->get_future();
  calls_.ask(std::move(asked), [answer](Answered a) { answer->set_value(std::move(a)); });
  return got.get();
}

}  // namespace subak::browser
