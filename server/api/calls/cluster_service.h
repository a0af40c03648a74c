#pragma once

#include "server/api/calls/shared.h"
#include "server/api/streams/observe.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak::api {

// The calls and streams of ClusterService (proto/subak/v1): clusters, nodes and plans.
class ClusterService final : public v1::ClusterService::CallbackService {
 public:
  explicit ClusterService(Shared& shared);
  std::map<std::string, std::size_t> observers() const { return observers_.read(); }
  std::uint64_t stale_events() const { return observers_.stale(); }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* ListClusters(Context* context, const v1::ListClustersRequest* in,
                        v1::ListClustersResponse* out) override;
  Reactor* UpdateCluster(Context* context, const v1::UpdateClusterRequest* in,
                         v1::UpdateClusterResponse* out) override;
  Reactor* DeleteCluster(Context* context, const v1::DeleteClusterRequest* in,
                         v1::DeleteClusterResponse* out) override;
  Reactor* ImportNodes(Context* context, const v1::ImportNodesRequest* in,
                       v1::ImportNodesResponse* out) override;
  Reactor* ListNodes(Context* context, const v1::ListNodesRequest* in,
                     v1::ListNodesResponse* out) override;
  Reactor* ListDomains(Context* context, const v1::ListDomainsRequest* in,
                       v1::ListDomainsResponse* out) override;
  Reactor* ListMigSlices(Context* context, const v1::ListMigSlicesRequest* in,
                         v1::ListMigSlicesResponse* out) override;
  Reactor* GetPlan(Context* context, const v1::GetPlanRequest* in, v1::Plan* out) override;
  Reactor* DrainNode(Context* context, const v1::DrainNodeRequest* in,
                     v1::DrainNodeResponse* out) override;
  Reactor* UndrainNode(Context* context, const v1::UndrainNodeRequest* in,
                       v1::DrainNodeResponse* out) override;
  grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>* Observe(
      Context* context) override;
  grpc::ServerWriteReactor<v1::EffectsResponse>* Effects(Context* context,
                                                         const v1::EffectsRequest* in) override;
  grpc::ServerWriteReactor<v1::StaticResponse>* Static(Context* context,
                                                       const v1::StaticRequest* in) override;

  std::string placeholder() const;

  Shared& shared_;
  Observers observers_;
};

}  // namespace subak::api
