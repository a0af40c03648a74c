#include "server/store/file/refusals.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <utility>

#include "server/store/file/connection.h"

namespace subak {

Error refuse_store(const std::string& path, std::string got, std::string want) {
  return Error{ErrorCode::kPrecondition, path, std::move(got), std::move(want)};
}

Error damaged_store(const std::string& path, std::string got) {
  return refuse_store(path, std::move(got),
                      std::string(kWantUndamaged) +
                          "restore a backup with `subak admin restore` (the file was not changed)");
}

Error damaged_row(const std::string& path, std::string_view table, const std::string& which) {
  return damaged_store(path, "row " + which + " of table " + std::string(table) +
                                 " is not what was written: its checksum differs");
}

Error damaged_checkpoint(const std::string& path, std::string got) {
  return refuse_store(path, "checkpoint: " + std::move(got),
                      std::string(kWantUndamaged) +
                          "start once with --ignore-checkpoint, which makes the state again from "
                          "all facts, or restore a backup with `subak admin restore`");
}

bool says_damage(const Error& error) { return error.want.starts_with(kWantUndamaged); }

Error unreadable_store(Connection& db, const std::string& path) {
  const Error error = db.error("store.open");
  switch (db.code()) {
    case SQLITE_OK:
    case SQLITE_DONE:
      return damaged_store(path, "a row is missing");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged_store(path, error.got);
    default:
      return error;
  }
}

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : -1;
}

}  // namespace subak
