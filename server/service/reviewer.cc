#include "server/service/reviewer.h"

#include <algorithm>
#include <utility>

#include "core/duration.h"
#include "server/log/log.h"
#include "server/service/files.h"
#include "server/service/listeners.h"

namespace subak {

Reviewer::Reviewer(const Config& config, metrics::Events& events, const Clock& clock)
    : config_(config),
      events_(events),
      clock_(clock),
      policy_(std::make_shared<const AdmissionConfig>(admission_of(config))),
      begun_boot_ms_(clock.boot_ms()) {}

Reviewer::~Reviewer() { stop(); }

void Reviewer::judge_by_copy(std::unique_ptr<LastCopy> copy, TimeMs last_ms,
                             std::function<void(const Error&)> dead) {
  copy_ = std::move(copy);
  dead_ = std::move(dead);
  auto kept = copy_->read();
  if (!kept) {
    log::warn("the copy for a start without the database is not used",
              {{"error", kept.error().message()}});
  }
  const MutexLock lock(before_runtime_.mutex);
  if (kept) before_runtime_.kept = *std::move(kept);
  before_runtime_.time.start(last_ms, {clock_.wall_ms(), clock_.boot_ms()});
  by_copy_ = true;
}

std::optional<Error> Reviewer::start(const ListenerLimits& limiter) {
  if (auto error = open_certificate()) return error;
  WebhookOptions options = webhook_options(events_, clock_);
  options.basis = [this] { return AdmissionBasis{view(), policy_}; };
  options.gates_without_view = by_copy_;
  listening_.webhook = std::make_unique<Webhook>(std::move(options));
  listening_.listener =
      webhook_listener(config_, limiter, listening_.certificate, *listening_.webhook);
  if (auto error = listening_.listener->start()) return error;
  if (by_copy_) start_prober();
  return std::nullopt;
}

std::optional<Error> Reviewer::open_certificate() {
  CertificateFiles files{config_.tls_cert, config_.tls_key, ""};
  CertificateStore::Renew renew;
  if (files.cert.empty()) {
    const bool by_name = std::any_of(config_.clusters.begin(), config_.clusters.end(),
                                     [](const auto& cluster) { return cluster.in_cluster; });
    listening_.own_certificate = std::make_unique<OwnCertificate>(
        certificate_folder(config_.state), config_.listen_webhook.host, by_name,
        [this] { return now_ms(); });
    Result<CertificateFiles> made = listening_.own_certificate->begin();
    if (!made) return made.error();
    files = std::move(made).value();
    renew = [this] { listening_.own_certificate->look(); };
  }
  auto opened = open_certificates(std::move(files), std::move(renew));
  if (!opened) return opened.error();
  listening_.certificate = std::move(opened).value();
  return std::nullopt;
}

void Reviewer::start_prober() {
  const auto ask = [this](DurationMs patience_ms) { return probe(patience_ms); };
  prober_ = std::make_unique<Prober>(std::vector<Probed>{{"webhook", ask}}, clock_, dead_);
  prober_->start();
  is_probed_ = true;
}

void Reviewer::end_start() {
  if (prober_) prober_->stop();
  by_copy_ = false;
}

void Reviewer::judge_by(const Runtime& runtime) {
  runtime_ = &runtime;
  if (!copy_) return;
  {
    const MutexLock lock(before_runtime_.mutex);
    before_runtime_.kept.reset();
  }
  copy_->keep([&runtime] { return runtime.view(); });
}

void Reviewer::stop() {
  if (prober_) prober_->stop();
  if (listening_.listener) listening_.listener->stop();
  if (copy_) copy_->stop();
}

// The copy is dropped only after the runtime exists, so one of them is always found.
std::shared_ptr<const View> Reviewer::view() const {
  if (runtime_ == nullptr) {
    const MutexLock lock(before_runtime_.mutex);
    if (before_runtime_.kept) return before_runtime_.kept->view;
  }
  const Runtime* const runtime = runtime_;
  return runtime != nullptr ? runtime->view() : nullptr;
}

// The last fact that this replica knows as durable stands in for the store's last one. With a wall
// clock far from it no certificate is made.
TimeMs Reviewer::now_ms() {
  if (const Runtime* const runtime = runtime_) return runtime->now_ms();
  const MutexLock lock(before_runtime_.mutex);
  return before_runtime_.time.look({clock_.wall_ms(), clock_.boot_ms()});
}

void Reviewer::note_away() {
  if (away_.exchange(true)) return;
  const auto now = start_state();
  if (now && now->has_copy) {
    log::warn("reviews are decided by the last copy until the database answers",
              {{"age", format_duration(now->age_ms - now->age_ms % kSecondMs)}});
  } else {
    log::warn(
        "there is no copy to decide reviews by: GPU pods are gated until the database answers");
  }
}

std::optional<metrics::StartState> Reviewer::start_state() const {
  if (!by_copy_) return std::nullopt;
  if (runtime_ != nullptr) return metrics::StartState{away_, true, 0};
  const MutexLock lock(before_runtime_.mutex);
  if (!before_runtime_.kept)
    return metrics::StartState{away_, false, clock_.boot_ms() - begun_boot_ms_};
  const DurationMs age_ms = std::max<DurationMs>(clock_.wall_ms() - before_runtime_.kept->at_ms, 0);
  return metrics::StartState{away_, true, age_ms};
}

std::vector<metrics::ListenerState> Reviewer::start_listeners() const {
  if (!is_probed_) return {};
  return {listener_state("webhook", connections(), prober_->serves(0))};
}

TimeMs Reviewer::certificate_change_ms() const {
  return listening_.own_certificate ? listening_.own_certificate->change_ms() : 0;
}

std::vector<std::string> Reviewer::warnings() const {
  return listening_.own_certificate ? listening_.own_certificate->warnings()
                                    : std::vector<std::string>();
}

}  // namespace subak
