#include "server/store/migrate.h"

#include <openssl/evp.h>

#include <array>
#include <cassert>
#include <optional>

namespace subak {
namespace {

constexpr char kTable[] =
    "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL)";

std::optional<Error> apply(Connection& db, const Migration& migration, std::size_t version) {
  const std::string what = "store.migration " + std::string(migration.name);
  if (!db.exec("BEGIN IMMEDIATE")) return db.error(what);
  Statement note;
  bool ok = db.exec(std::string(migration.sql).c_str()) &&
            note.prepare(db,
                         "INSERT INTO migrations VALUES (?, ?, ?, "
                         "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))");
  const std::string checksum = sha256_hex(migration.sql);
  if (ok) {
    note.bind(1, static_cast<std::int64_t>(version));
    note.bind(2, migration.name);
    note.bind(3, std::string_view(checksum));
    ok = note.run() && db.exec("COMMIT");
  }
  if (ok) return std::nullopt;
  const Error error = db.error(what);
  db.exec("ROLLBACK");
  return error;
}

}  // namespace

// Those that the store has must be the first ones of `all`, unchanged.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all) {
  Statement query;
  if (!query.prepare(db, "SELECT version, name, checksum FROM migrations ORDER BY version")) {
    return db.error("store.migrations");
  }
  std::size_t done = 0;
  while (query.step()) {
    const std::string name(query.text(1));
    if (query.number(0) > static_cast<std::int64_t>(all.size())) {
      return Error{ErrorCode::kPrecondition, "store.migrations", name,
                   "want a store of this version or older: a newer subakd wrote it, run that one"};
    }
    if (query.number(0) != static_cast<std::int64_t>(done) + 1 || all[done].name != name ||
        sha256_hex(all[done].sql) != query.text(2)) {
      return Error{ErrorCode::kPrecondition, "store.migrations", name,
                   "the migration that this program has under that number: run the subakd that "
                   "made the store, or restore a backup"};
    }
    ++done;
  }
  if (query.failed()) return db.error("store.migrations");
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

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  [[maybe_unused]] const int ok =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  assert(ok == 1 && size == digest.size());
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string hex(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    out += kHex[static_cast<unsigned char>(byte) >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace subak
