// The webhook: answers the HTTP requests of kube-apiserver with AdmissionReviews. A listener
// (net/listener.h) calls Webhook::handle() for each request. The webhook serves /mutate, /validate
// and /stamp, each also with /{cluster}, and with any query (kube-apiserver adds ?timeout=...).
//
//   200  a review with a decision, also when it is a denial
//   400  malformed JSON, not admission.k8s.io/v1, no uid, too large: text with the reason
//   404  another path      405  not a POST
//   503  no View yet for /mutate or /validate, and WebhookOptions::gates_without_view is false
//
// Threads: several I/O threads may call handle() at once. handle() never blocks and holds no locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "admission/policy.h"
#include "net/listener.h"

namespace subak {

// The data with which the webhook decides reviews.
struct AdmissionBasis {
  // The snapshot of accounts, clusters and policy (engine/answers/view.h). nullptr: there is none
  // yet, because the service is starting.
  std::shared_ptr<const View> view;
  // Never nullptr.
  std::shared_ptr<const AdmissionConfig> config;
};

// The options of a webhook. Each function may be called on all I/O threads at once.
// `basis` and `now_ns` must be set.
struct WebhookOptions {
  // Returns the newest basis. The function must never block.
  std::function<AdmissionBasis()> basis;
  // What /mutate and /validate do while there is no View. True: GPU pods are gated. False: the
  // answer is 503. /stamp needs no View.
  bool gates_without_view = false;
  // A steady clock in nanoseconds; only for measurements.
  std::function<std::int64_t()> now_ns;
  // Called once for each request that reached a decision or was not a review; may be empty.
  std::function<void(std::string_view decision, std::string_view reason, std::int64_t microseconds)>
      on_decision;
  // Called once for each attempted way around the gate, even if mode warn allowed the request; may
  // be empty.
  std::function<void(std::string_view way)> on_bypass;
};

// Counts of decisions so far, for a test or for a page without a metrics library.
struct WebhookCounters {
  // The counters only rise. `decisions` is indexed by Verdict and Because, `bypasses` by Bypass.
  static constexpr std::size_t kVerdicts = EnumText<Verdict>::names.size();
  static constexpr std::size_t kBecauses = EnumText<Because>::names.size();
  std::array<std::array<std::atomic<std::uint64_t>, kBecauses>, kVerdicts> decisions{};
  std::array<std::atomic<std::uint64_t>, EnumText<Bypass>::names.size()> bypasses{};
};

// Answers the API server's calls. A call changes only the counters.
class Webhook {
 public:
  // All objects that the functions of `options` refer to must outlive the webhook.
  explicit Webhook(WebhookOptions options);
  // Returns the answer, by the table at the top of this file. Threads: any, several at once.
  // kBodyPadding readable bytes must follow the body of `request`.
  HttpResponse handle(const HttpRequest& request);
  const WebhookCounters& counters() const { return counters_; }

 private:
  // Parses and decides one request.
  HttpResponse review(Endpoint endpoint, std::string_view cluster, const HttpRequest& request);
  // Counts a decision and reports it to the options' callbacks. `started_ns`: the start of the
  // request, by now_ns().
  void count(const Decision& decision, std::int64_t started_ns);

  WebhookOptions options_;
  WebhookCounters counters_;
};

}  // namespace subak
