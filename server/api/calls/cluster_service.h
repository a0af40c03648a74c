// The gRPC handlers for clusters, nodes and plans, and for the streams of edges. An edge is a
// program that reports one cluster and carries out Subak's decisions there. gRPC calls the methods
// on its own threads, and may run several at the same time. Each method returns at once; the call
// is finished later. `in` and `out` belong to gRPC and outlive the call.
//
// Reads need the role viewer. Other calls need the role admin, and only the leader accepts changes.
// An empty cluster name stands for the only cluster; if there is not exactly one cluster, the call
// gets INVALID_ARGUMENT. The page token for nodes, domains and slices is an offset. So a row can
// appear twice or be missing if rows are added or removed between two pages.
#pragma once

#include "server/api/calls/shared.h"
#include "server/api/streams/observe.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak::api {

// The calls and streams of ClusterService (proto/subak/v1): clusters, nodes and plans.
class ClusterService final : public v1::ClusterService::CallbackService {
 public:
  // Reserves the clusters that edges of this service follow (ApiOptions::own_edges), so that
  // streams for these clusters are refused. `shared` must outlive the service.
  explicit ClusterService(Shared& shared);
  // Returns how many Observe streams follow each cluster now, by the name of the cluster that each
  // stream gave. Edges of this service count too. Threads: any.
  std::map<std::string, std::size_t> observers() const { return observers_.read(); }
  // Returns how many events were refused since the start because they belong to an older session.
  // An edge begins a session each time that it reports a cluster completely. Threads: any.
  std::uint64_t stale_events() const { return observers_.stale(); }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Returns all clusters in one answer; there are at most limits::kMaxClusters.
  Reactor* ListClusters(Context* context, const v1::ListClustersRequest* in,
                        v1::ListClustersResponse* out) override;
  // Sets the mode of the cluster, and the modes of single namespaces. MODE_UNSPECIFIED leaves the
  // cluster's mode as it is, but it removes a namespace's own mode. The call computes the complete
  // new value from the View. So if two calls run at the same time, the later one overwrites what
  // the earlier one has set. The answer has a warning if the mode is enforce but no edge observes
  // the cluster, since pods would then get gates that are never opened.
  Reactor* UpdateCluster(Context* context, const v1::UpdateClusterRequest* in,
                         v1::UpdateClusterResponse* out) override;
  // Removes a cluster. While an Observe or Effects stream follows the cluster, the call gets
  // FAILED_PRECONDITION.
  Reactor* DeleteCluster(Context* context, const v1::DeleteClusterRequest* in,
                         v1::DeleteClusterResponse* out) override;
  // Replaces the nodes of a cluster, which no edge may observe. It takes at most limits::kMaxNodes
  // nodes. If the named cluster does not exist, a separate input first creates the cluster in the
  // default mode.
  Reactor* ImportNodes(Context* context, const v1::ImportNodesRequest* in,
                       v1::ImportNodesResponse* out) override;
  // ListNodes, ListDomains and ListMigSlices are expensive reads: each page computes all rows of
  // the cluster.
  Reactor* ListNodes(Context* context, const v1::ListNodesRequest* in,
                     v1::ListNodesResponse* out) override;
  // Returns the map of one cluster in one answer, see put_fleet_map(). This is an expensive read.
  Reactor* GetFleetMap(Context* context, const v1::GetFleetMapRequest* in,
                       v1::FleetMap* out) override;
  Reactor* ListDomains(Context* context, const v1::ListDomainsRequest* in,
                       v1::ListDomainsResponse* out) override;
  Reactor* ListMigSlices(Context* context, const v1::ListMigSlicesRequest* in,
                         v1::ListMigSlicesResponse* out) override;
  // Returns the pools with the figures of the newest forecast, in one answer. This is an expensive
  // read.
  Reactor* ListNodePools(Context* context, const v1::ListNodePoolsRequest* in,
                         v1::ListNodePoolsResponse* out) override;
  // Returns the fleet over time, see put_plan(). This is an expensive read. Here, an empty cluster
  // name means all clusters.
  Reactor* GetPlan(Context* context, const v1::GetPlanRequest* in, v1::Plan* out) override;
  // Drains a node from the time `from` to the time `until`, both UTC. Without `from`, the drain
  // begins now. Without `until`, it lasts until UndrainNode ends it. A reason is required.
  Reactor* DrainNode(Context* context, const v1::DrainNodeRequest* in,
                     v1::DrainNodeResponse* out) override;
  Reactor* UndrainNode(Context* context, const v1::UndrainNodeRequest* in,
                       v1::DrainNodeResponse* out) override;
  // The streams Observe, Effects and Static: see ObserveStream, EffectsWriter and
  // AdmissionSnapshotStream. Observe and Effects need the role admin, and only the leader serves
  // them. No edge of this service may follow the cluster. Static needs the role viewer, and any
  // replica serves it.
  grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>* Observe(
      Context* context) override;
  grpc::ServerWriteReactor<v1::EffectsResponse>* Effects(Context* context,
                                                         const v1::EffectsRequest* in) override;
  grpc::ServerWriteReactor<v1::StaticResponse>* Static(Context* context,
                                                       const v1::StaticRequest* in) override;

  // Returns the name of the placeholder cluster; empty: there is none. A service whose
  // configuration names no clusters starts with a placeholder. The first cluster that a caller
  // names replaces the placeholder, if the placeholder is unchanged and unused.
  std::string placeholder() const;

  Shared& shared_;
  Observers observers_;
};

}  // namespace subak::api
