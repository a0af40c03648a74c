// What SQLite itself can do with the service's own rows, for information beside submissions and
// restart.
//   store_raw insert STORE NEW_FILE ROWS_PER_COMMIT ROWS
//       inserts the last ROWS facts of STORE into a new file with the same tables and settings
//   store_raw read STORE
//       reads every row that a start reads: the checkpoint, and the facts after it; STORE stays as
//       it was found
// Prints one JSON object.
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

class Db {
 public:
  Db(const char* path, int mode) {
    if (sqlite3_open_v2(path, &db_, mode | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) fail();
  }
  ~Db() { sqlite3_close(db_); }
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;
  void exec(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) fail();
    return statement;
  }
  bool step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    return code == SQLITE_ROW;
  }
  [[noreturn]] void fail() {
    std::fprintf(stderr, "store_raw: %s\n", sqlite3_errmsg(db_));
    std::exit(1);
  }

 private:
  sqlite3* db_ = nullptr;
};

struct Row {
  std::int64_t seq = 0, time_ms = 0, kind = 0;
  std::string body;
  std::int64_t sum = 0;
};

Row row_of(sqlite3_stmt* statement) {
  const auto* body = static_cast<const char*>(sqlite3_column_blob(statement, 3));
  return {sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
          sqlite3_column_int64(statement, 2),
          std::string(body == nullptr ? "" : body,
                      static_cast<std::size_t>(sqlite3_column_bytes(statement, 3))),
          sqlite3_column_int64(statement, 4)};
}

class Watch {
 public:
  double s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int insert(const char* from, const char* to, std::size_t per_commit, std::int64_t most) {
  std::vector<Row> rows;
  std::string tables;
  {
    Db db(from, SQLITE_OPEN_READONLY);
    sqlite3_stmt* schema = db.prepare("SELECT sql FROM sqlite_schema WHERE tbl_name = 'facts'");
    while (db.step(schema)) {
      if (const auto* sql = sqlite3_column_text(schema, 0)) {
        tables += reinterpret_cast<const char*>(sql);
        tables += ';';
      }
    }
    sqlite3_finalize(schema);
    sqlite3_stmt* select = db.prepare(
        "SELECT seq, time_ms, kind, body, sum FROM facts WHERE seq > (SELECT max(seq) FROM facts) "
        "- "
        "? ORDER BY seq");
    sqlite3_bind_int64(select, 1, most);
    while (db.step(select)) rows.push_back(row_of(select));
    sqlite3_finalize(select);
  }
  Db db(to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  db.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;" + tables);
  sqlite3_stmt* put = db.prepare("INSERT INTO facts VALUES (?,?,?,?,?)");
  const Watch watch;
  for (std::size_t i = 0; i < rows.size();) {
    db.exec("BEGIN IMMEDIATE");
    for (const std::size_t end = std::min(i + per_commit, rows.size()); i < end; ++i) {
      sqlite3_bind_int64(put, 1, rows[i].seq);
      sqlite3_bind_int64(put, 2, rows[i].time_ms);
      sqlite3_bind_int64(put, 3, rows[i].kind);
      sqlite3_bind_blob64(put, 4, rows[i].body.data(), rows[i].body.size(), SQLITE_STATIC);
      sqlite3_bind_int64(put, 5, rows[i].sum);
      db.step(put);
      sqlite3_reset(put);
    }
    db.exec("COMMIT");
  }
  std::printf("{\"rows\": %zu, \"seconds\": %.6f}\n", rows.size(), watch.s());
  sqlite3_finalize(put);
  return 0;
}

int read(const char* path) {
  Db db(path, SQLITE_OPEN_READONLY);
  const Watch watch;
  std::size_t rows = 0, bytes = 0;
  for (const char* sql :
       {"SELECT ord, time_ms, kind, body, sum FROM checkpoint WHERE seq = (SELECT CAST(value AS "
        "INTEGER) "
        "FROM meta WHERE key = 'checkpoint_seq') ORDER BY ord",
        "SELECT seq, time_ms, kind, body, sum FROM facts WHERE seq > coalesce((SELECT CAST(value "
        "AS "
        "INTEGER) FROM meta WHERE key = 'checkpoint_seq'), 0) ORDER BY seq"}) {
    sqlite3_stmt* select = db.prepare(sql);
    while (db.step(select)) {
      ++rows;
      bytes += row_of(select).body.size();
    }
    sqlite3_finalize(select);
  }
  std::printf("{\"rows\": %zu, \"bytes\": %zu, \"seconds\": %.6f}\n", rows, bytes, watch.s());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "insert" && argc == 6) {
    return insert(argv[2], argv[3], std::strtoul(argv[4], nullptr, 10), std::atoll(argv[5]));
  }
  if (what == "read" && argc == 3) return read(argv[2]);
  std::fprintf(stderr,
               "usage: store_raw insert STORE NEW_FILE ROWS_PER_COMMIT ROWS | store_raw read "
               "STORE\n");
  return 2;
}
