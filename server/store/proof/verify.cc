#include "server/store/proof/verify.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <deque>
#include <memory>

#include "core/limits.h"
#include "core/printable.h"
#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "server/store/file/connection.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/head.h"
#include "server/store/proof/log_scan.h"
#include "server/store/proof/migrate.h"
#include "server/store/proof/sqlite_reader.h"

namespace subak {
namespace {

constexpr char kHistoryOf[] = "history_seq";
constexpr char kHistory[] = "history";

// A SHA-256 over growing input.
class Sum {
 public:
  Sum() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  // Returns the sum so far.
  std::string text() const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> copy(EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free);
    EVP_MD_CTX_copy_ex(copy.get(), context_.get());
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(copy.get(), digest.data(), nullptr);
    return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// Compares the rows of the ledger with the facts that wrote them, as these arrive.
class LedgerCheck {
 public:
  explicit LedgerCheck(StoreReader& reader) : reader_(reader) {}
  std::uint64_t rows() const { return rows_; }

  std::optional<Error> fact(const Fact& fact) {
    const auto* charged = std::get_if<fact::Charged>(&fact.body);
    if (charged == nullptr) return std::nullopt;
    if (auto error = fill()) return error;
    if (page_.empty() || page_.front().seq != fact.seq || page_.front().row != charged->row) {
      return differs(fact.seq);
    }
    page_.pop_front();
    ++rows_;
    return std::nullopt;
  }
  std::optional<Error> end() {
    if (auto error = fill()) return error;
    return page_.empty() ? std::nullopt : std::optional(differs(page_.front().seq));
  }

 private:
  static Error differs(std::uint64_t seq) {
    return refuse_store("store.ledger", "row " + std::to_string(seq),
                        "want the row that fact " + std::to_string(seq) +
                            " has: this store is damaged, use another backup");
  }
  std::optional<Error> fill() {
    if (!page_.empty()) return std::nullopt;
    LedgerQuery query;
    query.after_seq = after_;
    query.most = limits::kLedgerAuditPageRows;
    const auto rows = reader_.ledger(query);
    if (!rows.ok()) return rows.error();
    page_.assign(rows->begin(), rows->end());
    if (!page_.empty()) after_ = page_.back().seq;
    return std::nullopt;
  }

  StoreReader& reader_;
  std::deque<LedgerEntry> page_;
  std::uint64_t after_ = 0;
  std::uint64_t rows_ = 0;
};

std::optional<Error> check_file(Connection& db, const std::string& path, StoreReport& report) {
  report.bytes = file_size(path);
  if (report.bytes <= 0)
    return refuse_store(path, "there is no such file, or it is empty", "want a store of subakd");
  if (auto error = check_header(path)) return error;
  if (auto error = check_log(path)) return error;
  if (!db.open(path, OpenMode::kReadOnly)) return db.error("store.verify");
  if (auto error = check_owner(db, path)) return error;
  const Result<std::size_t> migrations = check_applied(db, sqlite_migrations());
  if (!migrations.ok()) return migrations.error();
  if (*migrations > 0 && *migrations < sqlite_migrations().size()) {
    return refuse_store(path, "of an older version",
                        "want a store of this version: `subak admin restore` makes one of it");
  }
  if (auto error = check_schema(db, path)) return error;
  const Result<std::uint32_t> version = check_version(db, path, kFactVersion);
  if (!version.ok()) return version.error();
  report.fact_version = *version;
  return check_content(db, true);
}

// Runs before any replay: altered facts may be nonsense to the engine.
std::optional<Error> check_history(Connection& db, const std::string& path, StoreReport& report) {
  const auto noted = read_meta(db, kHistoryOf);
  if (!noted.ok()) return noted.error();
  const auto history = read_meta(db, kHistory);
  if (!history.ok()) return history.error();
  const std::int64_t noted_at = std::strtoll(noted->value_or("0").c_str(), nullptr, 10);
  Sum sum;
  Statement facts;
  if (!facts.prepare(db, "SELECT seq, time_ms, kind, body FROM facts ORDER BY seq")) {
    return db.error("store.verify");
  }
  std::int64_t seq = 0;
  while (facts.step()) {
    for (int column = 0; column < 3; ++column) {
      sum.add(std::to_string(facts.number(column)) + " ");
    }
    sum.add(facts.blob(3));
    seq = facts.number(0);
    if (seq == noted_at && sum.text() != history->value_or("")) {
      return damaged_store(path, "facts changed since the backup was made");
    }
  }
  if (facts.failed()) return damaged_store(path, db.error("").got);
  if (seq < noted_at) return damaged_store(path, "facts missing after " + std::to_string(seq));
  report.history = sum.text();
  return std::nullopt;
}

std::optional<Error> check_mark(const Engine& engine, const std::optional<StateMark>& live) {
  if (!live || engine.seq() != live->seq || engine.digest() == live->digest) return std::nullopt;
  return refuse_store("digest at fact " + std::to_string(live->seq), digest_text(engine.digest()),
                      "want " + digest_text(live->digest) +
                          ", the service's own; if subak and subakd are of one version, keep the "
                          "store and report it");
}

std::optional<Error> replay_all(StoreReader& reader, const std::optional<StateMark>& live,
                                StoreReport& report) {
  Engine engine;
  LedgerCheck ledger(reader);
  while (true) {
    const auto facts = reader.facts(engine.seq(), limits::kLedgerAuditPageRows);
    if (!facts.ok()) return facts.error();
    for (const Fact& fact : *facts) {
      if (fact.seq != engine.seq() + 1) {
        return damaged_store("store.facts", "no fact " + std::to_string(engine.seq() + 1));
      }
      engine.evolve(fact);
      if (auto error = ledger.fact(fact)) return error;
      if (auto error = check_mark(engine, live)) return error;
    }
    if (facts->empty()) break;
  }
  if (live && engine.seq() < live->seq) {
    return damaged_store("store.facts", "none after " + std::to_string(engine.seq()));
  }
  report.state = {engine.seq(), engine.digest()};
  report.ledger_rows = ledger.rows();
  return ledger.end();
}

// Does what the next start will do.
std::optional<Error> replay_start(StoreReader& reader, StoreReport& report) {
  Engine engine;
  const Result<Recovered> recovered = recover_engine(reader, engine);
  if (!recovered.ok()) return recovered.error();
  report.checkpoint_seq = recovered->checkpoint_seq;
  if (engine.digest() == report.state.digest) return std::nullopt;
  return refuse_store("digest from the checkpoint at fact " + std::to_string(report.checkpoint_seq),
                      digest_text(engine.digest()),
                      "want " + digest_text(report.state.digest) +
                          ", that of all facts: this store is damaged, use another backup");
}

}  // namespace

std::string digest_text(const std::array<std::uint64_t, 2>& digest) {
  std::string bytes;
  for (const std::uint64_t half : digest) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(half >> shift);
  }
  return hex(bytes);
}

Result<StoreReport> verify_store(const std::string& path, const std::optional<StateMark>& live) {
  StoreReport report;
  Connection db;
  if (auto error = check_file(db, path, report)) return *error;
  if (auto error = check_history(db, path, report)) return *error;
  const auto reader = SqliteReader::open(path, kFactVersion);
  if (!reader.ok()) return reader.error();
  if (auto error = replay_all(**reader, live, report)) return *error;
  if (auto error = replay_start(**reader, report)) return *error;
  return report;
}

std::optional<Error> note_history(const std::string& path, const StoreReport& report) {
  Connection db;
  if (!db.open(path, OpenMode::kReadWrite) ||
      !write_meta(db, kHistoryOf, std::to_string(report.state.seq)) ||
      !write_meta(db, kHistory, report.history)) {
    return db.error("store.verify");
  }
  return std::nullopt;
}

}  // namespace subak
