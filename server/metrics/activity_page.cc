#include <map>
#include <string>
#include <utility>

#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

constexpr const char* kOthers = "(others)";

// The path of the account to which a leaf of the tree belongs.
std::string account_of(const AccountTree& tree, AccountId leaf) {
  if (leaf == kUnassigned || !tree.exists(leaf)) return "(unassigned)";
  const std::string& path = tree.node(leaf).spec.path;
  return path.substr(0, path.find('/'));
}

using Sums = std::map<std::pair<std::string, std::string>, AccountActivity>;

// The sums of accounts without their users. Accounts beyond the limit are one.
Sums by_account(const Engine& engine, const ActivityFigures& figures) {
  Sums out;
  std::map<std::string, bool> names;
  for (const auto& [key, activity] : figures.accounts) {
    std::string name = account_of(engine.accounts(), key.first);
    if (!names.contains(name) && names.size() >= limits::kMetricAccounts) name = kOthers;
    names[name] = true;
    AccountActivity& to = out[{std::move(name), key.second}];
    to.sums += activity.sums;
    to.unknown += activity.unknown;
    to.idle_now += activity.idle_now;
    to.low_now += activity.low_now;
    to.active_now += activity.active_now;
    to.unknown_now += activity.unknown_now;
  }
  return out;
}

double in_gpu_seconds(std::int64_t sum) {
  return static_cast<double>(sum) / static_cast<double>(GpuTime::kRawPerGpuSecond);
}

void write_sums(Families& out, const Sums& sums) {
  out.counter("subak_activity_gpu_seconds_total",
              "GPU time of pods that hold GPUs, by how busy the GPUs were, since the start of the "
              "process.");
  for (const auto& [key, one] : sums) {
    const auto row = [&, &name = key.first, &product = key.second](const char* activity,
                                                                   std::int64_t sum) {
      out.sample({{"account", name}, {"product", product}, {"activity", activity}},
                 in_gpu_seconds(sum));
    };
    row("idle", one.sums.idle);
    row("low", one.sums.low);
    row("active", one.sums.active);
    row("unknown", one.unknown);
  }
  out.gauge("subak_activity_milligpu", "GPUs that pods hold now, by how busy the GPUs are.");
  for (const auto& [key, one] : sums) {
    const auto row = [&, &name = key.first, &product = key.second](const char* activity,
                                                                   MilliGpu amount) {
      out.sample({{"account", name}, {"product", product}, {"activity", activity}}, amount);
    };
    row("idle", one.idle_now);
    row("low", one.low_now);
    row("active", one.active_now);
    row("unknown", one.unknown_now);
  }
  out.counter("subak_activity_energy_joules_total",
              "Energy of the GPUs that pods held, since the start of the process.");
  for (const auto& [key, one] : sums) {
    out.sample({{"account", key.first}, {"product", key.second}},
               static_cast<double>(one.sums.energy_mj) / 1000);
  }
}

void write_unheld(Families& out, const Engine& engine, const ActivityFigures& figures) {
  std::map<std::string, std::size_t> counts;
  const std::shared_ptr<const View> view = engine.view();
  for (const ClusterView& cluster : *view->clusters) counts[cluster.name] = 0;
  for (const UnheldGpu& gpu : figures.unheld) ++counts[gpu.cluster];
  out.gauge("subak_busy_unheld_gpus", "GPUs that are busy although no pod holds them.");
  for (const auto& [cluster, count] : counts) out.sample({{"cluster", cluster}}, count);
}

void write_prices(Families& out, const Engine& engine, const PriceList& prices, TimeMs now) {
  out.gauge("subak_price_per_gpu_hour", "The price of one GPU for one hour today.");
  const Products& products = engine.fleet().products();
  for (std::size_t i = 1; i <= products.size(); ++i) {
    const std::string name(products.name(ProductId(static_cast<std::uint16_t>(i))));
    const auto price = prices.per_hour(name, now / kDayMs);
    if (price) out.sample({{"product", name}, {"currency", prices.currency}}, *price);
  }
  out.gauge("subak_price_per_kwh", "The price of one kilowatt-hour today.");
  const auto price = prices.per_kwh(now / kDayMs);
  if (price) out.sample({{"currency", prices.currency}}, *price);
}

}  // namespace

void write_activity(Families& out, const Engine& engine, const ActivityFigures& figures,
                    const PriceList& prices, TimeMs now) {
  write_sums(out, by_account(engine, figures));
  write_unheld(out, engine, figures);
  out.counter("subak_activity_reads_total", "Queries of the Prometheus server, by result.");
  out.sample({{"result", "ok"}}, figures.reads);
  out.sample({{"result", "failed"}}, figures.failed_reads);
  out.gauge(
      "subak_activity_unknown_devices",
      "GPUs and MIG instances with metrics whose node is not in the fleet, or is not unique.");
  out.sample({}, figures.unknown_nodes);
  write_prices(out, engine, prices, now);
}

}  // namespace subak::metrics
