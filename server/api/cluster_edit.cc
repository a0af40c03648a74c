// UpdateCluster, ImportNodes, DrainNode, UndrainNode.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "server/api/cluster_service.h"
#include "server/api/convert.h"

namespace subak::api {
namespace {

constexpr std::int64_t kMaxNamespaceModes = 10'000;

// The exceptions of `old` with those asked for put over them.
std::vector<NamespaceMode> merge_modes(Check& check, const v1::UpdateClusterRequest& in,
                                       std::vector<NamespaceMode> modes) {
  check.number("namespaces", in.namespaces_size(), 0, kMaxNamespaceModes);
  for (int i = 0; i < in.namespaces_size() && check.ok(); ++i) {
    const auto scope = check.in("namespaces", i);
    const std::string ns = check.name("namespace", in.namespaces(i).namespace_(), true);
    const int mode = check.enum_value("mode", in.namespaces(i).mode(), v1::MODE_ENFORCE);
    std::erase_if(modes, [&](const NamespaceMode& m) { return m.ns == ns; });
    if (mode > 0) modes.push_back({ns, static_cast<Mode>(mode - 1)});
  }
  std::sort(modes.begin(), modes.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
  return modes;
}

void put_cluster(const in::SetCluster& set, v1::Cluster* out) {
  ClusterView shown;
  shown.name = set.name;
  shown.mode = set.mode;
  shown.namespaces = set.namespaces;
  put(shown, out);
}

Call::Reactor* drain(const Call& call, in::DrainNode body, const std::string& request_id,
                     v1::DrainNodeResponse* out) {
  return call.post(std::move(body), request_id, [out](const Reply& reply) {
    out->set_repeated_request(reply.repeated);
    for (const std::string& warning : reply.warnings) out->add_warnings(warning);
  });
}

template <class Request>
in::DrainNode get_drain(Check& check, const Request& in, bool drained) {
  in::DrainNode body;
  body.cluster = check.name("cluster", in.cluster(), false);
  body.node = check.name("node", in.node(), true);
  body.drained = drained;
  body.reason = get_reason(check, in.reason(), true);
  check.name("request_id", in.request_id(), false);
  return body;
}

in::ImportNodes get_import(Check& check, const v1::ImportNodesRequest& in) {
  in::ImportNodes body;
  body.cluster = check.name("cluster", in.cluster(), false);
  body.reason = get_reason(check, in.reason(), true);
  body.validate_only = in.validate_only();
  check.name("request_id", in.request_id(), false);
  check.number("nodes", in.nodes_size(), 0, static_cast<std::int64_t>(limits::kMaxNodes));
  for (int i = 0; i < in.nodes_size() && check.ok(); ++i) {
    const auto scope = check.in("nodes", i);
    body.nodes.push_back(get(check, in.nodes(i)));
  }
  return body;
}

constexpr char kFirstClusterName[] = "default";

}  // namespace

ClusterService::Reactor* ClusterService::UpdateCluster(Context* context,
                                                       const v1::UpdateClusterRequest* in,
                                                       v1::UpdateClusterResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kAdmin)) return call.reactor();
  Check check;
  in::SetCluster body;
  body.name = check.name("name", in->name(), true);
  body.reason = get_reason(check, in->reason(), true);
  body.validate_only = in->validate_only();
  check.name("request_id", in->request_id(), false);
  const int mode = check.enum_value("mode", in->mode(), v1::MODE_ENFORCE);
  const std::shared_ptr<const View> view = shared_.runtime.view();
  const ClusterView* old = body.name.empty() ? nullptr : view->cluster(body.name);
  body.mode = mode > 0 ? static_cast<Mode>(mode - 1)
                       : (old != nullptr ? old->mode : shared_.options.default_mode);
  body.namespaces =
      merge_modes(check, *in, old != nullptr ? old->namespaces : std::vector<NamespaceMode>());
  if (!check.ok()) return call.fail(check.error());
  return call.post(body, in->request_id(), [out, body](const Reply& reply) {
    out->set_repeated_request(reply.repeated);
    for (const std::string& warning : reply.warnings) out->add_warnings(warning);
    put_cluster(body, out->mutable_cluster());
  });
}

// The first import of a new service may find no cluster at all: it makes the one that it names.
ClusterService::Reactor* ClusterService::ImportNodes(Context* context,
                                                     const v1::ImportNodesRequest* in,
                                                     v1::ImportNodesResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kAdmin)) return call.reactor();
  Check check;
  in::ImportNodes body = get_import(check, *in);
  if (!check.ok()) return call.fail(check.error());
  const std::shared_ptr<const View> view = shared_.runtime.view();
  if (body.cluster.empty() && view->clusters->empty()) body.cluster = kFirstClusterName;
  const auto nodes = static_cast<std::int64_t>(body.nodes.size());
  const auto answer = [call, out, nodes](const Reply& reply) {
    if (reply.error) {
      call.fail(*reply.error);
      return;
    }
    out->set_nodes(nodes);
    out->set_repeated_request(reply.repeated);
    for (const std::string& warning : reply.warnings) out->add_warnings(warning);
    call.done();
  };
  if (view->cluster(body.cluster) != nullptr || body.cluster.empty()) {
    return call.post_then(std::move(body), in->request_id(), answer);
  }
  std::vector<Input> inputs(body.validate_only ? 1 : 2);
  in::SetCluster make{
      body.cluster, shared_.options.default_mode, {}, body.reason, body.validate_only};
  inputs[0] = {0, "", call.caller().actor, std::move(make)};
  if (!body.validate_only) inputs[1] = {0, in->request_id(), call.caller().actor, std::move(body)};
  const bool posted =
      shared_.runtime.post_many(std::move(inputs), [answer](const std::vector<Reply>& replies) {
        answer(replies.front().error ? replies.front() : replies.back());
      });
  return posted ? call.reactor() : call.finish(shared_.why_refused("the mailbox"));
}

ClusterService::Reactor* ClusterService::DrainNode(Context* context, const v1::DrainNodeRequest* in,
                                                   v1::DrainNodeResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kAdmin)) return call.reactor();
  Check check;
  in::DrainNode body = get_drain(check, *in, true);
  if (!check.ok()) return call.fail(check.error());
  return drain(call, std::move(body), in->request_id(), out);
}

ClusterService::Reactor* ClusterService::UndrainNode(Context* context,
                                                     const v1::UndrainNodeRequest* in,
                                                     v1::DrainNodeResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kAdmin)) return call.reactor();
  Check check;
  in::DrainNode body = get_drain(check, *in, false);
  if (!check.ok()) return call.fail(check.error());
  return drain(call, std::move(body), in->request_id(), out);
}

}  // namespace subak::api
