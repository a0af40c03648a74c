#include "server/store/postgres/batch.h"

#include <algorithm>
#include <utility>

#include "server/codec/codec.h"
#include "server/store/file/row_sum.h"
#include "server/store/postgres/leadership.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/ledger_rows.h"

namespace subak::postgres {

const std::string Batch::kSql =
    std::string(kIfLeading) +
    ", f AS (INSERT INTO facts SELECT u.seq, l.epoch, u.time_ms, u.kind, u.body, u.ledger, "
    "u.audit, "
    "u.sum FROM l, unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[], "
    "$7::bigint[], $8::bigint[]) AS u(seq, time_ms, kind, body, ledger, audit, sum) RETURNING 1), "
    "g AS (INSERT INTO ledger SELECT u.* FROM l, unnest($9::bigint[], $10::bigint[], "
    "$11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], "
    "$17::bigint[], $18::bigint[], $19::bigint[], $20::bytea[], $21::bigint[], $22::bigint[], "
    "$23::bigint[], $24::bigint[], $43::bytea[], $44::bytea[], $45::bytea[], $46::bigint[]) AS u "
    "RETURNING 1), "
    "a AS (INSERT INTO audit SELECT u.* FROM l, unnest($25::bigint[], $26::bigint[], $27::bytea[], "
    "$28::bytea[], $29::bytea[], $30::bytea[], $31::bytea[], $32::bytea[], $33::bytea[], "
    "$34::bytea[], "
    "$35::bytea[], $36::bigint[], $37::bigint[]) AS u RETURNING 1), "
    "v AS (UPDATE meta SET value = $38, sum = $39 FROM l WHERE key = 'fact_version' AND value <> "
    "$38) "
    // Divides by zero, and so rolls back, if fewer rows were stored than given.
    "SELECT epoch, 1 / CASE WHEN (SELECT count(*) FROM f) = $40 AND (SELECT count(*) FROM g) = $41 "
    "AND (SELECT count(*) FROM a) = $42 THEN 1 ELSE 0 END FROM l";

std::vector<std::string> edited_things(std::span<const Fact> facts) {
  std::vector<std::string> out;
  for (const Fact& fact : facts) {
    auto row = audit_row(fact.body);
    if (row && !row->thing.empty()) out.push_back(std::move(row->thing));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<Batch> Batch::make(std::span<const Fact> facts, const Position& before, std::uint32_t seed,
                          std::uint32_t known, LastEdits last) {
  Batch out;
  out.after_ = before;
  Head& head = out.after_.head;
  for (const Fact& fact : facts) {
    std::string body;
    const auto* const finalized = std::get_if<fact::Finalized>(&fact.body);
    const std::uint32_t version = finalized ? finalized->version : out.after_.version;
    const auto needs = codec::encode(fact.body, body);
    if (!needs || *needs > version || version > known) {
      Error refused = codec::refusal(fact.body, out.after_.version);
      refused.field = "store.fact " + std::to_string(fact.seq) + " " + refused.field;
      return refused;
    }
    out.after_.version = version;
    const std::uint64_t kind = codec::kind_of(fact.body);
    head.facts = fact.seq;
    head.facts_sum = fact_sum(head.facts_sum, fact.seq, fact.time_ms, kind, body);
    if (const auto* charged = std::get_if<fact::Charged>(&fact.body)) {
      out.add_ledger({fact.seq, fact.time_ms, charged->row}, seed);
    } else if (auto row = audit_row(fact.body)) {
      row->entry.seq = fact.seq;
      row->entry.time_ms = fact.time_ms;
      const auto known_before = last.find(row->thing);
      if (!row->thing.empty() && known_before != last.end()) {
        take_before(*row, known_before->second.subject, known_before->second.after);
      }
      out.add_audit(*row, seed);
      last[row->thing] = {row->entry.subject, row->entry.after};
    }
    out.seq_.push_back(static_cast<std::int64_t>(fact.seq));
    out.time_ms_.push_back(fact.time_ms);
    out.kind_.push_back(static_cast<std::int64_t>(kind));
    out.body_.push_back(std::move(body));
    out.ledger_.push_back(static_cast<std::int64_t>(head.ledger));
    out.audit_.push_back(static_cast<std::int64_t>(head.audit));
    out.sum_.push_back(sum_column(head.facts_sum));
  }
  return out;
}

void Batch::add_ledger(const LedgerEntry& entry, std::uint32_t seed) {
  const std::uint64_t ord = ++after_.head.ledger;
  const LedgerRow& row = entry.row;
  const std::array<std::int64_t, kLedgerNumbers> numbers{
      static_cast<std::int64_t>(entry.seq),
      entry.time_ms,
      static_cast<std::int64_t>(row.allocation.job.value),
      row.allocation.rank,
      row.allocation.attempt,
      row.from_ms,
      row.to_ms,
      row.holder.value,
      row.payer.value,
      stored_state(row),
      row.node.value,
      row.milligpu,
      static_cast<std::int64_t>(row.corrects),
      static_cast<std::int64_t>(ord),
      sum_column(ledger_sum(seed, ord, entry)),
      row.booked_ms};
  for (std::size_t i = 0; i < numbers.size(); ++i) ledger_numbers_[i].push_back(numbers[i]);
  std::size_t column = 0;
  for (const std::string* text : {&row.product, &row.cluster, &row.ns, &row.profile}) {
    ledger_texts_[column++].push_back(*text);
  }
}

void Batch::add_audit(const AuditRow& row, std::uint32_t seed) {
  const std::uint64_t ord = ++after_.head.audit;
  audit_seq_.push_back(static_cast<std::int64_t>(row.entry.seq));
  audit_time_ms_.push_back(row.entry.time_ms);
  std::size_t column = 0;
  for (const std::string* text : audit_texts(row)) audit_texts_[column++].push_back(*text);
  audit_ord_.push_back(static_cast<std::int64_t>(ord));
  audit_sum_.push_back(sum_column(audit_sum(seed, ord, row)));
}

Parameters Batch::parameters(std::int64_t epoch) const {
  constexpr std::size_t kBeforeProduct = 11;
  Parameters p;
  p.add(epoch).add(seq_).add(time_ms_).add(kind_).add_bytes(body_);
  p.add(ledger_).add(audit_).add(sum_);
  for (std::size_t i = 0; i + 1 < kLedgerNumbers; ++i) {
    if (i == kBeforeProduct) p.add_bytes(ledger_texts_[0]);
    p.add(ledger_numbers_[i]);
  }
  p.add(audit_seq_).add(audit_time_ms_);
  for (const auto& texts : audit_texts_) p.add_bytes(texts);
  p.add(audit_ord_).add(audit_sum_);
  const std::string version = std::to_string(after_.version);
  p.add(std::string_view(version)).add(sum_column(meta_sum("fact_version", version)));
  for (const std::size_t rows : {seq_.size(), ledger_numbers_[0].size(), audit_seq_.size()}) {
    p.add(static_cast<std::int64_t>(rows));
  }
  for (std::size_t i = 1; i < kLedgerTexts; ++i) p.add_bytes(ledger_texts_[i]);
  p.add(ledger_numbers_.back());
  return p;
}

}  // namespace subak::postgres
