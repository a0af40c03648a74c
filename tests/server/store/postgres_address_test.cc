// How a database is named, and where its password comes from.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "server/runtime/clock/clock.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/server/store/support/pg_cluster.h"
#include "tests/server/store/support/store_facts.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

using namespace std::chrono_literals;

TEST(PostgresAddress, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& uri) {
    const auto address = postgres::parse_address(uri);
    return address.ok() ? "" : address.error().message();
  };
  EXPECT_NE(refusal("postgres://ana:secret@db/x").find("passfile"), std::string::npos);
  EXPECT_EQ(refusal("postgres://ana:secret@db/x").find("secret"), std::string::npos);
  EXPECT_NE(refusal("postgres://ana@db/x?sslmode=require").find("verify-full"), std::string::npos);
  EXPECT_NE(refusal("postgres://ana@127.0.0.1,db/x?sslmode=prefer"), "");
  EXPECT_NE(refusal("postgres://ana@db/x?nonsense=1").find("nonsense"), std::string::npos);
  EXPECT_EQ(refusal("postgres://ana@127.0.0.1/x"), "");
  EXPECT_EQ(refusal("postgresql://ana@%2Frun%2Fpg/x"), "");
  const auto address = postgres::parse_address("postgres://ana@db.example:5433/books");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->shown, "postgres ana@db.example:5433/books");
  const auto& said = address->parameters;
  EXPECT_NE(std::find(said.begin(), said.end(),
                      std::pair<std::string, std::string>("sslmode", "verify-full")),
            said.end());
  EXPECT_TRUE(postgres::is_address("postgres://x"));
  for (const char* const uri : {"postgres://ana@db/x?password_file=/etc/pw&port=5433",
                                "postgres://ana@db/x?port=5433&password_file=/etc/pw"}) {
    const auto with_file = postgres::parse_address(uri);
    ASSERT_TRUE(with_file.ok()) << uri;
    EXPECT_EQ(with_file->password_file, "/etc/pw");
    EXPECT_EQ(with_file->shown, "postgres ana@db:5433/x");
  }
  EXPECT_FALSE(postgres::is_address("var/subak.db"));
}

// As a Secret is in a pod: its group may read it. What is changed counts from the next connection on.
TEST(PostgresAddress, ThePasswordIsReadFromItsFile) {
  const TempFolder folder;
  const std::string file = folder.file("password");
  const auto address = *postgres::parse_address("postgres://ana@db/x?password_file=" + file);
  EXPECT_NE(postgres::read_password(address).error().message().find("No such file"),
            std::string::npos);
  const auto with = [&](const std::string& text, unsigned mode) {
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary) << text;
    std::filesystem::permissions(file, std::filesystem::perms(mode));
    const auto password = postgres::read_password(address);
    return password ? *password : "refused: " + password.error().message();
  };
  EXPECT_EQ(with("one\n", 0440), "one");
  EXPECT_EQ(with("two", 0600), "two");
  EXPECT_NE(with("two", 0644).find("every user may use it"), std::string::npos);
  EXPECT_NE(with("", 0600).find("nothing"), std::string::npos);
  EXPECT_NE(with("two\nlines\n", 0600).find("no line"), std::string::npos);
  EXPECT_NE(with(std::string(5000, 'x'), 0600).find("no line"), std::string::npos);
}

TEST(PostgresPassword, IsReadAtEachConnection) {
  PgCluster cluster;
  const SystemClock clock;
  const std::string owner = cluster.make_database();
  const auto sql = [&](const std::string& statement) { cluster.sql(owner, statement); };
  const std::vector<Fact> facts{account_set(1, 2, "ml", 1, "ana"), charged(2, 0, 20)};

  const std::filesystem::path rules = cluster.folder() / "data" / "pg_hba.conf";
  std::ifstream known(rules);
  const std::string before{std::istreambuf_iterator<char>(known), {}};
  std::ofstream(rules) << "local all locked scram-sha-256\n" << before;
  sql("CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'first'");
  sql("SELECT pg_reload_conf()");
  const TempFolder folder;
  const auto write = [&](const char* password) {
    std::filesystem::remove(folder.file("password"));
    std::ofstream(folder.file("password")) << password;
    std::filesystem::permissions(folder.file("password"), std::filesystem::perms(0440));
  };
  std::string address = owner;
  address.replace(address.find("subak@"), 6, "locked@");
  address += "?password_file=" + folder.file("password");
  PostgresOptions options{address, &clock, "a"};
  options.take_lead = true;
  const auto refusal = [&] {
    const auto store = open_postgres_store(options);
    return store.ok() ? "" : store.error().message();
  };
  write("other");
  std::string error;
  for (int i = 0; i < 100 && error.empty(); ++i) {  // until the server has read its rules
    error = refusal();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_NE(error.find("password authentication failed"), std::string::npos) << error;
  EXPECT_EQ(error.find("other"), std::string::npos) << error;
  std::filesystem::remove(folder.file("password"));
  EXPECT_NE(refusal().find("No such file"), std::string::npos) << refusal();
  write("first");
  const auto store = open_postgres_store(options);
  ASSERT_TRUE(store.ok()) << store.error().message();
  EXPECT_FALSE((*store)->commit({facts.data(), 1}));
  write("second");
  sql("ALTER ROLE locked PASSWORD 'second'");
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locked'");
  const auto error_of = (*store)->commit({facts.data() + 1, 1});
  EXPECT_FALSE(error_of) << error_of->message();
}

}  // namespace
}  // namespace subak
