// The edge's use of node leases: the last sign of life of a silent node, and clock errors.
#include <algorithm>
#include <optional>
#include <utility>

#include "server/edge/cluster/edge_impl.h"
#include "server/log/log.h"

namespace subak {

// Any answer is enough: without a lease the node's own status is used.
void Edge::Impl::read_leases() {
  for (const auto& [node, _] : cache.nodes().silent()) {
    if (reading_leases.contains(node)) continue;
    KubeCall call;
    call.path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + node;
    const bool asked = api->call(
        std::move(call), [this, name = node](const CallAnswer& answer, std::string_view body) {
          reading_leases.erase(name);
          simdjson::dom::parser parser;
          json::Value lease;
          const bool read = answer.outcome == Outcome::kDone &&
                            parser.parse(body.data(), body.size()).get(lease) == simdjson::SUCCESS;
          const auto spec = read ? json::member(lease, "spec") : std::nullopt;
          cache.nodes().see_lease(name, spec ? json::text(*spec, "renewTime") : std::string_view());
        });
    if (!asked) return;
    reading_leases.insert(node);
  }
}

// Leases are optional: without them the times that nodes report are taken as they are.
void Edge::Impl::follow_leases() {
  ReflectorSink sink;
  sink.begin = [this] { cache.nodes().begin_leases(); };
  sink.object = [this](const WatchEvent& event) {
    cache.nodes().see_lease(event, ports.now_ms(), ports.monotonic_ms());
  };
  sink.complete = [this] {
    cache.nodes().complete_leases();
    return true;
  };
  leases = follow(kLeasesPath, std::move(sink));
}

// Reads the nodes again whose clock error has changed, so that the core gets the error with the
// node.
void Edge::Impl::read_outdated_nodes() {
  if (phase != Phase::kFollows) return;
  for (const std::string& node : cache.nodes().take_outdated()) {
    const DurationMs off_ms = cache.nodes().clocks().off_ms(node);
    log::warn(off_ms == 0 ? "the clock of a node is right again" : "the clock of a node is off",
              {{"cluster", options.cluster}, {"node", node}, {"behind_ms", off_ms}});
    KubeCall call;
    call.path = std::string(kNodesPath) + "/" + node;
    const bool asked =
        api->call(std::move(call), [this, node](const CallAnswer& answer, std::string_view body) {
          simdjson::dom::parser parser;
          WatchEvent event;
          event.kind = WatchKind::kModified;
          const bool read =
              answer.outcome == Outcome::kDone &&
              parser.parse(body.data(), body.size()).get(event.object) == simdjson::SUCCESS;
          if (read) cache.see_node(event, ports.now_ms());
        });
    if (!asked) cache.nodes().put_outdated(node);
  }
}

// Returns the present time of the clock by which the update's times were read. That is the node's
// clock if its lease shows it, else the service's.
TimeMs Edge::Impl::said_at(const News& news) const {
  if (std::holds_alternative<in::PodGone>(news.body) && news.clock.empty()) return ports.now_ms();
  const std::optional<DurationMs> behind_ms = cache.nodes().clocks().behind_ms(news.clock);
  return behind_ms ? std::max<TimeMs>(ports.now_ms() - *behind_ms, 1) : 0;
}

}  // namespace subak
