// The notifier in the service.
#include <utility>

#include "server/service/service_impl.h"

namespace subak {

std::optional<Error> Service::Impl::make_notifier() {
  if (config.files.notices.empty()) return std::nullopt;
  NotifierPorts ports;
  ports.read = [this](std::function<void(const Engine&)> fn) {
    return follower->read_expensive("notices", std::move(fn)) == Queued::kYes;
  };
  ports.now_ms = [this] { return runtime->now_ms(); };
  ports.monotonic_ms = [this] { return clock.monotonic_ms(); };
  watchers.notifier = std::make_unique<Notifier>(config.files.notices, std::move(ports));
  return watchers.notifier->read();
}

std::optional<Error> Service::Impl::start_notifier() {
  return watchers.notifier ? watchers.notifier->start(*store, runtime->view()->seq) : std::nullopt;
}

std::vector<metrics::NoticeState> Service::Impl::notice_states() const {
  std::vector<metrics::NoticeState> out;
  for (const auto& [name, one] : notice_figures()) {
    out.push_back({name, one.sent, one.lost, one.failed, one.waiting});
  }
  return out;
}

ReceiverFigures Service::Impl::notice_figures() const {
  return watchers.notifier ? watchers.notifier->figures() : ReceiverFigures();
}

}  // namespace subak
