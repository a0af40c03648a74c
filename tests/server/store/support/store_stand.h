// Opens the two kinds of stores, SQLite and PostgreSQL, for tests that both must pass.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/runtime/clock/clock.h"
#include "server/runtime/ports.h"
#include "server/store/file/connection.h"
#include "server/store/postgres/database/pg_connection.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/store/support/pg_cluster.h"
#include "tests/server/temp_folder.h"

namespace subak {

// One store that can be opened again and again.
class Stand {
 public:
  virtual ~Stand() = default;
  virtual Result<std::unique_ptr<Store>> open(std::uint32_t fact_version) = 0;
  // Runs SQL on the tables without the store, for example to damage them.
  virtual void run(const std::string& sql) = 0;
};

class SqliteStand final : public Stand {
 public:
  Result<std::unique_ptr<Store>> open(std::uint32_t fact_version) override {
    SqliteOptions options{folder_.file("subak.db")};
    options.fact_version = fact_version;
    return open_sqlite_store(options);
  }
  void run(const std::string& sql) override {
    Connection db;
    ASSERT_TRUE(db.open(folder_.file("subak.db"), OpenMode::kReadWrite));
    ASSERT_TRUE(db.exec(sql.c_str())) << db.error("test").message();
  }

 private:
  const TempFolder folder_;
};

class PostgresStand final : public Stand {
 public:
  PostgresStand() {
    static PgCluster cluster;  // one for all tests
    address_ = cluster.make_database();
  }
  Result<std::unique_ptr<Store>> open(std::uint32_t fact_version) override {
    PostgresOptions options{address_, &clock_, "test"};
    options.fact_version = fact_version;
    return open_postgres_store(options);
  }
  void run(const std::string& sql) override {
    const auto address = postgres::parse_address(address_);
    ASSERT_TRUE(address.ok());
    postgres::PgConnection db;
    ASSERT_FALSE(db.open(*address));
    const auto done = db.script(sql);
    ASSERT_TRUE(done.ok()) << done.message();
  }

 private:
  SystemClock clock_;
  std::string address_;
};

// `name`: "sqlite" or "postgres".
inline std::unique_ptr<Stand> make_stand(const std::string& name) {
  if (name == "sqlite") return std::make_unique<SqliteStand>();
  return std::make_unique<PostgresStand>();
}

}  // namespace subak
