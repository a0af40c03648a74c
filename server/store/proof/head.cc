#include "server/store/proof/head.h"

#include <charconv>

#include "server/store/file/row_sum.h"
#include "server/store/proof/checks.h"

namespace subak {
namespace {

constexpr std::string_view kReplaceMeta = "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)";
constexpr std::string_view kReplaceHead = "INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?, ?, ?)";

std::uint32_t head_sum(std::uint32_t seed, const Head& head) {
  return RowSum(seed)
      .add(head.facts)
      .add(std::uint64_t{head.facts_sum})
      .add(head.ledger)
      .add(head.audit)
      .value();
}

// 0: no such row.
Result<std::uint64_t> meta_number(Connection& db, std::string_view key) {
  const auto text = read_meta(db, key);
  if (!text.ok()) return text.error();
  std::uint64_t value = 0;
  if (*text) std::from_chars((*text)->data(), (*text)->data() + (*text)->size(), value);
  return value;
}

}  // namespace

std::uint32_t meta_sum(std::string_view key, std::string_view value) {
  return RowSum(0).add(key).add(value).value();
}

Result<std::string> read_uuid(const std::string& path) {
  Connection file;
  if (!file.open(path, OpenMode::kReadOnly)) return file.error("store.open");
  const auto uuid = read_meta(file, "uuid");
  if (!uuid.ok()) return uuid.error();
  return uuid->value_or("");
}

Result<std::optional<std::string>> read_meta(Connection& db, std::string_view key) {
  Statement query;
  if (!query.prepare(db, "SELECT value, sum FROM meta WHERE key = ?")) {
    return unreadable_store(db, db.path());
  }
  query.bind(1, key);
  if (!query.step()) {
    if (query.failed()) return unreadable_store(db, db.path());
    return std::optional<std::string>();
  }
  std::string value(query.text(0));
  if (sum_of(query.number(1)) != meta_sum(key, value)) {
    return damaged_row(db.path(), "meta", std::string(key));
  }
  return std::optional<std::string>(std::move(value));
}

bool write_meta(Connection& db, std::string_view key, std::string_view value) {
  Statement replace;
  if (!replace.prepare(db, kReplaceMeta)) return false;
  replace.bind(1, key);
  replace.bind(2, value);
  replace.bind(3, sum_column(meta_sum(key, value)));
  return replace.run();
}

Result<std::uint32_t> read_seed(Connection& db) {
  const auto uuid = read_meta(db, "uuid");
  if (!uuid.ok()) return uuid.error();
  if (!*uuid) return damaged_store(db.path(), "row uuid of table meta is missing");
  return crc32c(**uuid);
}

Result<Head> read_head(Connection& db, std::uint32_t seed) {
  Statement query;
  if (!query.prepare(db, "SELECT facts, facts_sum, ledger, audit, sum FROM head WHERE id = 1") ||
      !query.step()) {
    if (!query.failed()) return damaged_store(db.path(), "row 1 of table head is missing");
    return unreadable_store(db, db.path());
  }
  const Head head{query.unsigned_number(0), sum_of(query.number(1)), query.unsigned_number(2),
                  query.unsigned_number(3)};
  if (sum_of(query.number(4)) != head_sum(seed, head)) return damaged_row(db.path(), "head", "1");
  return head;
}

bool HeadWriter::prepare(Connection& db, std::uint32_t seed) {
  seed_ = seed;
  return replace_.prepare(db, kReplaceHead);
}

bool HeadWriter::write(const Head& head) {
  replace_.bind(1, head.facts);
  replace_.bind(2, sum_column(head.facts_sum));
  replace_.bind(3, head.ledger);
  replace_.bind(4, head.audit);
  replace_.bind(5, sum_column(head_sum(seed_, head)));
  return replace_.run();
}

Result<CheckpointMark> read_checkpoint_mark(Connection& db, std::uint32_t seed) {
  CheckpointMark mark;
  mark.anchor = seed;
  const auto seq = meta_number(db, "checkpoint_seq");
  if (!seq.ok() || *seq == 0) return seq.ok() ? Result(mark) : Result<CheckpointMark>(seq.error());
  mark.seq = *seq;
  std::array<std::uint64_t, 3> rest{};
  std::size_t i = 0;
  for (const char* key : {"checkpoint_facts", "checkpoint_sum", "checkpoint_anchor"}) {
    const auto number = meta_number(db, key);
    if (!number.ok()) return number.error();
    rest[i++] = *number;
  }
  mark.facts = rest[0];
  mark.sum = static_cast<std::uint32_t>(rest[1]);
  mark.anchor = static_cast<std::uint32_t>(rest[2]);
  return mark;
}

bool write_checkpoint_mark(Connection& db, const CheckpointMark& mark) {
  return write_meta(db, "checkpoint_seq", std::to_string(mark.seq)) &&
         write_meta(db, "checkpoint_facts", std::to_string(mark.facts)) &&
         write_meta(db, "checkpoint_sum", std::to_string(mark.sum)) &&
         write_meta(db, "checkpoint_anchor", std::to_string(mark.anchor));
}

}  // namespace subak
