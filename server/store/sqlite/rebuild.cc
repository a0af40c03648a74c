#include "server/store/sqlite/rebuild.h"

#include <unistd.h>

#include "server/store/file/connection.h"
#include "server/store/file/copy.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/migrate.h"
#include "server/store/sqlite/replace.h"

namespace subak {
namespace {

constexpr char kForget[] = "DELETE FROM meta WHERE key LIKE 'checkpoint%'";

struct Draft {
  std::string path;
  ~Draft() { ::unlink(path.c_str()); }
};

bool copy_tables(Connection& to, const std::string& from) {
  Statement attach;
  if (!attach.prepare(to, "ATTACH ? AS old")) return false;
  attach.bind(1, std::string_view(from));
  return attach.run() && to.exec("BEGIN") &&
         to.exec("INSERT INTO main.meta SELECT * FROM old.meta") && to.exec(kForget) &&
         to.exec("INSERT INTO main.head SELECT * FROM old.head") &&
         to.exec("INSERT INTO main.facts SELECT * FROM old.facts ORDER BY seq") &&
         to.exec("INSERT INTO main.ledger SELECT * FROM old.ledger ORDER BY seq") &&
         to.exec("INSERT INTO main.audit SELECT * FROM old.audit ORDER BY seq") &&
         to.exec("COMMIT") && to.exec("DETACH old");
}

std::optional<Error> make_draft(const std::string& from, const std::string& to) {
  Connection db;
  const std::string own = "PRAGMA application_id=" + std::to_string(kApplicationId);
  if (!db.open(to, OpenMode::kCreate) || !db.exec(own.c_str()) ||
      !db.exec("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY")) {
    return db.error("store.rebuild");
  }
  const Result<int> made = migrate(db, sqlite_migrations());
  if (!made.ok()) return made.error();
  if (!copy_tables(db, from)) return db.error("store.rebuild");
  if (auto error = check_content(db, true)) return error;
  return sync_file(to);
}

}  // namespace

Result<Rebuilt> drop_checkpoint(const std::string& path, std::uint32_t version) {
  const Draft draft{path + ".rebuilding"};
  ::unlink(draft.path.c_str());  // of a start that was interrupted
  {
    Connection db;
    if (!db.open(path, OpenMode::kReadWrite)) return db.error("store.rebuild");
    db.copy_log_at_close(false);
    if (auto error = check_owner(db, path)) return *error;
    const auto applied = check_applied(db, sqlite_migrations());
    if (!applied.ok()) return applied.error();
    if (*applied > 0) {
      const Result<int> made = migrate(db, sqlite_migrations());
      if (!made.ok()) return made.error();
    }
    if (auto error = check_schema(db, path)) return *error;
    const auto known = check_version(db, path, version);
    if (!known.ok()) return known.error();
    if (!check_content(db, true)) {
      if (!db.exec(kForget)) return db.error("store.rebuild");
      return Rebuilt{};
    }
    if (auto error = check_content(db, false)) return *error;
    if (auto error = make_draft(path, draft.path)) return *error;
  }
  auto replaced = replace_store(draft.path, path);
  if (!replaced.ok()) return replaced.error();
  return Rebuilt{std::move(*replaced)};
}

}  // namespace subak
