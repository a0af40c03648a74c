#include "server/store/proof/migrate.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <cassert>
#include <optional>
#include <utility>

#include "core/printable.h"
#include "server/store/file/row_sum.h"
#include "server/store/proof/checks.h"

namespace subak {
namespace {

constexpr char kTable[] =
    "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL, sum INTEGER NOT NULL)";

std::uint32_t sum_of_row(std::int64_t version, std::string_view name, std::string_view checksum,
                         std::int64_t applied_ms) {
  return RowSum(0).add(version).add(name).add(checksum).add(applied_ms).value();
}

std::optional<Error> apply(Connection& db, const Migration& migration, std::size_t version) {
  const std::string what = "store.migration " + std::string(migration.name);
  if (!db.exec("BEGIN IMMEDIATE")) return db.error(what);
  Statement note;
  bool ok = db.exec(std::string(migration.sql).c_str()) &&
            note.prepare(db, "INSERT INTO migrations VALUES (?, ?, ?, ?, ?)");
  const std::string checksum = sha256_hex(migration.sql);
  const auto now_ms =
      db.number("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)").value_or(0);
  if (ok) {
    const auto number = static_cast<std::int64_t>(version);
    note.bind(1, number);
    note.bind(2, migration.name);
    note.bind(3, std::string_view(checksum));
    note.bind(4, now_ms);
    note.bind(5, sum_column(sum_of_row(number, migration.name, checksum, now_ms)));
    ok = note.run() && db.exec("COMMIT");
  }
  if (ok) return std::nullopt;
  const Error error = db.error(what);
  db.exec("ROLLBACK");
  return error;
}

}  // namespace

std::optional<Error> check_next(std::int64_t version, std::string_view name,
                                std::string_view checksum, std::size_t done,
                                const std::vector<Migration>& all) {
  const auto refuse = [&](std::string want) {
    return Error{ErrorCode::kPrecondition, "store.migrations", std::string(name), std::move(want)};
  };
  if (version > static_cast<std::int64_t>(all.size())) {
    return refuse("want a store of this version or older: a newer subakd wrote it, run that one");
  }
  if (version == static_cast<std::int64_t>(done) + 1 && all[done].name == name &&
      sha256_hex(all[done].sql) == checksum) {
    return std::nullopt;
  }
  return refuse(
      "want the migration that this program has under that number: run the subakd that "
      "made the store, or restore a backup");
}

// The store's migrations must be the first ones of `all`, unchanged.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all) {
  Statement query;
  if (!query.prepare(db,
                     "SELECT version, name, checksum, applied_ms, sum FROM migrations "
                     "ORDER BY version")) {
    return unreadable_store(db, db.path());
  }
  std::size_t done = 0;
  while (query.step()) {
    const std::string name(query.text(1));
    if (sum_of(query.number(4)) !=
        sum_of_row(query.number(0), name, query.text(2), query.number(3))) {
      return damaged_row(db.path(), "migrations", std::to_string(query.number(0)));
    }
    if (auto error = check_next(query.number(0), name, query.text(2), done, all)) return *error;
    ++done;
  }
  if (query.failed()) return unreadable_store(db, db.path());
  if (done == 0 && db.number("SELECT count(*) FROM sqlite_master WHERE name = 'facts'") != 0) {
    return damaged_store(db.path(), "row 1 of table migrations is missing");
  }
  return done;
}

Result<int> migrate(Connection& db, const std::vector<Migration>& all) {
  if (!db.exec(kTable)) return db.error("store.migrations");
  const Result<std::size_t> done = check_applied(db, all);
  if (!done.ok()) return done.error();
  int applied = 0;
  for (std::size_t i = *done; i < all.size(); ++i, ++applied) {
    if (auto error = apply(db, all[i], i + 1)) return *error;
  }
  return applied;
}

std::string random_uuid() {
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  [[maybe_unused]] const int ok =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  assert(ok == 1 && size == digest.size());
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace subak
