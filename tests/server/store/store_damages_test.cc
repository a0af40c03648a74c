// One table of damages that a person, a program or a disk does to the rows and tables of a store. Each is done to the
// file and to the database: the start refuses it, names the place and says what to do, and changes nothing; a damage
// while the service runs fails the commit that it would harm.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/runtime/clock/clock.h"
#include "server/store/file/row_sum.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/postgres/proof.h"
#include "server/store/postgres/rows.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/pg_cluster.h"
#include "tests/server/store/support/store_facts.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

constexpr std::uint64_t kCheckpoint = 20, kLast = 40;

// Facts 1 to kLast: odd ones are edits, with a row of the audit log, even ones charges, with a row of the ledger.
void fill(Store& store) {
  for (std::uint64_t seq = 1; seq <= kLast; ++seq) {
    const auto end = static_cast<TimeMs>(seq * 100);
    const Fact fact = seq % 2 == 0
                          ? charged(seq, end - 50, end)
                          : account_set(seq, 2, "ml", static_cast<std::int64_t>(seq), "ana");
    ASSERT_FALSE(store.commit(std::vector<Fact>{fact}));
    if (seq != kCheckpoint) continue;
    ASSERT_FALSE(store.write_checkpoint(seq, pack({account_set(0, 2, "ml", 19, "")})));
  }
}

// A store that is filled once, and copies of it.
class Stand {
 public:
  virtual ~Stand() = default;
  virtual void copy_filled() = 0;  // what was copied before goes
  virtual Result<std::unique_ptr<Store>> open() = 0;
  virtual void run(const std::string& sql) = 0;

 protected:
  void fill_once() {
    auto store = open();
    ASSERT_TRUE(store.ok()) << store.error().message();
    fill(**store);
  }
};

class SqliteStand final : public Stand {
 public:
  SqliteStand() {
    fill_once();
    std::filesystem::rename(file_, folder_.file("filled.db"));
  }
  void copy_filled() override {
    for (const char* end : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(file_ + end);
    std::filesystem::copy_file(folder_.file("filled.db"), file_);
  }
  Result<std::unique_ptr<Store>> open() override { return open_sqlite_store({file_}); }
  void run(const std::string& sql) override {
    sqlite3* db = nullptr;
    char* error = nullptr;
    sqlite3_open(file_.c_str(), &db);
    sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error);
    const std::string words = error == nullptr ? "" : error;
    sqlite3_free(error);
    sqlite3_close(db);
    if (!words.empty()) throw std::runtime_error(sql + ": " + words);
  }

 private:
  const TempFolder folder_;
  const std::string file_ = folder_.file("subak.db");
};

PgCluster& cluster() {
  static PgCluster one;
  return one;
}

class PostgresStand final : public Stand {
 public:
  PostgresStand() : filled_(cluster().make_database()), address_(filled_) { fill_once(); }
  void copy_filled() override {
    static int copies = 0;
    const std::string name = "copy" + std::to_string(++copies);
    cluster().sql(cluster().uri("postgres"), "CREATE DATABASE " + name + " TEMPLATE " +
                                                 filled_.substr(filled_.rfind('/') + 1));
    address_ = cluster().uri(name);
  }
  Result<std::unique_ptr<Store>> open() override { return open_as(address_); }
  Result<std::unique_ptr<Store>> open_as(const std::string& address) {
    PostgresOptions options{address, &clock_, "test"};
    options.take_lead = true;  // nobody else has it
    return open_postgres_store(options);
  }
  void run(const std::string& sql) override { cluster().sql(address_, sql); }
  const std::string& address() const { return address_; }
  // The same database as another role.
  std::string address_of(const std::string& role) const {
    std::string out = address_;
    return out.replace(out.find("//") + 2, out.find('@') - out.find("//") - 2, role);
  }

 private:
  SystemClock clock_;
  const std::string filled_;
  std::string address_;
};

struct Damage {
  const char* name;
  const char* file;      // what is done to the file; nullptr: it has no such thing
  const char* database;  // and to the database; nullptr: the same
  const char* place;     // that the refusal names, in both
};
constexpr const char* kNone = "";  // it has no such thing

// Rows 3 and 11 are edits behind the checkpoint, 10 a charge, 21 and 22 are after it.
constexpr Damage kDamages[] = {
    // Facts.
    {"content of a fact behind the checkpoint", "UPDATE facts SET body = x'00' WHERE seq = 3",
     "UPDATE facts SET body = '\\x00' WHERE seq = 3", "row 3 of table facts"},
    {"content of a fact after it", "UPDATE facts SET body = x'00' WHERE seq = 22",
     "UPDATE facts SET body = '\\x00' WHERE seq = 22", "row 22 of table facts"},
    {"content of a charge behind the checkpoint", "UPDATE facts SET body = x'00' WHERE seq = 10",
     "UPDATE facts SET body = '\\x00' WHERE seq = 10", "row 10 of table facts"},
    {"time of a fact", "UPDATE facts SET time_ms = time_ms + 1 WHERE seq = 3", nullptr,
     "row 3 of table facts"},
    {"kind of a fact", "UPDATE facts SET kind = kind + 1 WHERE seq = 3", nullptr,
     "row 3 of table facts"},
    {"sum of a fact", "UPDATE facts SET sum = sum + 1 WHERE seq = 3", nullptr,
     "row 3 of table facts"},
    {"sum of the checkpoint's fact", "UPDATE facts SET sum = sum + 1 WHERE seq = 20", nullptr, ""},
    {"a fact is gone behind the checkpoint", "DELETE FROM facts WHERE seq = 3", nullptr,
     "row 3 of table facts"},
    {"the first fact is gone", "DELETE FROM facts WHERE seq = 1", nullptr, "row 1 of table facts"},
    {"the checkpoint's fact is gone", "DELETE FROM facts WHERE seq = 20", nullptr,
     "row 20 of table facts"},
    {"a fact is gone after it", "DELETE FROM facts WHERE seq = 22", nullptr,
     "row 22 of table facts"},
    {"the last fact is gone", "DELETE FROM facts WHERE seq = 40", nullptr, ""},
    {"facts end below the checkpoint", "DELETE FROM facts WHERE seq >= 20", nullptr, "facts"},
    {"no fact is left", "DELETE FROM facts", nullptr, "facts"},
    {"two facts have changed places",
     "UPDATE facts SET seq = -seq WHERE seq IN (3, 4); UPDATE facts SET seq = seq + 7 WHERE seq < "
     "0",
     nullptr, "row 3 of table facts"},
    {"a fact more than there was",
     "INSERT INTO facts SELECT seq + 1, time_ms, kind, body, sum FROM facts WHERE seq = 40",
     "INSERT INTO facts SELECT seq + 1, epoch, time_ms, kind, body, ledger, audit, sum FROM facts "
     "WHERE seq = 40",
     "facts"},
    {"how many ledger rows there are", "UPDATE head SET ledger = ledger + 1",
     "UPDATE facts SET ledger = ledger + 1 WHERE seq = 3", ""},
    {"how many audit rows there are", "UPDATE head SET audit = audit - 1",
     "UPDATE facts SET audit = audit - 1 WHERE seq = 40", ""},
    {"what the last fact is", "UPDATE head SET facts_sum = facts_sum + 1",
     "UPDATE facts SET epoch = epoch + 1000 WHERE seq = 40", ""},
    {"the head is gone", "DELETE FROM head", kNone, "table head"},
    // The ledger.
    {"GPUs of a charge", "UPDATE ledger SET milligpu = milligpu + 1 WHERE seq = 10", nullptr,
     "row 10 of table ledger"},
    {"who pays", "UPDATE ledger SET payer = payer + 1 WHERE seq = 10", nullptr,
     "row 10 of table ledger"},
    {"the begin of a charge", "UPDATE ledger SET from_ms = from_ms - 1 WHERE seq = 40", nullptr,
     "row 40 of table ledger"},
    {"the product of a charge", "UPDATE ledger SET product = 'A100' WHERE seq = 10", nullptr,
     "row 10 of table ledger"},
    {"the number of a charge", "UPDATE ledger SET ord = ord + 1 WHERE seq = 10", nullptr,
     "table ledger"},
    {"a charge is gone", "DELETE FROM ledger WHERE seq = 10", nullptr, "table ledger"},
    {"the first charge is gone", "DELETE FROM ledger WHERE seq = 2", nullptr, "table ledger"},
    {"the last charge is gone", "DELETE FROM ledger WHERE seq = 40", nullptr, "ledger"},
    {"no charge is left", "DELETE FROM ledger", nullptr, "ledger"},
    {"a charge more than there was",
     "INSERT INTO ledger SELECT 11, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, "
     "state, node, product, milligpu, corrects + 7, ord, sum, cluster, ns, profile, "
     "booked_ms FROM ledger WHERE seq = 10",
     nullptr, "table ledger"},
    {"a charge behind the end",
     "INSERT INTO ledger SELECT 77, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, "
     "state, node, product, milligpu, corrects + 7, 21, sum, cluster, ns, profile, "
     "booked_ms FROM ledger WHERE seq = 40",
     nullptr, "table ledger"},
    // The audit log.
    {"why an edit was made", "UPDATE audit SET reason = 'x' WHERE seq = 11", nullptr,
     "row 11 of table audit"},
    {"who made an edit", "UPDATE audit SET actor = 'x' WHERE seq = 11", nullptr,
     "row 11 of table audit"},
    {"when an edit was made", "UPDATE audit SET time_ms = 0 WHERE seq = 11", nullptr,
     "row 11 of table audit"},
    {"an edit is gone", "DELETE FROM audit WHERE seq = 11", nullptr, "table audit"},
    {"the last edit is gone", "DELETE FROM audit WHERE seq = 39", nullptr, "audit"},
    {"no edit is left", "DELETE FROM audit", nullptr, "audit"},
    {"an edit more than there was",
     "INSERT INTO audit SELECT 78, time_ms, actor, what, thing, subject, reason, before, after, "
     "error, request_id, 21, sum FROM audit WHERE seq = 39",
     nullptr, "table audit"},
    // What the store says of itself.
    {"its name is another", "UPDATE meta SET value = 'x' WHERE key = 'uuid'", nullptr,
     "row uuid of table meta"},
    {"its name is gone", "DELETE FROM meta WHERE key = 'uuid'", nullptr, "row uuid of table meta"},
    {"its version is another", "UPDATE meta SET value = '0' WHERE key = 'fact_version'", nullptr,
     "row fact_version of table meta"},
    {"its version is gone", "DELETE FROM meta WHERE key = 'fact_version'", nullptr, "fact_version"},
    {"it says nothing of itself", "DELETE FROM meta", nullptr, "meta"},
    {"another checkpoint is named", "UPDATE meta SET value = '19' WHERE key = 'checkpoint_seq'",
     "UPDATE meta SET value = '19 1 1 0 0' WHERE key = 'checkpoint'", "of table meta"},
    {"content of the checkpoint", "UPDATE checkpoint SET body = x'00'",
     "UPDATE checkpoint SET rows = '\\x00'", "checkpoint"},
    {"the checkpoint is gone", "DELETE FROM checkpoint", nullptr, "checkpoint"},
    {"a migration is another", "UPDATE migrations SET checksum = 'x'", nullptr, "migration"},
    {"a migration of a newer program",
     "UPDATE migrations SET version = 99, name = '0099_later' "
     "WHERE version = (SELECT max(version) FROM migrations)",
     nullptr, "migration"},
    {"no migration is known", "DELETE FROM migrations", nullptr, ""},
    {"the row of who leads is gone", kNone, "DELETE FROM lead", "row 1 of table lead"},
    // Tables.
    {"a table is gone", "DROP TABLE ledger", "DROP TABLE ledger CASCADE", "table"},
    {"the table of checkpoints is gone", "DROP TABLE checkpoint", nullptr, "table"},
    {"a column has another name", "ALTER TABLE audit RENAME COLUMN error TO mistake", nullptr,
     "table"},
    {"a column is gone", "ALTER TABLE facts DROP COLUMN sum", nullptr, "table"},
    {"a key is gone", "DROP INDEX ledger_once", nullptr, "table"},
    {"the primary key is gone", kNone, "ALTER TABLE facts DROP CONSTRAINT facts_pkey",
     "facts PRIMARY KEY"},
    {"a check is gone", kNone, "ALTER TABLE ledger DROP CONSTRAINT ledger_check", "ledger CHECK"},
    {"a column may be empty", kNone, "ALTER TABLE audit ALTER COLUMN reason DROP NOT NULL",
     "audit column reason"},
    {"a column of another type", kNone, "ALTER TABLE facts ALTER COLUMN time_ms TYPE numeric",
     "facts column time_ms"},
    {"a trigger swallows rows",
     "CREATE TRIGGER eat BEFORE INSERT ON facts BEGIN SELECT RAISE(IGNORE); END",
     "CREATE FUNCTION eat() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
     "CREATE TRIGGER eat BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION eat()",
     "trigger eat"},
    {"a trigger changes rows",
     "CREATE TRIGGER more AFTER INSERT ON ledger BEGIN UPDATE ledger SET milligpu = 0; END",
     "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS "
     "'BEGIN NEW.milligpu := 0; RETURN NEW; END'; "
     "CREATE TRIGGER more BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION more()",
     "trigger more"},
    {"a rule swallows rows", kNone, "CREATE RULE eat AS ON INSERT TO audit DO INSTEAD NOTHING",
     "rule eat"},
    {"row security hides rows", kNone, "ALTER TABLE facts ENABLE ROW LEVEL SECURITY",
     "row security of table facts"},
};

class StoreDamages : public testing::TestWithParam<std::string> {
 protected:
  static bool is_file() { return GetParam() == "sqlite"; }
  static Stand& stand() {
    static const std::unique_ptr<Stand> file = std::make_unique<SqliteStand>();
    static const std::unique_ptr<Stand> database = std::make_unique<PostgresStand>();
    return is_file() ? *file : *database;
  }
  // The refusal of a start, which opens the store and reads what it rests on.
  static std::string start() {
    auto store = stand().open();
    if (!store.ok()) return store.error().message();
    auto reader = (*store)->open_reader();
    if (!reader.ok()) return reader.error().message();
    Texts got;
    const auto recovered = (*reader)->recover(got);
    return recovered.ok() ? "" : recovered.error().message();
  }
};

TEST_P(StoreDamages, EachIsRefusedWithItsPlaceAndWhatToDo) {
  stand().copy_filled();
  ASSERT_EQ(start(), "");
  for (const Damage& damage : kDamages) {
    const char* const sql = is_file() || damage.database == nullptr ? damage.file : damage.database;
    if (*sql == 0) continue;
    SCOPED_TRACE(damage.name);
    stand().copy_filled();
    stand().run(sql);
    const std::string got = start();
    EXPECT_NE(got.find(damage.place), std::string::npos) << got;
    EXPECT_NE(got.find("want "), std::string::npos) << got;
    EXPECT_EQ(start(), got) << "the second start says something else";
  }
}

// What is committed while something swallows or changes rows is refused, and nothing of it stays.
TEST_P(StoreDamages, ATriggerWhileTheServiceRunsFailsTheCommit) {
  const Fact charge = charged(kLast + 1, 0, 10);
  const Fact edit = account_set(kLast + 1, 2, "ml", 1, "ana");
  for (const auto& [table, fact] : {std::pair("facts", edit), std::pair("facts", charge),
                                    std::pair("ledger", charge), std::pair("audit", edit)}) {
    SCOPED_TRACE(table);
    stand().copy_filled();
    auto store = stand().open();
    ASSERT_TRUE(store.ok()) << store.error().message();
    stand().run(is_file() ? "CREATE TRIGGER eat BEFORE INSERT ON " + std::string(table) +
                                " BEGIN SELECT RAISE(IGNORE); END"
                          : "CREATE FUNCTION eat() RETURNS trigger LANGUAGE plpgsql AS "
                            "'BEGIN RETURN NULL; END'; CREATE TRIGGER eat BEFORE INSERT ON " +
                                std::string(table) + " FOR EACH ROW EXECUTE FUNCTION eat()");
    const auto error = (*store)->commit(std::vector<Fact>{fact});
    ASSERT_TRUE(error);
    EXPECT_NE(error->message().find("want no trigger"), std::string::npos) << error->message();
    *store = nullptr;
    stand().run(std::string("DROP TRIGGER eat") + (is_file() ? "" : std::string(" ON ") + table));
    EXPECT_EQ(start(), "");
    store = stand().open();
    const auto reader = std::move(*(*store)->open_reader());
    EXPECT_EQ(reader->facts(0, 100)->size(), kLast);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreDamages, testing::Values("sqlite", "postgres"),
                         [](const auto& stand) { return stand.param; });

// A database that is too large is proved beside the service.
TEST(PostgresProof, SaysInTheLogHowItEnded) {
  PostgresStand stand;
  stand.copy_filled();
  const auto address = postgres::parse_address(stand.address());
  ASSERT_TRUE(address.ok());
  const auto log_of_proof = [&] {
    postgres::PgConnection db;
    EXPECT_FALSE(db.open(*address));
    const auto uuid = postgres::read_meta(db, "uuid");
    testing::internal::CaptureStderr();
    postgres::Proof proof;
    proof.start(*address, crc32c(**uuid), kFactVersion);
    proof.wait();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(log_of_proof().find("store checked"), std::string::npos);
  stand.run("UPDATE ledger SET milligpu = milligpu + 1 WHERE seq = 10");
  const std::string got = log_of_proof();
  EXPECT_NE(got.find("the store is damaged"), std::string::npos) << got;
  EXPECT_NE(got.find("row 10 of table ledger"), std::string::npos) << got;
}

// Further indexes and columns are an operator's own affair.
TEST(PostgresTables, MoreThanWasMadeIsNoDamage) {
  PostgresStand stand;
  stand.copy_filled();
  stand.run("CREATE INDEX mine ON ledger (holder)");
  stand.run("ALTER TABLE audit ADD COLUMN mine TEXT");
  const auto store = stand.open();
  EXPECT_TRUE(store.ok()) << store.error().message();
}

TEST(PostgresRights, EachThatLacksIsNamed) {
  PostgresStand stand;
  cluster().sql(cluster().uri("postgres"), "CREATE ROLE service LOGIN");
  const std::vector<std::pair<const char*, std::vector<const char*>>> rights{
      {"lead", {"SELECT", "UPDATE"}},
      {"beat", {"SELECT", "UPDATE"}},
      {"facts", {"SELECT", "INSERT"}},
      {"ledger", {"SELECT", "INSERT"}},
      {"audit", {"SELECT", "INSERT"}},
      {"meta", {"SELECT", "INSERT", "UPDATE", "DELETE"}},
      {"checkpoint", {"SELECT", "INSERT", "DELETE"}},
      {"told", {"SELECT", "INSERT", "UPDATE"}},
      {"activity", {"SELECT", "INSERT", "UPDATE"}},
      {"notices", {"SELECT", "INSERT", "UPDATE"}},
      {"usage_days", {"SELECT", "INSERT", "UPDATE", "DELETE"}},
      {"usage_mark", {"SELECT", "INSERT", "UPDATE", "DELETE"}},
      {"past_checkpoints", {"SELECT", "INSERT", "DELETE"}},
      {"migrations", {"SELECT"}}};
  stand.copy_filled();
  for (const auto& [table, all] : rights) {
    for (const char* const right : all)
      stand.run(std::string("GRANT ") + right + " ON " + table + " TO service");
  }
  const std::string address = stand.address_of("service");
  {
    const auto store = stand.open_as(address);
    ASSERT_TRUE(store.ok()) << store.error().message();
  }
  for (const auto& [table, all] : rights) {
    for (const char* const right : all) {
      const std::string what = std::string(right) + " ON " + table;
      stand.run("REVOKE " + what + " FROM service");
      const auto store = stand.open_as(address);
      ASSERT_FALSE(store.ok()) << what;
      const std::string got = store.error().message();
      EXPECT_NE(got.find(std::string("may not ") + right + " on " + table), std::string::npos)
          << got;
      EXPECT_NE(got.find("deploy/postgres/service_role.sql"), std::string::npos) << got;
      stand.run("GRANT " + what + " TO service");
    }
  }
}

}  // namespace
}  // namespace subak
