#include "cli/setup/kube_caller.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "server/edge/client/known_client.h"
#include "server/edge/client/kubeconfig_file.h"
#include "server/runtime/clock/clock.h"

namespace subak::cli {
namespace {

constexpr int kTries = 5;
constexpr DurationMs kTurnMs = 1000, kAgainMs = 500;

class Caller final : public KubeCaller {
 public:
  explicit Caller(KubeAccess access)
      : client_(
            std::move(access), [clock = SystemClock()] { return clock.wall_ms(); },
            [this](const Error& error) { credential_ = error; }) {}

  Reply call(const KubeCall& call) override {
    Reply reply;
    for (int tried = 1;; ++tried) {
      reply = once(call);
      const Outcome outcome = reply.answer.outcome;
      const bool again = outcome == Outcome::kLater ||
                         (outcome == Outcome::kUnknown && call.method == "GET" && !credential_);
      if (!again || tried == kTries) return reply;
      wait(std::max(kAgainMs, reply.answer.delay_ms));
    }
  }

  void wait(DurationMs ms) override { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

 private:
  Reply once(const KubeCall& call) {
    Reply reply;
    bool answered = false;
    credential_.reset();
    client_.call(call, [&](const CallAnswer& answer, std::string_view body) {
      reply = {answer, std::string(body)};
      answered = true;
    });
    while (!answered && !credential_) client_.turn(kTurnMs);
    if (!answered) reply.answer = {Outcome::kUnauthorized, "", credential_->message(), 0};
    return reply;
  }

  std::optional<Error> credential_;
  KnownClient client_;
};

// Escapes a text for a query.
std::string escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[u >> 4];
      out += kHex[u & 15];
    }
  }
  return out;
}

}  // namespace

KubeCaller::Reply KubeCaller::get(const std::string& path) {
  KubeCall get;
  get.path = path;
  return call(get);
}

std::optional<Error> KubeCaller::list(const std::string& collection, const std::string& query,
                                      const std::function<void(json::Value)>& each) {
  json::Parser parser;
  std::string more;
  std::size_t objects = 0;
  do {
    std::string path = collection + "?limit=" + std::to_string(limits::kOperatorPage);
    if (!query.empty()) path += "&" + query;
    if (!more.empty()) path += "&continue=" + escaped(more);
    const Reply page = get(path);
    if (!page.done()) return error_of("GET " + collection, page.answer);
    json::Value root;
    if (parser.parse(page.body).get(root) != simdjson::SUCCESS) {
      return Error{ErrorCode::kInvalid, "GET " + collection, page.body.substr(0, 100),
                   "want a list as JSON"};
    }
    if (const auto items = json::member(root, "items")) {
      json::each_item(*items, [&](std::size_t, json::Value item) { each(item); });
    }
    more = json::text_in(root, "metadata", "continue");
    objects += limits::kOperatorPage;  // the requested number, so that a series of empty pages ends
                                       // too
    if (!more.empty() && objects >= limits::kMaxOperatorObjects) {
      return Error{ErrorCode::kExhausted, "GET " + collection,
                   "more than " + std::to_string(objects) + " objects", "want a list that ends"};
    }
  } while (!more.empty());
  return std::nullopt;
}

Result<std::unique_ptr<KubeCaller>> open_kube(const std::string& path, const std::string& context) {
  auto access = read_kubeconfig_file(path, context);
  if (!access) return access.error();
  return std::unique_ptr<KubeCaller>(std::make_unique<Caller>(std::move(access).value()));
}

Error error_of(std::string_view what, const CallAnswer& answer) {
  const auto code = answer.outcome == Outcome::kNotFound  ? ErrorCode::kNotFound
                    : answer.outcome == Outcome::kUnknown ? ErrorCode::kPrecondition
                                                          : ErrorCode::kDenied;
  return {code, std::string(what), answer.message,
          answer.outcome == Outcome::kUnknown ? "want an API server that answers"
          : code == ErrorCode::kNotFound      ? "want it to be there"
                                              : "want a user who may do that"};
}

}  // namespace subak::cli
