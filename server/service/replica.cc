#include "server/service/replica.h"

#include <atomic>
#include <utility>

#include "server/metrics/events.h"
#include "server/replica/leader_copy.h"
#include "server/runtime/clock/clock.h"
#include "server/service/listeners.h"
#include "server/service/prober.h"

namespace subak {

// Members in the order of their creation; destroyed in the reverse order.
struct Replica::Impl {
  Impl(Config c, std::function<void(const Error&)> f) : config(std::move(c)), fatal(std::move(f)) {}

  std::optional<Error> start();
  std::optional<Error> start_webhook();
  void start_prober();
  void stop();
  metrics::ReplicaState state() const;

  Config config;
  std::function<void(const Error&)> fatal;
  SystemClock clock;
  const TimeMs start_ms = clock.wall_ms();
  const std::int64_t start_boot_ms = clock.boot_ms();
  metrics::Events events;
  ConnectionLimits connections;
  std::unique_ptr<LeaderCopy> leader;
  std::shared_ptr<CertificateStore> certificate;
  std::unique_ptr<Webhook> hook;
  std::unique_ptr<Listener> webhook;
  std::unique_ptr<Listener> http;
  std::unique_ptr<Prober> prober;
  std::atomic<bool> started{false};  // the parts above may be used
};

std::optional<Error> Replica::Impl::start() {
  Result<ConnectionLimits> divided = divide_files();
  if (!divided) return divided.error();
  connections = *divided;
  leader = std::make_unique<LeaderCopy>(
      LeaderOptions{config.follow, config.follow_ca, config.follow_token, config.follows_plainly(),
                    admission_of(config)},
      clock);
  http = http_listener(config, connections.http,
                       [this](std::string_view method, std::string_view target, HttpDone done) {
                         done(replica_answer(method, target, state(), events));
                       });
  if (auto error = http->start()) return error;
  leader->start();
  if (auto error = start_webhook()) return error;
  start_prober();
  started = true;
  return std::nullopt;
}

std::optional<Error> Replica::Impl::start_webhook() {
  Result<std::shared_ptr<CertificateStore>> opened =
      open_certificates({config.tls_cert, config.tls_key, ""});
  if (!opened) return opened.error();
  certificate = std::move(opened).value();
  WebhookOptions options = webhook_options(events, clock);
  options.basis = [this] { return leader->basis(); };
  options.gates_without_view = true;
  hook = std::make_unique<Webhook>(std::move(options));
  webhook = webhook_listener(config, connections.webhook, certificate, *hook);
  return webhook->start();
}

void Replica::Impl::start_prober() {
  const auto of = [](auto& part) {
    return [&part](DurationMs patience_ms) { return part.probe(patience_ms); };
  };
  prober = std::make_unique<Prober>(
      std::vector<Probed>{{"webhook", of(*webhook)}, {"http", of(*http)}}, clock, fatal);
  prober->start();
}

// Parts that were not started may be stopped.
void Replica::Impl::stop() {
  if (prober) prober->stop();
  if (webhook) webhook->stop();
  started = false;
  if (http) http->stop();
  if (leader) leader->stop();
}

metrics::ReplicaState Replica::Impl::state() const {
  metrics::ReplicaState out;
  out.shell.version = kVersion;
  out.shell.now_ms = clock.wall_ms();
  out.shell.start_ms = start_ms;
  out.shell.uptime_ms = clock.boot_ms() - start_boot_ms;
  out.shell.process = metrics::read_process();
  const LeaderStats stats = leader->stats();
  out.has_copy = stats.has_copy;
  out.age_ms = stats.age_ms;
  out.copies = stats.copies;
  out.refused = stats.refused;
  if (!started) {
    out.shell.listeners = {{"webhook", 0, 0, 0, 0, false}};
    return out;
  }
  out.shell.certificate_end_ms = certificate->expires_at_ms();
  out.shell.listeners = {listener_state("webhook", webhook->connections(), prober->serves(0)),
                         listener_state("http", http->connections(), prober->serves(1))};
  return out;
}

Replica::Replica(Config config, std::function<void(const Error&)> fatal)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(fatal))) {}

Replica::~Replica() { stop(); }

std::optional<Error> Replica::start() {
  std::optional<Error> error = impl_->start();
  if (error) stop();
  return error;
}

std::string Replica::ports_text() const {
  const Config& c = impl_->config;
  return "subakd ready webhook=" +
         ListenAddress{c.listen_webhook.host, impl_->webhook->port()}.text() +
         " http=" + ListenAddress{c.listen_http.host, impl_->http->port()}.text();
}

void Replica::stop() { impl_->stop(); }

}  // namespace subak
