#include "server/store/postgres/restore_postgres.h"

#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "server/store/checks.h"
#include "server/store/copy_history.h"
#include "server/store/head.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/sqlite_reader.h"

namespace subak {

Result<StoreReport> restore_to_postgres(const std::string& from, const std::string& address,
                                        const Clock& clock) {
  if (file_size(from) <= 0) {
    return Error{ErrorCode::kNotFound, from, "there is no such file, or it is empty",
                 "want a backup, or the state file of a subakd that is stopped"};
  }
  auto report = verify_store(from, std::nullopt);
  if (!report.ok()) return report.error();
  Connection file;
  if (!file.open(from, OpenMode::kReadOnly)) return file.error("store.open");
  const auto uuid = read_meta(file, "uuid");
  if (!uuid.ok()) return uuid.error();
  PostgresOptions options;
  options.address = address;
  options.clock = &clock;
  options.holder = "subak admin restore";
  options.uuid = uuid->value_or("");
  auto store = open_postgres_store(options);
  if (!store.ok()) return store.error();
  auto reader = SqliteReader::open(from, kFactVersion);
  if (!reader.ok()) return reader.error();
  const auto copied = copy_history(**reader, **store, [] { return true; });
  if (!copied.ok()) return copied.error();
  auto written = (*store)->open_reader();
  if (!written.ok()) return written.error();
  Engine engine;
  const auto recovered = recover_engine(**written, engine);
  if (!recovered.ok()) return recovered.error();
  if (engine.digest() == report->state.digest) return *std::move(report);
  return Error{ErrorCode::kPrecondition, address, "another state than that of " + from,
               "want a database that keeps what is written; make it anew"};
}

}  // namespace subak
