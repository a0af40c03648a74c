// What a leader and a replica show to the world alike: their listeners, the certificate, how many
// connections there may be. Private to server/service.
#pragma once

#include <memory>
#include <string>

#include "admission/certificates.h"
#include "admission/listener.h"
#include "admission/webhook.h"
#include "core/error.h"
#include "server/config/config.h"
#include "server/http/routes.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/runtime/ports.h"
#include "server/service/sockets.h"

namespace subak {

// Raises the limit of open files and divides them; the log says where there are few.
Result<ConnectionLimits> divide_files();
// What the configuration says of admission.
AdmissionConfig admission_of(const Config& config);
// Reports to `events`, which outlives it, as the clock does; the rest is to be filled in.
WebhookOptions webhook_options(metrics::Events& events, const Clock& clock);
// Watched: a new pair is taken over, or the log says why not.
Result<std::shared_ptr<CertificateStore>> open_certificates(CertificateFiles files,
                                                            CertificateStore::Renew renew = {});
// Neither is started.
std::unique_ptr<Listener> http_listener(const Config& config, const DoorLimits& limits,
                                        HttpRoute route);
std::unique_ptr<Listener> webhook_listener(const Config& config, const DoorLimits& limits,
                                           std::shared_ptr<CertificateStore> certificate,
                                           Webhook& webhook);
metrics::ListenerState listener_state(std::string name, const ConnectionStats& now, bool serves);

}  // namespace subak
