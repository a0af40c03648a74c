#include "server/browser/http_port.h"

#include <utility>

#include "server/api/common/browser_limits.h"

namespace subak::browser {

std::optional<Error> HttpPort::start(HttpPortOptions options, HttpSources sources,
                                     std::function<std::uint64_t()> sequence) {
  ListenerOptions& listener = options.listener;
  listener.max_body_bytes = limits::kMaxBrowserBodyBytes;
  listener.browsers = {true, true, answer_ms_of};
  GatewayPorts ports;
  ports.wants_token = options.wants_token;
  ports.sequence = std::move(sequence);
  ports.clock = sources.clock;
  routes_ = std::make_unique<HttpRoutes>(std::move(sources));
  ports.routes = [this](std::string_view method, std::string_view target, HttpDone done) {
    routes_->handle(method, target, std::move(done));
  };
  gateway_ = std::make_unique<Gateway>(std::move(ports));
  const auto handle = [this](const HttpRequest& request, const HttpReplier& done) {
    gateway_->handle(request, done);
  };
  listener_ =
      Listener::async(std::move(listener), own_hosts_only(handle, std::move(options.hosts)));
  return listener_->start();
}

void HttpPort::open(ApiServer& api) { gateway_->open(api.in_process(), api.sessions()); }

void HttpPort::close() {
  if (gateway_) gateway_->close();
}

void HttpPort::stop() {
  close();
  if (listener_) listener_->stop();
}

}  // namespace subak::browser
