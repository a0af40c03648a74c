// Parts that the service and a webhook-only replica share: listeners, certificate, connection
// limits. Private to server/service.
#pragma once

#include <memory>
#include <string>

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

// Raises the limit of open files and divides the files among the listeners. The log says if there
// are few.
// The error is that of share_files().
Result<ConnectionLimits> divide_files();
// Returns the admission settings of the configuration.
AdmissionConfig admission_of(const Config& config);
// Returns options that report to `events`. `events` and `clock` outlive the webhook. The caller
// fills in the other options.
WebhookOptions webhook_options(metrics::Events& events, const Clock& clock);
// Opens the certificate pair. When the store finds a new pair, it uses that pair, or the log says
// why not.
// The store calls `renew` each time before it looks at the files; see CertificateStore.
Result<std::shared_ptr<CertificateStore>> open_certificates(CertificateFiles files,
                                                            CertificateStore::Renew renew = {});
// Make the listeners without starting them.
// `route` answers on the listener's threads, or later. `webhook` outlives its listener. The HTTP
// listener refuses requests for other host names than http_hosts and the machine's own.
std::unique_ptr<Listener> http_listener(const Config& config, const ListenerLimits& limits,
                                        HttpRoute route);
std::unique_ptr<Listener> webhook_listener(const Config& config, const ListenerLimits& limits,
                                           std::shared_ptr<CertificateStore> certificate,
                                           Webhook& webhook);
// `serves`: the last probe's result.
metrics::ListenerState listener_state(std::string name, const ConnectionStats& now, bool serves);

}  // namespace subak
