#include "server/store/postgres/restore_postgres.h"

#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "server/store/move/copy_history.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/head.h"
#include "server/store/proof/sqlite_reader.h"

namespace subak {

namespace {

// Reduces the file's report to the facts that stay.
void shorten(StoreReport& report, const Cut& cut) {
  report.state = cut.state;
  report.fact_version = cut.fact_version;
  report.ledger_rows = cut.ledger_rows;
  if (report.checkpoint_seq > cut.state.seq) report.checkpoint_seq = 0;
}

}  // namespace

Result<Restored> restore_to_postgres(const std::string& from, const std::string& address,
                                     const Clock& clock, const std::optional<Until>& until) {
  if (file_size(from) <= 0) {
    return Error{ErrorCode::kNotFound, from, "there is no such file, or it is empty",
                 "want a backup, or the state file of a subakd that is stopped"};
  }
  auto report = verify_store(from, std::nullopt);
  if (!report.ok()) return of_backup(report.error());
  auto reader = SqliteReader::open(from, kFactVersion);
  if (!reader.ok()) return reader.error();
  Restored done{std::move(*report), "", std::nullopt};
  if (until) {
    const auto cut = find_cut(**reader, *until);
    if (!cut.ok()) return cut.error();
    done.cut = *cut;
    shorten(done.report, *cut);
  }
  const auto uuid = read_uuid(from);
  if (!uuid.ok()) return uuid.error();
  PostgresOptions options;
  options.address = address;
  options.clock = &clock;
  options.holder = "subak admin restore";
  options.uuid = *uuid;
  auto store = open_postgres_store(options);
  if (!store.ok()) return store.error();
  const auto copied = copy_history(
      **reader, **store, [] { return true; }, done.report.state.seq);
  if (!copied.ok()) return copied.error();
  auto written = (*store)->open_reader();
  if (!written.ok()) return written.error();
  Engine engine;
  const auto recovered = recover_engine(**written, engine);
  if (!recovered.ok()) return recovered.error();
  if (engine.digest() == done.report.state.digest) return done;
  return Error{ErrorCode::kPrecondition, address, "another state than that of " + from,
               "want a database that keeps what is written; create it again"};
}

}  // namespace subak
