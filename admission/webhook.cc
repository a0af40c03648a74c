#include "admission/webhook.h"

#include "core/printable.h"

namespace subak {
namespace {

HttpResponse plain(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body)};
}

struct Route {
  Endpoint endpoint = Endpoint::kMutate;
  std::string_view cluster;
};

std::optional<Route> route_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  Route route;
  constexpr std::string_view kMutate = "/mutate", kValidate = "/validate", kStamp = "/stamp";
  if (target.starts_with(kMutate)) {
    target.remove_prefix(kMutate.size());
  } else if (target.starts_with(kValidate)) {
    route.endpoint = Endpoint::kValidate;
    target.remove_prefix(kValidate.size());
  } else if (target.starts_with(kStamp)) {
    route.endpoint = Endpoint::kStamp;
    target.remove_prefix(kStamp.size());
  } else {
    return std::nullopt;
  }
  if (target.empty() || target == "/") return route;
  if (target[0] != '/' || target.find('/', 1) != std::string_view::npos) return std::nullopt;
  route.cluster = target.substr(1);
  return route;
}

}  // namespace

Webhook::Webhook(WebhookOptions options) : options_(std::move(options)) {}

HttpResponse Webhook::handle(const HttpRequest& request) {
  const auto route = route_of(request.target);
  if (!route) return plain(404, "want /mutate/CLUSTER, /validate/CLUSTER or /stamp/CLUSTER\n");
  if (request.method != "POST") return plain(405, "want POST with an AdmissionReview\n");
  return review(route->endpoint, route->cluster, request);
}

HttpResponse Webhook::review(Endpoint endpoint, std::string_view cluster,
                             const HttpRequest& request) {
  thread_local ReviewParser parser;
  const std::int64_t started_ns = options_.now_ns();
  const auto [view, config] = options_.basis();
  const bool stamps = endpoint == Endpoint::kStamp;
  if (!view && !stamps && !options_.gates_without_view) {
    return plain(503, "not ready: no accounts and limits loaded yet\n");
  }
  const auto parsed = parser.parse(request.body);
  if (!parsed.ok()) {
    Decision bad;
    bad.verdict = Verdict::kBadRequest;
    bad.because = Because::kMalformed;
    count(bad, started_ns);
    return plain(400, printable(parsed.error().message()) + "\n");
  }
  Decision decision = stamps ? decide_stamp(*parsed)
                      : view ? decide(*view, *config, cluster, endpoint, *parsed)
                             : decide_without_view(*config, endpoint, *parsed);
  count(decision, started_ns);
  HttpResponse response;
  response.body = write_answer(parsed->uid, std::move(decision).answer());
  return response;
}

void Webhook::count(const Decision& d, std::int64_t started_ns) {
  const auto verdict = static_cast<std::size_t>(d.verdict);
  const auto because = static_cast<std::size_t>(d.because);
  counters_.decisions[verdict][because].fetch_add(1, std::memory_order_relaxed);
  if (d.bypass != Bypass::kNone) {
    counters_.bypasses[static_cast<std::size_t>(d.bypass)].fetch_add(1, std::memory_order_relaxed);
    if (options_.on_bypass) options_.on_bypass(enum_name(d.bypass));
  }
  if (!options_.on_decision) return;
  options_.on_decision(enum_name(d.verdict), enum_name(d.because),
                       (options_.now_ns() - started_ns) / 1000);
}

}  // namespace subak
