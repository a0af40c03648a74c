// Makes listeners, certificates and connection limits, for the service and for a webhook-only
// replica. Threads: only the thread that starts the process, but listener_state() is pure. Private
// to server/service.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/webhook.h"
#include "core/error.h"
#include "net/certificates.h"
#include "net/listener.h"
#include "server/config/config.h"
#include "server/http/routes.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/runtime/ports.h"
#include "server/service/sockets.h"

namespace subak {

// Raises the limit on open files, and divides the files among the listeners. If there are few
// files, divide_files() logs that. The error is that of share_files().
Result<ConnectionLimits> divide_files();
// Returns the part of the configuration by which the webhook decides.
AdmissionConfig admission_of(const Config& config);
// Returns options of a webhook that reports to `events`. The caller sets the other options.
// `events` and `clock` must outlive the webhook.
WebhookOptions webhook_options(metrics::Events& events, const Clock& clock);
// Opens a certificate pair. When the files have a new pair, the CertificateStore uses that pair, or
// logs why it does not. It calls `renew` each time before it looks at the files; see
// CertificateStore.
Result<std::shared_ptr<CertificateStore>> open_certificates(CertificateFiles files,
                                                            CertificateStore::Renew renew = {});
// http_listener() and webhook_listener() make listeners without starting them. `route`: it is
// called on the listener's threads, and may answer later. The HTTP listener refuses requests for
// foreign host names (http_handler()); its own names are Config::http_hosts and the machine's name.
// `webhook` must outlive its listener.
std::unique_ptr<Listener> http_listener(const Config& config, const ListenerLimits& limits,
                                        HttpRoute route);
// Returns the options that all HTTP ports have, and the service's own names.
ListenerOptions http_options(const Config& config, const ListenerLimits& limits);
std::vector<std::string> own_hosts(const Config& config);
std::unique_ptr<Listener> webhook_listener(const Config& config, const ListenerLimits& limits,
                                           std::shared_ptr<CertificateStore> certificate,
                                           Webhook& webhook);
// Returns the state of a listener for the metrics page. `serves`: the listener answered the last
// probe.
metrics::ListenerState listener_state(std::string name, const ConnectionStats& now, bool serves);

}  // namespace subak
