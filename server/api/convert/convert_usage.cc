#include "server/api/convert/convert.h"

namespace subak::api {

v1::UsageState to_proto(UsageState state) {
  return static_cast<v1::UsageState>(static_cast<int>(state) + 1);
}

void put(const LedgerEntry& entry, const Engine& engine, v1::LedgerRow* out) {
  const LedgerRow& row = entry.row;
  out->set_sequence(entry.seq);
  out->set_job_id(text_of(row.allocation.job));
  out->set_rank(static_cast<std::int32_t>(row.allocation.rank));
  out->set_attempt(static_cast<std::int32_t>(row.allocation.attempt));
  put(row.from_ms, out->mutable_from());
  put(row.to_ms, out->mutable_to());
  out->set_holder(path_of(engine.accounts(), row.holder));
  out->set_payer(path_of(engine.accounts(), row.payer));
  out->set_state(to_proto(row.state));
  out->set_node_id(row.node.value);
  if (const NodeSpec* node = engine.fleet().node(row.node)) out->set_node(node->name);
  out->set_product(row.product);
  out->set_milligpu(row.milligpu);
  put(row.amount(), out->mutable_amount());
  out->set_corrects(row.corrects);
  out->set_clock(static_cast<v1::RowClock>(static_cast<int>(row.clock) + 1));
  out->set_cluster(row.cluster);
  out->set_namespace_(row.ns);
  out->set_profile(row.profile);
  if (row.booked_ms != 0) put(row.booked_ms, out->mutable_booked());
}

void put(const AuditEntry& entry, v1::AuditEntry* out) {
  out->set_sequence(entry.seq);
  put(entry.time_ms, out->mutable_time());
  out->set_actor(entry.actor);
  out->set_what(entry.what);
  out->set_subject(entry.subject);
  out->set_reason(entry.reason);
  out->set_request_id(entry.request_id);
  out->set_refused(entry.error);
  out->set_before(entry.before);
  out->set_after(entry.after);
}

}  // namespace subak::api
