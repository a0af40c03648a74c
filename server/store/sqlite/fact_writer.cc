#include "server/store/sqlite/fact_writer.h"

#include <utility>

#include "server/codec/codec.h"
#include "server/store/file/row_sum.h"

namespace subak {

bool FactWriter::prepare(Connection& db, std::uint32_t seed) {
  return insert_.prepare(db, "INSERT INTO facts VALUES (?, ?, ?, ?, ?)") &&
         ledger_.prepare(db, seed) && audit_.prepare(db, seed) && head_.prepare(db, seed);
}

bool FactWriter::insert(const Fact& fact, std::uint32_t known_version, Head& head,
                        std::uint32_t& version) {
  body_.clear();
  const auto* finalized = std::get_if<fact::Finalized>(&fact.body);
  const std::uint32_t after = finalized != nullptr ? finalized->version : version;
  const auto needs = codec::encode(fact.body, body_);
  if (!needs || *needs > after || after > known_version) {
    refused_ = codec::refusal(fact.body, version);
    refused_->field = "store.fact " + std::to_string(fact.seq) + " " + refused_->field;
    return false;
  }
  version = after;
  const std::uint64_t kind = codec::kind_of(fact.body);
  head.facts = fact.seq;
  head.facts_sum = fact_sum(head.facts_sum, fact.seq, fact.time_ms, kind, body_);
  insert_.bind(1, fact.seq);
  insert_.bind(2, fact.time_ms);
  insert_.bind(3, kind);
  insert_.bind_blob(4, body_);
  insert_.bind(5, sum_column(head.facts_sum));
  if (!insert_.run()) return false;
  if (const auto* charged = std::get_if<fact::Charged>(&fact.body)) {
    return ledger_.insert(++head.ledger, {fact.seq, fact.time_ms, charged->row});
  }
  auto row = audit_row(fact.body);
  return !row || audit_.insert(++head.audit, fact, std::move(*row));
}

}  // namespace subak
