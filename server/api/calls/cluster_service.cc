// Reads of clusters and nodes, and the three streams.
#include "server/api/calls/cluster_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "placement/fleet/views.h"
#include "server/api/calls/known_as.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"
#include "server/api/convert/fleet_map.h"
#include "server/api/convert/plan_read.h"
#include "server/api/streams/effects.h"
#include "server/api/streams/observe.h"

namespace subak::api {
namespace {

Error no_cluster(const std::string& name) {
  if (name.empty()) {
    return {ErrorCode::kInvalid, "cluster", "", "want a cluster name: there is not exactly one"};
  }
  return {ErrorCode::kNotFound, "cluster", name, "there is no such cluster"};
}

std::string node_name(const Engine& engine, NodeId id) {
  const NodeSpec* node = engine.fleet().node(id);
  return node == nullptr ? std::to_string(id.value) : node->name;
}

// A row of ListDomains.
struct DomainWithComputeDomains {
  DomainRow domain;
  std::vector<v1::ComputeDomain> compute_domains;
};

std::vector<DomainWithComputeDomains> domains_of(const Engine& engine, ClusterId id,
                                                 const ComputeDomainRows& rows) {
  const auto on_node = by_node(rows, engine);
  std::vector<DomainWithComputeDomains> out;
  for (DomainRow& domain : domain_rows(engine.fleet(), id)) {
    std::map<std::string, const ComputeDomainRow*> inside;
    for (const NodeId node : domain.nodes) {
      const auto found = on_node.find(node);
      if (found == on_node.end()) continue;
      for (const ComputeDomainRow* const row : found->second) inside[row->name] = row;
    }
    DomainWithComputeDomains& row = out.emplace_back();
    row.domain = std::move(domain);
    for (const auto& [name, one] : inside) put(*one, &row.compute_domains.emplace_back());
  }
  return out;
}

void put_domain(const Engine& engine, const DomainRow& row, v1::Domain* out) {
  out->set_kind(row.kind);
  out->set_name(row.name);
  for (NodeId id : row.nodes) out->add_nodes(node_name(engine, id));
  out->set_installed_milligpu(row.installed);
  out->set_free_milligpu(row.free);
}

void put_pool(const Growth& growth, std::size_t index, const NodePool& pool, v1::NodePool* out) {
  const Growth::Pool& figures = growth.pools[index];
  out->set_name(figures.name);
  out->mutable_label()->set_key(pool.label.key);
  out->mutable_label()->set_value(pool.label.value);
  out->set_min(figures.least);
  out->set_max(figures.most);
  out->set_present(figures.present);
  out->set_starting(figures.starting);
  out->set_wanted(figures.wanted);
  out->set_product(pool.node.product);
  out->set_gpus(pool.node.gpus);
  for (const Growth::Job& job : growth.jobs) {
    const bool waits = std::any_of(job.parts.begin(), job.parts.end(),
                                   [&](const Growth::Part& part) { return part.pool == index; });
    if (waits && out->jobs_size() < limits::kMaxPoolJobsShown)
      out->add_jobs(text::job_id_text(job.job));
  }
}

// Writes the pools of the cluster. The figures are those of the newest forecast.
void put_pools(const Engine& engine, const Growth& growth, ClusterId cluster,
               v1::ListNodePoolsResponse* out) {
  const std::vector<NodePool>& declared = engine.policy().queue.node_pools;
  for (std::size_t i = 0; i < growth.pools.size(); ++i) {
    const auto pool = std::find_if(declared.begin(), declared.end(), [&](const NodePool& p) {
      return p.name == growth.pools[i].name;
    });
    if (growth.pools[i].cluster != cluster || pool == declared.end()) continue;
    put_pool(growth, i, *pool, out->add_pools());
  }
}

void put_mig_plan(const Engine& engine, const MigPlan& plan, v1::ListMigSlicesResponse* out) {
  for (const MigProfileTotals& total : plan.profiles) {
    v1::MigProfile* row = out->add_profiles();
    row->set_profile(total.profile);
    row->set_configured(total.configured);
    row->set_used(total.used);
    row->set_free(total.free);
    row->set_waiting(total.waiting);
    row->set_possible(total.possible);
  }
  if (plan.advice.config.empty()) return;
  v1::MigAdvice* advice = out->mutable_advice();
  advice->set_config(plan.advice.config);
  for (const NodeId node : plan.advice.nodes) advice->add_nodes(node_name(engine, node));
  for (const MigSlices& slices : plan.advice.slices) {
    v1::MigSlices* row = advice->add_slices();
    row->set_profile(slices.profile);
    row->set_count(slices.count);
  }
  advice->set_gpus(plan.advice.gpus);
  advice->set_gain_milligpu(plan.advice.gain);
}

// Lists one page of a cluster's rows, with an offset as the token. `put_row` writes each of `rows`.
template <class Request, class Response, class Rows, class PutRow>
Call::Reactor* list_of_cluster(Shared& shared, grpc::CallbackServerContext* context,
                               const Request* in, Response* out, Rows rows, PutRow put_row,
                               Moments moments = Moments::kPresent) {
  Call call(shared, context);
  if (!call.allow(Role::kViewer, moments)) return call.reactor();
  Check check;
  const Page page = read_page(check, in->page_size(), in->page_token());
  check.name("cluster", in->cluster(), false);
  if (!check.ok()) return call.fail(check.error());
  return call.read_expensive(
      [in, out, page, rows, put_row](const Engine& engine) -> std::optional<Error> {
        const ClusterId id = engine.find_cluster(in->cluster());
        if (!id) return no_cluster(in->cluster());
        const auto all = rows(engine, id);
        PageMeter meter(page);
        for (std::uint64_t i = page.after; i < all.size(); ++i) {
          if (meter.add(put_row(engine, all[i]))) continue;
          if (i + 1 < all.size()) out->set_next_page_token(std::to_string(i + 1));
          break;
        }
        return std::nullopt;
      });
}

}  // namespace

ClusterService::ClusterService(Shared& shared) : shared_(shared) {
  for (const std::string& cluster : shared.options.own_edges) {
    observers_.reserve(cluster);
    shared.launchers.reserve(cluster);
  }
}

ClusterService::Reactor* ClusterService::ListClusters(Context* context,
                                                      const v1::ListClustersRequest*,
                                                      v1::ListClustersResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  return call.read([out, call, &shared = shared_](const Engine& engine) -> std::optional<Error> {
    const std::shared_ptr<const View> view = engine.view();
    for (const ClusterView& cluster : *view->clusters) put(cluster, out->add_clusters());
    if (call.is_past()) return std::nullopt;
    put_known_as(*shared.runtime.view(), out->mutable_clusters());
    return std::nullopt;
  });
}

ClusterService::Reactor* ClusterService::ListNodes(Context* context, const v1::ListNodesRequest* in,
                                                   v1::ListNodesResponse* out) {
  return list_of_cluster(
      shared_, context, in, out,
      [](const Engine& engine, ClusterId id) { return engine.fleet().nodes(id); },
      [out](const Engine& engine, NodeId id) {
        v1::Node* node = out->add_nodes();
        put_node(engine, id, node);
        return node->ByteSizeLong();
      },
      Moments::kAny);
}

ClusterService::Reactor* ClusterService::GetFleetMap(Context* context,
                                                     const v1::GetFleetMapRequest* in,
                                                     v1::FleetMap* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  Check check;
  check.name("cluster", in->cluster(), false);
  if (!check.ok()) return call.fail(check.error());
  return call.read_expensive(
      [in, out](const Engine& engine) { return put_fleet_map(engine, *in, out); });
}

ClusterService::Reactor* ClusterService::ListDomains(Context* context,
                                                     const v1::ListDomainsRequest* in,
                                                     v1::ListDomainsResponse* out) {
  return list_of_cluster(
      shared_, context, in, out,
      [in, &shared = shared_](const Engine& engine, ClusterId id) {
        return domains_of(engine, id, shared.compute_domains(in->cluster()));
      },
      [out](const Engine& engine, const DomainWithComputeDomains& row) {
        v1::Domain* domain = out->add_domains();
        put_domain(engine, row.domain, domain);
        for (const v1::ComputeDomain& one : row.compute_domains)
          *domain->add_compute_domains() = one;
        return domain->ByteSizeLong();
      });
}

ClusterService::Reactor* ClusterService::ListMigSlices(Context* context,
                                                       const v1::ListMigSlicesRequest* in,
                                                       v1::ListMigSlicesResponse* out) {
  return list_of_cluster(
      shared_, context, in, out,
      [in, out](const Engine& engine, ClusterId id) {
        if (in->page_token().empty()) put_mig_plan(engine, engine.mig_plan(id), out);
        return mig_rows(engine.fleet(), id);
      },
      [out](const Engine& engine, const MigRow& row) {
        v1::MigRow* slices = out->add_rows();
        slices->set_node(node_name(engine, row.node));
        slices->set_profile(row.profile);
        slices->set_configured(row.configured);
        slices->set_used(row.used);
        slices->set_free(row.free);
        return slices->ByteSizeLong();
      });
}

ClusterService::Reactor* ClusterService::ListNodePools(Context* context,
                                                       const v1::ListNodePoolsRequest* in,
                                                       v1::ListNodePoolsResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  check.name("cluster", in->cluster(), false);
  if (!check.ok()) return call.fail(check.error());
  return call.read_starts(
      [in, out](const Engine& engine, const ForecastStarts& starts) -> std::optional<Error> {
        const ClusterId id = engine.find_cluster(in->cluster());
        if (!id) return no_cluster(in->cluster());
        if (starts.growth != nullptr) put_pools(engine, *starts.growth, id, out);
        return std::nullopt;
      });
}

ClusterService::Reactor* ClusterService::GetPlan(Context* context, const v1::GetPlanRequest* in,
                                                 v1::Plan* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const PlanAsked asked = read_plan_asked(check, *in);
  if (!check.ok()) return call.fail(check.error());
  return call.read_starts(
      [in, out, asked, &shared = shared_](const Engine& engine, const ForecastStarts& starts) {
        return put_plan(engine, starts, shared.now(engine), *in, asked, out);
      });
}

grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>* ClusterService::Observe(
    Context* context) {
  const Admission admission = admit_stream(shared_, *context, Role::kAdmin);
  auto stream = std::make_shared<ObserveStream>(shared_.streams, observers_, shared_.runtime,
                                                admission.caller ? admission.caller->actor : "");
  const std::optional<Error> not_ready = shared_.not_ready();
  stream->begin(admission, !shared_.runtime.stats().leads ? not_leader(shared_.store.lead())
                           : not_ready                    ? to_status(*not_ready)
                                                          : grpc::Status::OK);
  return stream.get();
}

grpc::ServerWriteReactor<v1::EffectsResponse>* ClusterService::Effects(
    Context* context, const v1::EffectsRequest* in) {
  const Admission admission = admit_stream(shared_, *context, Role::kAdmin);
  const ClusterView* cluster = nullptr;
  const std::shared_ptr<const View> view = shared_.runtime.view();
  if (admission.caller) cluster = view->cluster(in->cluster());
  auto stream = std::make_shared<EffectsWriter>(shared_.streams, shared_.launchers, shared_.store,
                                                cluster != nullptr ? cluster->name : std::string());
  if (!stream->begin(StreamKind::kEffects, admission)) return stream.get();
  if (!shared_.runtime.stats().leads) {
    stream->close(not_leader(shared_.store.lead()));
  } else if (const auto error = shared_.not_ready()) {
    stream->close(to_status(*error));
  } else if (cluster == nullptr) {
    stream->close(to_status(no_cluster(in->cluster())));
  } else if (shared_.launchers.ours(cluster->name, view->clusters->size() == 1)) {
    stream->close(to_status(follows_itself(cluster->name)));
  } else {
    stream->start(shared_.runtime, cluster->id);
  }
  return stream.get();
}

grpc::ServerWriteReactor<v1::StaticResponse>* ClusterService::Static(Context* context,
                                                                     const v1::StaticRequest*) {
  const Admission admission = admit_stream(shared_, *context, Role::kViewer);
  auto stream = std::make_shared<AdmissionSnapshotStream>(shared_.streams, shared_.statics);
  if (stream->begin(StreamKind::kStatic, admission)) {
    shared_.statics.add(stream);
    if (!shared_.statics.ask()) stream->close(shared_.why_refused("the queue of reads"));
  }
  return stream.get();
}

}  // namespace subak::api
