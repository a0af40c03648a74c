#include "engine/forecast/alternatives.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "model/bounds/bounds.h"
#include "model/mig.h"

namespace subak {
namespace {

struct Change {
  std::string text;
  GangRequest request;
  DurationMs time_limit_ms = 0;
};

std::string products_text(const GangRequest& request) {
  std::string out;
  for (const PodGroup& group : request.groups) {
    for (const std::string& product : group.shape.products) {
      if (out.find(product) == std::string::npos) out += (out.empty() ? "" : ",") + product;
    }
  }
  return out;
}

// Adds the same topology as a preference, and the next wider topology.
void add_topologies(const fact::JobCreated& job, std::vector<Change>& out) {
  const auto add = [&](Topology topology, bool prefer) {
    Change change{"", job.request, job.time_limit_ms};
    change.request.terms.topology = topology;
    change.request.terms.prefer = prefer;
    change.text =
        topology_text(change.request.terms) + " instead of " + topology_text(job.request.terms);
    out.push_back(std::move(change));
  };
  const Topology topology = job.request.terms.topology;
  if (topology == Topology::kAny) return;
  if (topology == Topology::kNvlinkExclusive) add(Topology::kNvlink, job.request.terms.prefer);
  if (topology == Topology::kNode) add(Topology::kRack, job.request.terms.prefer);
  if (!job.request.terms.prefer) add(topology, true);
}

void add_spare(const fact::JobCreated& job, std::vector<Change>& out) {
  if (job.request.terms.spare == 0) return;
  Change change{"no nodes to spare instead of " + std::to_string(job.request.terms.spare),
                job.request, job.time_limit_ms};
  change.request.terms.spare = 0;
  out.push_back(std::move(change));
}

void add_segments(const fact::JobCreated& job, std::vector<Change>& out) {
  const bool whole = job.request.terms.segment == 0;
  if (job.request.terms.topology == Topology::kAny || job.request.terms.balanced) return;
  const std::uint32_t segment = whole ? job.request.pods() : job.request.terms.segment;
  if (segment < 2 || segment % 2 != 0) return;
  must(segment <= job.request.pods(), "a segment is part of its gang");
  Change change{"", job.request, job.time_limit_ms};
  change.request.terms.segment = segment / 2;
  change.text = "segments of " + std::to_string(segment / 2) + " instead of " +
                (whole ? "one of " : "") + std::to_string(segment);
  out.push_back(std::move(change));
}

void add_any_product(const fact::JobCreated& job, std::vector<Change>& out) {
  const std::string products = products_text(job.request);
  if (products.empty()) return;
  Change change{"any GPU product instead of " + products, job.request, job.time_limit_ms};
  for (PodGroup& group : change.request.groups) group.shape.products.clear();
  out.push_back(std::move(change));
}

// The MIG slices of the nodes of the job's cluster: names, and their size in thousandths of a GPU.
std::map<std::string, MilliGpu> slices_for(const ForecastBasis& basis,
                                           const fact::JobCreated& job) {
  std::map<std::string, MilliGpu> out;
  for (const Fact& fact : basis.facts) {
    const auto* const node = std::get_if<fact::NodeSet>(&fact.body);
    if (node == nullptr || node->cluster != job.id.cluster()) continue;
    for (const MigSlices& slices : node->spec.mig) {
      const auto cost = mig_slice_milligpu(node->spec.product, slices.profile);
      must(!cost || *cost > 0, "a slice is a part of a GPU");
      if (cost && slices.count > 0) out.emplace(slices.profile, *cost);
    }
  }
  return out;
}

// Adds the largest slices that the cluster has, in place of one whole GPU for each pod.
void add_slices(const ForecastBasis& basis, const fact::JobCreated& job, std::vector<Change>& out) {
  constexpr std::size_t kOffered = 2;
  const auto& groups = job.request.groups;
  const bool could = job.request.terms.topology == Topology::kAny &&
                     job.request.terms.segment == 0 &&
                     std::all_of(groups.begin(), groups.end(), [](const PodGroup& g) {
                       return g.shape.kind == GpuKind::kWhole && g.shape.gpus == 1;
                     });
  if (!could) return;
  std::vector<std::pair<MilliGpu, std::string>> largest;
  for (const auto& [profile, cost] : slices_for(basis, job)) largest.emplace_back(-cost, profile);
  std::sort(largest.begin(), largest.end());
  if (largest.size() > kOffered) largest.resize(kOffered);
  for (const auto& [cost, profile] : largest) {
    Change change{"MIG " + profile + " instead of a whole GPU", job.request, job.time_limit_ms};
    for (PodGroup& group : change.request.groups) {
      group.shape.kind = GpuKind::kMig;
      group.shape.profile = profile;
    }
    out.push_back(std::move(change));
  }
}

void add_limits(const fact::JobCreated& job, std::vector<Change>& out) {
  constexpr std::array<DurationMs, 3> kOffered{8 * kHourMs, 2 * kHourMs, 30 * kMinuteMs};
  for (const DurationMs limit_ms : kOffered) {
    if (job.time_limit_ms != 0 && 2 * limit_ms > job.time_limit_ms) continue;
    Change change{"time limit " + format_duration(limit_ms), job.request, limit_ms};
    change.text += job.time_limit_ms == 0 ? " instead of none"
                                          : " instead of " + format_duration(job.time_limit_ms);
    out.push_back(std::move(change));
  }
}

// The changes that are within the bounds of a request, at most limits::kMaxAlternatives.
std::vector<Change> changes_of(const ForecastBasis& basis, const fact::JobCreated& job) {
  std::vector<Change> out;
  add_topologies(job, out);
  add_segments(job, out);
  add_spare(job, out);
  add_any_product(job, out);
  add_slices(basis, job, out);
  add_limits(job, out);
  std::erase_if(out,
                [](const Change& c) { return bounds::check(c.request, "request").has_value(); });
  if (out.size() > limits::kMaxAlternatives) out.resize(limits::kMaxAlternatives);
  must(std::none_of(out.begin(), out.end(), [](const Change& c) { return c.text.empty(); }),
       "a change says what it changes");
  return out;
}

// The index of the fact with the job's request. nullopt: the job is not in the basis.
std::optional<std::size_t> find(const ForecastBasis& basis, JobId job) {
  for (std::size_t i = 0; i < basis.facts.size(); ++i) {
    const auto* const kept = std::get_if<fact::JobSnapshot>(&basis.facts[i].body);
    if (kept != nullptr && kept->job.id == job && !kept->more) return i;
  }
  return std::nullopt;
}

// The basis with the job of this fact submitted again, now, with the change. The job is the last of
// its class and has no reservation.
ForecastBasis with(const ForecastBasis& basis, std::size_t at, const Change& change) {
  must(at < basis.facts.size(), "the job is in the basis");
  ForecastBasis out = basis;
  auto& kept = std::get<fact::JobSnapshot>(out.facts[at].body);
  kept.job.request = change.request;
  kept.job.time_limit_ms = change.time_limit_ms;
  kept.submit_ms = basis.time_ms;
  RunTime& run = out.run_times.at(kept.job.id);
  if (change.time_limit_ms != 0 && change.time_limit_ms <= run.ms) run = {change.time_limit_ms};
  std::erase_if(out.facts, [job = kept.job.id](const Fact& fact) {
    const auto* const reserved = std::get_if<fact::Reserved>(&fact.body);
    return reserved != nullptr && reserved->job == job;
  });
  return out;
}

}  // namespace

std::vector<Alternative> alternatives(const ForecastBasis& basis, JobId job) {
  std::vector<Alternative> out;
  const std::optional<std::size_t> at = find(basis, job);
  if (!at) return out;
  const auto& kept = std::get<fact::JobSnapshot>(basis.facts[*at].body);
  if (kept.job.state != JobState::kQueued) return out;
  const auto start = make_forecast(basis, nullptr, job).start(job);
  for (const Change& change : changes_of(basis, kept.job)) {
    const Forecast forecast = make_forecast(with(basis, *at, change), nullptr, job);
    const Forecast::Start* const sooner = forecast.find(job);
    if (sooner == nullptr) continue;
    must(sooner->at_ms >= basis.time_ms, "a forecast start is not in the past");
    const DurationMs wait_ms = start.value_or(basis.time_ms) - basis.time_ms;
    const DurationMs gain_ms = std::max(kMinuteMs, wait_ms / 10);
    if (!start || sooner->at_ms + gain_ms <= *start) {
      out.push_back({change.text, sooner->at_ms, sooner->assumed});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Alternative& a, const Alternative& b) {
    return a.start_ms < b.start_ms;
  });
  return out;
}

}  // namespace subak
