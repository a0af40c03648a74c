#include "server/api/convert/compute_domains.h"

#include "core/text.h"

namespace subak::api {

void put(const ComputeDomainRow& row, v1::ComputeDomain* out) {
  out->set_name(row.name);
  out->set_job_id(row.job);
  out->set_attempt(static_cast<std::int32_t>(row.attempt));
  out->set_state(std::string(enum_name(row.state)));
  out->set_nodes(static_cast<std::int32_t>(row.nodes));
  out->set_ready_nodes(static_cast<std::int32_t>(row.ready));
  for (const std::string& node : row.not_ready) out->add_not_ready(node);
}

void put_compute_domain(const ComputeDomainRows& rows, v1::Job* out) {
  if (!rows) return;
  for (const ComputeDomainRow& row : *rows) {
    if (row.job == out->id()) return put(row, out->mutable_compute_domain_state());
  }
}

std::map<NodeId, std::vector<const ComputeDomainRow*>> by_node(const ComputeDomainRows& rows,
                                                               const Engine& engine) {
  std::map<NodeId, std::vector<const ComputeDomainRow*>> out;
  if (!rows) return out;
  for (const ComputeDomainRow& row : *rows) {
    const auto id = text::parse_job_id(row.job);
    const auto job = id ? engine.job(*id, false) : std::nullopt;
    if (!job) continue;
    for (const NodeId node : job->nodes) out[node].push_back(&row);
  }
  return out;
}

}  // namespace subak::api
