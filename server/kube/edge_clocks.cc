// What an edge learns of the leases of nodes: when a silent node was heard last, and how far clocks are off.
#include <algorithm>
#include <optional>
#include <utility>

#include "server/kube/edge_impl.h"
#include "server/log/log.h"

namespace subak {

// Whatever the answer is: without a lease its own status has to do.
void Edge::Impl::read_leases() {
  for (const auto& [node, _] : cards.silent_nodes()) {
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
          cards.see_lease(name, spec ? json::text(*spec, "renewTime") : std::string_view());
        });
    if (!asked) return;
    reading_leases.insert(node);
  }
}

// Nothing waits for it: without leases what nodes say of their pods is taken as it is.
void Edge::Impl::follow_leases() {
  ReflectorSink sink;
  sink.begin = [this] { cards.begin_leases(); };
  sink.object = [this](const WatchEvent& event) {
    cards.see_lease(event, ports.now_ms(), ports.monotonic_ms());
  };
  sink.complete = [this] {
    cards.complete_leases();
    return true;
  };
  leases = follow(kLeasesPath, std::move(sink));
}

// A node whose clock is off has that in its condition.
void Edge::Impl::read_outdated_nodes() {
  if (phase != Phase::kFollows) return;
  for (const std::string& node : cards.take_outdated_nodes()) {
    const DurationMs off_ms = cards.clocks().off_ms(node);
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
          if (read) cards.see_node(event, ports.now_ms());
        });
    if (!asked) cards.put_outdated_node(node);
  }
}

// What the clock shows by which the times in the news were read: a node's, where its lease shows that, or ours.
TimeMs Edge::Impl::said_at(const News& news) const {
  if (std::holds_alternative<in::PodGone>(news.body) && news.clock.empty()) return ports.now_ms();
  const std::optional<DurationMs> behind_ms = cards.clocks().behind_ms(news.clock);
  return behind_ms ? std::max<TimeMs>(ports.now_ms() - *behind_ms, 1) : 0;
}

}  // namespace subak
