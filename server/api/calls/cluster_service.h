// gRPC calls the methods on its own threads, several at once. Each returns at once and finishes its
// call later. `in` and `out` belong to gRPC and outlive the call.
// Reads need the role viewer, all else admin. An empty cluster name means the only cluster; with
// none or several it is INVALID_ARGUMENT. Changes need the leader. Pages of nodes, domains and
// slices have an offset as their token. So rows added between two pages can repeat or hide a row.
#pragma once

#include "server/api/calls/shared.h"
#include "server/api/streams/observe.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak::api {

// The calls and streams of ClusterService (proto/subak/v1): clusters, nodes and plans.
class ClusterService final : public v1::ClusterService::CallbackService {
 public:
  // Reserves the clusters that edges of this service follow (ApiOptions::own_edges), so that
  // streams for them are refused. `shared` outlives the service.
  explicit ClusterService(Shared& shared);
  // Returns how many Observe streams follow each cluster now, an edge of this service included, by
  // the name that each stream gave. Threads: any.
  std::map<std::string, std::size_t> observers() const { return observers_.read(); }
  // Returns how many events were refused since the start as of an older session. Threads: any.
  std::uint64_t stale_events() const { return observers_.stale(); }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Returns all clusters in one answer; there are at most limits::kMaxClusters.
  Reactor* ListClusters(Context* context, const v1::ListClustersRequest* in,
                        v1::ListClustersResponse* out) override;
  // Sets the mode, and adds to or removes from the namespaces with a mode of their own.
  // MODE_UNSPECIFIED leaves the cluster's mode, and removes a namespace's. The new value is
  // computed from the View at the time of the call. So of two calls at once the later one wins as a
  // whole. It warns if enforce would gate pods of a cluster that nothing observes.
  Reactor* UpdateCluster(Context* context, const v1::UpdateClusterRequest* in,
                         v1::UpdateClusterResponse* out) override;
  // FAILED_PRECONDITION while an Observe or Effects stream follows the cluster.
  Reactor* DeleteCluster(Context* context, const v1::DeleteClusterRequest* in,
                         v1::DeleteClusterResponse* out) override;
  // Replaces the nodes of a cluster that no edge observes. A named cluster that is missing is
  // created first, in the default mode and as an input of its own. At most limits::kMaxNodes nodes.
  Reactor* ImportNodes(Context* context, const v1::ImportNodesRequest* in,
                       v1::ImportNodesResponse* out) override;
  // Expensive reads: all rows of the cluster are computed for each page.
  Reactor* ListNodes(Context* context, const v1::ListNodesRequest* in,
                     v1::ListNodesResponse* out) override;
  Reactor* ListDomains(Context* context, const v1::ListDomainsRequest* in,
                       v1::ListDomainsResponse* out) override;
  Reactor* ListMigSlices(Context* context, const v1::ListMigSlicesRequest* in,
                         v1::ListMigSlicesResponse* out) override;
  // An expensive read: the fleet by time, see put_plan(). An empty cluster means all.
  Reactor* GetPlan(Context* context, const v1::GetPlanRequest* in, v1::Plan* out) override;
  // Drains from `from` (default: now) to `until` (default: undrained by hand), both UTC.
  // UndrainNode ends a drain. A reason is required.
  Reactor* DrainNode(Context* context, const v1::DrainNodeRequest* in,
                     v1::DrainNodeResponse* out) override;
  Reactor* UndrainNode(Context* context, const v1::UndrainNodeRequest* in,
                       v1::DrainNodeResponse* out) override;
  // Streams; see ObserveStream, EffectsWriter and AdmissionSnapshotStream. Observe and Effects need
  // the role admin and the leader, and a cluster that no edge of this service follows. Static needs
  // the role viewer, and any replica serves it.
  grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>* Observe(
      Context* context) override;
  grpc::ServerWriteReactor<v1::EffectsResponse>* Effects(Context* context,
                                                         const v1::EffectsRequest* in) override;
  grpc::ServerWriteReactor<v1::StaticResponse>* Static(Context* context,
                                                       const v1::StaticRequest* in) override;

  // Returns the name of the cluster that the first named cluster replaces; empty: none. A service
  // without configured clusters starts with one. It is replaced while it is unchanged and unused.
  std::string placeholder() const;

  Shared& shared_;
  Observers observers_;
};

}  // namespace subak::api
