#include "server/service/listeners.h"

#include <utility>

#include "core/limits.h"
#include "server/log/log.h"

namespace subak {

Result<ConnectionLimits> divide_files() {
  const std::size_t files = raise_open_files();
  Result<ConnectionLimits> shared = share_files(files);
  if (!shared) return shared.error();
  const ConnectionLimits& connections = *shared;
  if (connections.webhook.all < limits::kMaxHttpConnections) {
    log::warn("the system allows few open files, so there may be fewer connections",
              {{"files", files},
               {"wanted", limits::kWantedFiles},
               {"webhook", connections.webhook.all},
               {"grpc", connections.grpc.all},
               {"http", connections.http.all},
               {"webhook_per_address", connections.webhook.per_peer},
               {"grpc_per_address", connections.grpc.per_peer}});
  }
  return shared;
}

AdmissionConfig admission_of(const Config& config) {
  AdmissionConfig admission;
  admission.extra_gpu_resources = config.gpu_kinds;
  admission.break_glass_group = config.break_glass_group;
  admission.device_claims = config.claims.devices;
  admission.unknown_cluster = config.webhook.unknown_cluster;
  admission.pod_priority_class = config.webhook.pod_priority_class;
  admission.protect_gangs = config.webhook.protect_gangs;
  admission.queue_accounts = config.webhook.queue_accounts;
  admission.alignment = config.alignment.level;
  admission.alignment_namespaces = config.alignment.namespaces;
  admission.routes = config.routes;
  admission.compute_domains_for_nvlink = config.claims.domains_for_nvlink;
  return admission;
}

WebhookOptions webhook_options(metrics::Events& events, const Clock& clock) {
  WebhookOptions options;
  options.now_ns = [&clock] { return clock.monotonic_us() * 1000; };
  options.on_decision = [&events](std::string_view decision, std::string_view reason,
                                  std::int64_t us) { events.admission(decision, reason, us); };
  options.on_bypass = [&events](std::string_view way) { events.bypass(way); };
  return options;
}

Result<std::shared_ptr<CertificateStore>> open_certificates(CertificateFiles files,
                                                            CertificateStore::Renew renew) {
  const auto tell = [](const Error& error) {
    log::error("the new certificate is not used", {{"error", error.message()}});
  };
  return CertificateStore::open(std::move(files), tell, std::move(renew));
}

ListenerOptions http_options(const Config& config, const ListenerLimits& limits) {
  ListenerOptions options;
  options.host = config.listen_http.host;
  options.port = config.listen_http.port;
  options.max_connections = limits.all;
  options.max_per_peer = limits.per_peer;
  options.threads = 2;  // health is answered while a page is written
  return options;
}

std::vector<std::string> own_hosts(const Config& config) {
  std::vector<std::string> hosts = config.http_hosts;
  hosts.push_back(machine_name());
  return hosts;
}

std::unique_ptr<Listener> http_listener(const Config& config, const ListenerLimits& limits,
                                        HttpRoute route) {
  return Listener::async(http_options(config, limits),
                         http_handler(std::move(route), own_hosts(config)));
}

std::unique_ptr<Listener> webhook_listener(const Config& config, const ListenerLimits& limits,
                                           std::shared_ptr<CertificateStore> certificate,
                                           Webhook& webhook) {
  ListenerOptions options;
  options.host = config.listen_webhook.host;
  options.port = config.listen_webhook.port;
  options.tls = std::move(certificate);
  options.thread_name = "webhook";
  options.threads = limits::kWebhookThreads;
  options.max_connections = limits.all;
  options.max_per_peer = limits.per_peer;
  return std::make_unique<Listener>(
      options, [&webhook](const HttpRequest& request) { return webhook.handle(request); });
}

metrics::ListenerState listener_state(std::string name, const ConnectionStats& now, bool serves) {
  return {std::move(name), now.open, now.limit, now.refused, now.evicted, serves};
}

}  // namespace subak
