// The observer of activity in the service, its warnings, and the price list.
#include <string>
#include <utility>

#include "core/decimal.h"
#include "core/duration.h"
#include "core/edge_limits.h"
#include "core/text.h"
#include "server/service/activity_warnings.h"
#include "server/service/service_impl.h"
#include "server/yaml/written_file.h"

namespace subak {

void Service::Impl::start_observer() {
  if (config.prometheus.empty()) return;
  ObserverOptions options;
  options.access = {config.prometheus, config.prometheus_token, config.prometheus_ca};
  options.warn_after_ms = config.idle_warn_ms;
  options.every_ms = config.prometheus_every_ms;
  ObserverPorts ports;
  ports.read = [this](std::function<void(const Engine&)> fn) {
    return follower->read_expensive("activity", std::move(fn)) == Queued::kYes;
  };
  ports.now_ms = [this] { return runtime->now_ms(); };
  ports.leads = [this] { return runtime->stats().leads; };
  ports.warn = [this](const IdleJob& job) { warn_idle(job); };
  watchers.activity =
      std::make_unique<ActivityObserver>(std::move(options), std::move(ports), activity, *store);
  watchers.activity->start();
}

void Service::Impl::warn_idle(const IdleJob& job) {
  if (!has_edges || job.pod_uid.empty()) return;
  std::string cluster;
  const std::shared_ptr<const View> view = runtime->view();
  for (const ClusterView& one : *view->clusters) {
    if (one.id == job.job.cluster()) cluster = one.name;
  }
  for (const NamedEdge& named : edges) {
    if (named.cluster == cluster || named.cluster.empty()) {
      return named.edge->tell_idle(job.pod_uid, idle_text(job));
    }
  }
}

std::optional<Error> Service::Impl::read_prices() {
  if (config.files.prices.empty()) return std::nullopt;
  const Result<std::string> text = read_written_file(config.files.prices, "prices");
  if (!text) return text.error();
  Result<PriceList> list = read_price_list(*text, config.files.prices);
  if (!list) return list.error();
  prices = std::make_shared<const PriceList>(std::move(list).value());
  return std::nullopt;
}

std::string idle_text(const IdleJob& job) {
  return "the GPUs of job " + text::job_id_text(job.job) + " (" + format_milligpu(job.milligpu) +
         ") are all idle since " + format_time(job.since_ms) +
         ": each was busy for less than 1 % of the time; end the job if it does not need them";
}

std::vector<std::string> activity_warnings(const ActivityFigures& figures) {
  std::vector<std::string> out;
  if (!figures.error.empty()) {
    out.push_back("activity is not observed: " + figures.error);
  }
  for (const UnheldGpu& gpu : figures.unheld) {
    if (out.size() >= limits::kMaxUnheldShown) {
      out.push_back(std::to_string(figures.unheld.size()) +
                    " GPUs are busy although no pod holds them");
      break;
    }
    const std::string which = gpu.gpu.empty() ? "a GPU" : "GPU " + gpu.gpu;
    out.push_back(
        which + " of node " + gpu.node + " is busy although no pod holds it" +
        (gpu.pod.empty() ? "; the metrics name no pod" : "; the metrics name the pod " + gpu.pod));
  }
  return out;
}

}  // namespace subak
