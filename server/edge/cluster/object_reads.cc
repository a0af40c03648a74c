#include "server/edge/cluster/object_reads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/log/log.h"

namespace subak {

void ObjectReads::read_leases() {
  for (const auto& [node, _] : context_.cache.nodes().silent()) {
    if (reading_leases_.contains(node)) continue;
    KubeCall call;
    call.path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + node;
    const bool asked = context_.api->call(
        std::move(call), [this, name = node](const CallAnswer& answer, std::string_view body) {
          reading_leases_.erase(name);
          simdjson::dom::parser parser;
          json::Value lease;
          const bool read = answer.outcome == Outcome::kDone &&
                            parser.parse(body.data(), body.size()).get(lease) == simdjson::SUCCESS;
          const auto spec = read ? json::member(lease, "spec") : std::nullopt;
          context_.cache.nodes().see_lease(
              name, spec ? json::text(*spec, "renewTime") : std::string_view());
        });
    if (!asked) return;
    reading_leases_.insert(node);
  }
}

void ObjectReads::read_outdated_pods() {
  const bool failing = pods_backoff_.tries() > 0;
  const std::int64_t now = context_.ports.monotonic_ms();
  if (failing && now < pods_due_ms_) return;
  const auto outdated = context_.cache.marks().take_outdated(failing ? 1 : SIZE_MAX);
  if (failing && !outdated.empty()) pods_due_ms_ = now + pods_backoff_.next();
  for (const std::string& uid : outdated) {
    const PodEntry* const pod = context_.cache.find_gpu_pod(uid);
    if (pod == nullptr) continue;
    KubeCall call;
    call.path = pod_path(pod->ns, pod->name);
    const bool asked = context_.api->call(
        std::move(call), [this, uid](const CallAnswer& answer, std::string_view body) {
          if (answer.outcome == Outcome::kNotFound) return pods_backoff_.reset();
          simdjson::dom::parser parser;
          json::Value found;
          const bool read = answer.outcome == Outcome::kDone &&
                            parser.parse(body.data(), body.size()).get(found) == simdjson::SUCCESS;
          if (!read) return put_off_pod(uid, answer.delay_ms);
          pods_backoff_.reset();
          context_.cache.see_answered_pod(found, context_.ports.monotonic_ms());
        });
    if (!asked) put_off_pod(uid, 0);
  }
}

void ObjectReads::put_off_pod(const std::string& uid, DurationMs at_least) {
  context_.cache.marks().put_outdated(uid);
  const std::int64_t now = context_.ports.monotonic_ms();
  if (pods_backoff_.tries() == 0) pods_due_ms_ = now + pods_backoff_.next();
  pods_due_ms_ = std::max(pods_due_ms_, now + at_least);
}

void ObjectReads::outdate_devices() {
  ClusterCache& cache = context_.cache;
  for (const std::string& node : cache.needs().claims().devices().take_changed_nodes()) {
    cache.nodes().put_changed(node);
  }
  for (const std::string& uid : cache.needs().claims().take_outdated())
    cache.marks().put_outdated(uid);
  for (const std::string& uid : cache.needs().volumes().take_outdated())
    cache.marks().put_outdated(uid);
  for (const std::string& uid : cache.needs().near().take_outdated())
    cache.marks().put_outdated(uid);
}

void ObjectReads::read_outdated_nodes() {
  NodeCache& nodes = context_.cache.nodes();
  for (const std::string& node : nodes.take_outdated()) {
    const DurationMs off_ms = nodes.clocks().off_ms(node);
    log::warn(off_ms == 0 ? "the clock of a node is right again" : "the clock of a node is off",
              {{"cluster", context_.options.cluster}, {"node", node}, {"behind_ms", off_ms}});
    if (!read_node(node)) nodes.put_outdated(node);
  }
  for (const std::string& node : nodes.take_changed()) {
    if (!read_node(node)) nodes.put_changed(node);
  }
}

bool ObjectReads::read_node(const std::string& node) {
  KubeCall call;
  call.path = std::string(kNodesPath) + "/" + node;
  return context_.api->call(std::move(call), [this](const CallAnswer& answer,
                                                    std::string_view body) {
    simdjson::dom::parser parser;
    WatchEvent event;
    event.kind = WatchKind::kModified;
    const bool read = answer.outcome == Outcome::kDone &&
                      parser.parse(body.data(), body.size()).get(event.object) == simdjson::SUCCESS;
    if (read) context_.cache.see_node(event, context_.ports.now_ms());
  });
}

}  // namespace subak
