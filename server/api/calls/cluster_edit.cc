// UpdateCluster, DeleteCluster, ImportNodes, DrainNode, UndrainNode.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/names.h"
#include "server/api/calls/cluster_service.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

// Reads the namespaces whose mode the request changes.
void get_modes(Check& check, const v1::UpdateClusterRequest& in, in::SetCluster& body) {
  check.number("namespaces", in.namespaces_size(), 0,
               static_cast<std::int64_t>(limits::kMaxNamespaceModes));
  for (int i = 0; i < in.namespaces_size() && check.ok(); ++i) {
    const auto scope = check.in("namespaces", i);
    const std::string ns = check.name("namespace", in.namespaces(i).namespace_(), true);
    const int mode = check.enum_value("mode", in.namespaces(i).mode(), v1::MODE_ENFORCE);
    // The last one of a name counts.
    std::erase_if(body.namespaces, [&](const NamespaceMode& m) { return m.ns == ns; });
    std::erase(body.as_cluster, ns);
    if (mode > 0) {
      body.namespaces.push_back({ns, static_cast<Mode>(mode - 1)});
    } else {
      body.as_cluster.push_back(ns);
    }
  }
}

void put_modes(const std::string& name, const ClusterModes& modes, v1::Cluster* out) {
  ClusterView shown;
  shown.name = name;
  shown.mode = modes.mode;
  shown.namespaces = modes.namespaces;
  put(shown, out);
}

Call::Reactor* drain(const Call& call, in::DrainNode body, const RequestFingerprint& fingerprint,
                     v1::DrainNodeResponse* out) {
  return call.post(std::move(body), fingerprint, [out](const Reply& reply) {
    out->set_repeated_request(reply.repeated);
    for (const std::string& warning : reply.warnings) out->add_warnings(warning);
  });
}

template <class Request>
in::DrainNode get_drain(Check& check, const Request& in, bool drained) {
  in::DrainNode body;
  body.cluster = check.name("cluster", in.cluster(), false);
  body.node = check.known_name("node", in.node(), true);
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

bool enforces(const ClusterModes& modes) {
  return modes.mode == Mode::kEnforce ||
         std::any_of(modes.namespaces.begin(), modes.namespaces.end(),
                     [](const NamespaceMode& m) { return m.mode == Mode::kEnforce; });
}

std::string no_edge(const std::string& cluster) {
  return "no edge reports cluster \"" + cluster +
         "\": pods that mode enforce gates there wait until an edge reports it "
         "(ClusterService.Observe)";
}

}  // namespace

// Returns the cluster that the first named cluster replaces; empty: none. A service without
// configured clusters starts with a placeholder cluster. The placeholder is replaced only while it
// is unchanged and no stream follows it.
std::string ClusterService::placeholder() const {
  const std::shared_ptr<const View> view = shared_.runtime.view();
  const ClusterView* first = view->cluster(names::kFirstCluster);
  if (first == nullptr || view->clusters->size() != 1) return "";
  const bool as_made = !shared_.options.names_clusters &&
                       first->mode == shared_.options.default_mode && first->namespaces.empty();
  const bool used = observers_.any(first->name, true) || shared_.launchers.any(first->name, true);
  return as_made && !used ? first->name : "";
}

ClusterService::Reactor* ClusterService::UpdateCluster(Context* context,
                                                       const v1::UpdateClusterRequest* in,
                                                       v1::UpdateClusterResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::SetCluster body;
  body.name = check.name("name", in->name(), true);
  body.reason = get_reason(check, in->reason(), true);
  body.validate_only = in->validate_only();
  check.name("request_id", in->request_id(), false);
  const int mode = check.enum_value("mode", in->mode(), v1::MODE_ENFORCE);
  const std::shared_ptr<const View> view = shared_.runtime.view();
  const ClusterView* old = body.name.empty() ? nullptr : view->cluster(body.name);
  body.must_exist = !in->allow_missing();
  if (old == nullptr) body.replaces = placeholder();
  body.merge = true;
  body.same_mode = mode == 0;
  body.mode = mode > 0 ? static_cast<Mode>(mode - 1) : shared_.options.default_mode;
  get_modes(check, *in, body);
  if (!check.ok()) return call.fail(check.error());
  const bool unseen = !observers_.any(body.name, view->clusters->size() == 1);
  return call.post(body, fingerprint_of(*in),
                   [this, out, name = body.name, unseen](const Reply& reply) {
                     out->set_repeated_request(reply.repeated);
                     for (const std::string& warning : reply.warnings) out->add_warnings(warning);
                     ClusterModes modes;
                     if (reply.modes) {
                       modes = *reply.modes;
                     } else if (const ClusterView* now = shared_.runtime.view()->cluster(name)) {
                       modes = {now->mode, now->namespaces};
                     }
                     if (unseen && enforces(modes)) out->add_warnings(no_edge(name));
                     put_modes(name, modes, out->mutable_cluster());
                   });
}

ClusterService::Reactor* ClusterService::DeleteCluster(Context* context,
                                                       const v1::DeleteClusterRequest* in,
                                                       v1::DeleteClusterResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::DeleteCluster body;
  body.name = check.name("name", in->name(), true);
  body.reason = get_reason(check, in->reason(), true);
  body.validate_only = in->validate_only();
  check.name("request_id", in->request_id(), false);
  if (!check.ok()) return call.fail(check.error());
  const bool alone = shared_.runtime.view()->clusters->size() == 1;
  if (observers_.any(body.name, alone) || shared_.launchers.any(body.name, alone)) {
    return call.fail({ErrorCode::kPrecondition, "name", body.name,
                      "want a cluster that no edge follows: stop the one that is connected first"});
  }
  return call.post(std::move(body), fingerprint_of(*in), [out](const Reply& reply) {
    out->set_repeated_request(reply.repeated);
    for (const std::string& warning : reply.warnings) out->add_warnings(warning);
  });
}

// The first import of a new service may find no cluster. It then creates the one that it names.
ClusterService::Reactor* ClusterService::ImportNodes(Context* context,
                                                     const v1::ImportNodesRequest* in,
                                                     v1::ImportNodesResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::ImportNodes body = get_import(check, *in);
  if (!check.ok()) return call.fail(check.error());
  if (const auto error = shared_.not_ready()) return call.fail(*error);
  const std::shared_ptr<const View> view = shared_.runtime.view();
  if (body.cluster.empty() && view->clusters->empty()) body.cluster = names::kFirstCluster;
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
    return call.post_then(std::move(body), fingerprint_of(*in), answer);
  }
  std::vector<Input> inputs(body.validate_only ? 1 : 2);
  in::SetCluster make{
      body.cluster, shared_.options.default_mode, {}, body.reason, body.validate_only};
  make.replaces = placeholder();
  inputs[0] = {0, "", call.caller().actor, std::move(make)};
  if (!body.validate_only) {
    const RequestFingerprint all = fingerprint_of(*in);
    inputs[1] = {0, all.request_id, call.caller().actor, std::move(body), all.content};
  }
  const bool posted = shared_.runtime.post_many(
      std::move(inputs), [call, answer](const std::vector<Reply>& replies) {
        call.rests_on_all();
        answer(replies.front().error ? replies.front() : replies.back());
      });
  return posted ? call.reactor() : call.finish(shared_.why_refused("the mailbox"));
}

ClusterService::Reactor* ClusterService::DrainNode(Context* context, const v1::DrainNodeRequest* in,
                                                   v1::DrainNodeResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::DrainNode body = get_drain(check, *in, true);
  if (in->has_from()) body.from_ms = check.time("from", in->from());
  if (in->has_until()) body.until_ms = check.time("until", in->until());
  if (!check.ok()) return call.fail(check.error());
  return drain(call, std::move(body), fingerprint_of(*in), out);
}

ClusterService::Reactor* ClusterService::UndrainNode(Context* context,
                                                     const v1::UndrainNodeRequest* in,
                                                     v1::DrainNodeResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::DrainNode body = get_drain(check, *in, false);
  if (!check.ok()) return call.fail(check.error());
  return drain(call, std::move(body), fingerprint_of(*in), out);
}

}  // namespace subak::api
