#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/limits.h"
#include "engine/impl.h"

namespace subak {

Mode Cluster::mode_of(std::string_view ns) const {
  for (const NamespaceMode& m : namespaces) {
    if (m.ns == ns) return m.mode;
  }
  return mode;
}

bool Job::all_pods(PodState wanted) const {
  return std::all_of(pods.begin(), pods.end(), [&](const Pod& p) { return p.state == wanted; });
}

std::size_t Job::pods_holding() const {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [](const Pod& p) { return p.holds_slot(); }));
}

Job* Engine::Impl::find_job(JobId id) {
  const auto it = jobs.find(id);
  return it == jobs.end() ? nullptr : &it->second;
}

const Job* Engine::Impl::find_job(JobId id) const {
  const auto it = jobs.find(id);
  return it == jobs.end() ? nullptr : &it->second;
}

std::vector<JobId> Engine::Impl::job_ids() const {
  std::vector<JobId> out;
  out.reserve(jobs.size());
  std::copy_if(ids.ascending().begin(), ids.ascending().end(), std::back_inserter(out),
               [&](JobId id) { return find_job(id) != nullptr; });
  return out;
}

Cluster* Engine::Impl::find_cluster(std::string_view name) {
  return const_cast<Cluster*>(std::as_const(*this).find_cluster(name));
}

const Cluster* Engine::Impl::find_cluster(std::string_view name) const {
  if (name.empty()) return clusters.size() == 1 ? &clusters.begin()->second : nullptr;
  for (const auto& [id, cluster] : clusters) {
    if (cluster.name == name) return &cluster;
  }
  return nullptr;
}

const std::string& Engine::Impl::name_of(ClusterId id) const {
  const auto found = clusters.find(id);
  return found == clusters.end() ? removed_clusters.at(id) : found->second.name;
}

ClusterId Engine::Impl::next_cluster() const {
  ClusterId last;
  if (!clusters.empty()) last = clusters.rbegin()->first;
  if (!removed_clusters.empty()) last = std::max(last, removed_clusters.rbegin()->first);
  return ClusterId(static_cast<std::uint16_t>(last.value + 1));  // 0 after the highest: none
}

NodeId Engine::Impl::find_node(ClusterId cluster, std::string_view name) const {
  const auto it = node_ids.find({cluster, std::string(name)});
  return it == node_ids.end() ? NodeId() : it->second;
}

std::optional<std::pair<JobId, std::uint32_t>> Engine::Impl::find_pod(const PodRef& ref) const {
  if (!ref.uid.empty()) {
    const auto it = uids.find(ref.uid);
    if (it == uids.end()) return std::nullopt;
    return it->second;
  }
  const Job* job = find_job(ref.job);
  if (job == nullptr || ref.rank >= job->pods.size()) return std::nullopt;
  if (ref.attempt != 0 && ref.attempt != job->attempt) return std::nullopt;  // taken back meanwhile
  return std::pair(ref.job, ref.rank);
}

std::vector<std::pair<ProductId, MilliGpu>> Engine::Impl::intern(const ProductAmounts& amounts) {
  std::vector<std::pair<ProductId, MilliGpu>> out;
  for (const ProductAmount& a : amounts) {
    out.emplace_back(fleet.intern_product(a.product), a.milligpu);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<Error> Engine::Impl::check_products(const std::set<std::string_view>& names) const {
  const auto fresh = std::count_if(names.begin(), names.end(), [&](std::string_view name) {
    return !name.empty() && name != kAnyProduct && !fleet.find_product(name);
  });
  const std::size_t all = fleet.products() + static_cast<std::size_t>(fresh);
  if (fresh == 0 || all <= limits::kMaxProducts) return std::nullopt;
  return Error{ErrorCode::kExhausted, "products", std::to_string(all),
               "want at most " + std::to_string(limits::kMaxProducts) + " names of GPU products"};
}

std::string Engine::Impl::product_of(const PodSlot& slot) const {
  return std::string(fleet.product_name(fleet.product_of(slot.node)));
}

MilliGpu Engine::Impl::least_milligpu(const Job& job) const {
  return job.shape ? fleet.least_milligpu(job.shape) : 0;
}

const PodShape& Engine::Impl::pod_shape(const Pod& pod) const {
  const GangRequest& request = fleet.request(pod.shape);
  std::uint32_t rank = pod.shape_rank;
  for (const PodGroup& group : request.groups) {
    if (rank < group.count) return group.shape;
    rank -= group.count;
  }
  assert(false && "rank beyond its gang");
  return request.groups.back().shape;
}

// A gang that is not complete, or was found running, has no request of its own: put one together.
GangRequest Engine::Impl::request_of(const Job& job) const {
  if (job.shape) return fleet.request(job.shape);
  GangRequest request = job.wishes ? *job.wishes : GangRequest();
  request.groups.clear();
  for (const Pod& pod : job.pods) {
    if (!pod.shape) continue;
    const PodShape& shape = pod_shape(pod);
    if (!request.groups.empty() && request.groups.back().shape == shape) {
      ++request.groups.back().count;
    } else {
      request.groups.push_back({1, shape});
    }
  }
  return request;
}

Engine::Engine() : impl_(std::make_unique<Impl>()) {
  AccountSpec root;
  impl_->tree.set(kRootAccount, root, 0, 0, {}, {});
}
Engine::~Engine() = default;

ApplyOutcome Engine::apply(const Input& input) {
  assert(input.time_ms >= impl_->now && "the shell stamps a time that never goes backwards");
  return Turn(*impl_, input).run();
}

void Engine::evolve(const Fact& fact) {
  assert(fact.seq == 0 || fact.seq == impl_->seq + 1);
  impl_->restoring = fact.seq == 0;
  if (fact.seq != 0) impl_->seq = fact.seq;
  impl_->fact_ms = std::max(impl_->fact_ms, fact.time_ms);
  impl_->now = std::max(impl_->now, fact.time_ms);
  std::visit([&](const auto& body) { impl_->on(body); }, fact.body);
  impl_->restoring = false;
}

void Engine::set_seq(std::uint64_t seq) { impl_->seq = seq; }
std::uint64_t Engine::seq() const { return impl_->seq; }
TimeMs Engine::now() const { return impl_->now; }
bool Engine::pass_due() const { return impl_->dirty; }

std::optional<TimeMs> Engine::next_deadline() const {
  std::optional<TimeMs> next;
  if (!impl_->deadlines.empty()) next = impl_->deadlines.begin()->first;
  if (!impl_->node_ids.empty()) {
    const TimeMs midnight = impl_->billed_until + kDayMs;
    if (!next || midnight < *next) next = midnight;
  }
  return next;
}

}  // namespace subak
