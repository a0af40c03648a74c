// Account files made from dumps of Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/migrate/migrate.h"
#include "core/account_limits.h"
#include "core/edge_limits.h"

namespace subak::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The dump of a cluster with these lines below the root.
std::string dump(const std::string& lines) { return "Cluster - 'c'\nParent - 'root'\n" + lines; }

std::string migrated(const std::string& text) {
  const auto read = read_migration({{"d", text}}, {});
  EXPECT_TRUE(read.ok()) << read.error().message();
  return read.ok() ? migration_text(*read) : "";
}
std::string refused(const std::string& text) {
  const auto read = read_migration({{"d", text}}, {});
  EXPECT_FALSE(read.ok()) << migration_text(*read);
  return read.ok() ? "" : read.error().message();
}

TEST(MigrateSlurm, AccountsUsersSharesAndLimits) {
  const std::string text = migrated(
      "Cluster - 'c':GrpTRES=gres/gpu=64\n"
      "Parent - 'root'\n"
      "User - 'root':AdminLevel='Administrator'\n"
      "Account - 'ml':Description='learning: all':Fairshare=30:GrpTRES=gres/gpu=32\n"
      "Parent - 'ml'\n"
      "Account - 'vision':GrpTRES=gres/gpu:h100=8,gres/gpu=1K:GrpJobs=0\n"
      "User - 'Ana':Fairshare=2:GrpTRES=gres/gpu=4:MaxSubmitJobs=0\n");
  EXPECT_THAT(text,
              HasSubstr("accounts:\n"
                        "- {path: \"\", limit: gpu=64}  # d:1\n"
                        "- {path: ml, shares: 30, limit: gpu=32}  # d:4: learning: all\n"
                        "- {path: ml.vision, shares: 1, limit: \"h100=8,gpu=1024\", held: "
                        "true}  # d:6\n"
                        "- {path: ml/Ana, shares: 2, limit: gpu=4, draining: true}  # d:7\n"));
  EXPECT_THAT(text, HasSubstr("# Everything in these files has an equivalent in Subak.\n"));
}

TEST(MigrateSlurm, LimitsOnJobsAndTime) {
  const std::string text = migrated(
      dump("Account - 'a':GrpTRES=gres/gpu=8:GrpJobs=20:GrpTRESRunMins=cpu=9,gres/gpu=6000\n"
           "Account - 'b':MaxWallDurationPerJob=2880:GrpSubmitJobs=500:GrpJobs=1000000001\n"));
  EXPECT_THAT(text, HasSubstr("{path: a, shares: 1, limit: \"gpu=8,jobs=20,gpu-minutes=6000\"}"));
  EXPECT_THAT(text, HasSubstr("{path: b, shares: 1, limit: time=2d}"));
  EXPECT_THAT(text, HasSubstr("Account 'a': GrpTRESRunMins=cpu=9\n"));
  EXPECT_THAT(text, HasSubstr("Account 'b': GrpSubmitJobs=500\n"));
  EXPECT_THAT(text, HasSubstr("Account 'b': GrpJobs=1000000001\n"));
}

TEST(MigrateSlurm, WhatHasNoEquivalentIsThereByNameAndLine) {
  const std::string text =
      migrated("QOS - 'q':Flags='NoDecay':UsageFactor=2.000000:LimitFactor=1.000000\n" +
               dump("Account - 'a':MaxJobs=20:GrpJobs=-1:GrpTRESMins=gres/gpu=100\n"
                    "Account - 'b':GrpTRES=mem=4G:MaxJobs=30:Organization='x'\n"
                    "Account - 'e':Organization='y'\n"));
  EXPECT_THAT(text, HasSubstr("Without an equivalent in Subak: 8 things,"));
  EXPECT_THAT(text, HasSubstr("#   d:1  QOS 'q': Flags=NoDecay\n"));
  EXPECT_THAT(text, HasSubstr("#   d:1  QOS 'q': UsageFactor=2.000000\n"));
  EXPECT_THAT(text, HasSubstr("#   d:4  Account 'a': GrpTRESMins=gres/gpu=100\n"));
  EXPECT_THAT(text, HasSubstr("of a user.\n"
                              "#   d:4  Account 'a': MaxJobs=20\n"
                              "#   d:5  Account 'b': MaxJobs=30\n"));
  EXPECT_THAT(text, HasSubstr("#   d:5  Account 'b': GrpTRES=mem=4G\n"));
  EXPECT_THAT(text, HasSubstr("#   d:5  Account 'b': Organization=x, and 1 more line\n"));
  EXPECT_THAT(text, Not(HasSubstr("LimitFactor")));
  EXPECT_THAT(text, Not(HasSubstr("GrpJobs")));
}

TEST(MigrateSlurm, ChildrenOfAParentAccountKeepTheirPart) {
  const std::string text = migrated(
      dump("Account - 'a':Fairshare=40\nAccount - 'p':Fairshare=parent\nParent - 'p'\n"
           "User - 'x':Fairshare=5\nUser - 'y':Fairshare=3\nUser - 'z':Fairshare=2147483647\n"));
  EXPECT_THAT(text, HasSubstr("{path: p, shares: 8}"));
  EXPECT_THAT(text, HasSubstr("{path: p/z, shares: 5}"));
  EXPECT_THAT(text, HasSubstr("#   d:4  Account 'p': p has shares 8\n"));
  EXPECT_THAT(text, HasSubstr("#   d:8  User 'z': p/z has shares 5\n"));
}

TEST(MigrateSlurm, PartitionsOfAUserBecomeOneUser) {
  const std::string lines =
      "Account - 'a'\nParent - 'a'\n"
      "User - 'x':Partition='p':Fairshare=3\nUser - 'x':Partition='q':Fairshare=4\n";
  EXPECT_THAT(migrated(dump(lines)), HasSubstr("- {path: a/x, shares: 3}  # d:5\n"));
  const std::string text = migrated(dump(lines + "User - 'x':Fairshare=9\n"));
  EXPECT_THAT(text, HasSubstr("- {path: a/x, shares: 9}  # d:7\n"));
  EXPECT_THAT(text, HasSubstr("#   d:6  User 'x' of 'a': Partition=q\n"));
  EXPECT_EQ(refused(dump(lines + "User - 'x'\nUser - 'x'\n")),
            "d:8: User: was \"x\", want each user of an account once: it is in line 7");
}

TEST(MigrateSlurm, NamesBecomeNamesThatSubakAccepts) {
  const std::string text = migrated(
      dump("Account - 'Team.A'\nAccount - 'team-a'\nUser - 'joe':Fairshare=3\nParent - 'Team.A'\n"
           "User - 'a b'\n"));
  EXPECT_THAT(text, HasSubstr("- {path: team-a, shares: 1}  # d:4\n"));
  EXPECT_THAT(text,
              HasSubstr("#   Account 'Team.A' -> team-a-2\n#   User 'a b' -> team-a-2/a-b\n"));
  // A user of the root becomes an account.
  EXPECT_THAT(text, HasSubstr("- {path: joe, shares: 3}  # d:5\n"));
  EXPECT_THAT(text, HasSubstr("#   d:5  User 'joe' of 'root'\n"));
}

TEST(MigrateSlurm, QosBecomePriorityClasses) {
  const auto classes = [](const std::string& lines) { return migrated(lines + dump("")); };
  const std::string text = classes(
      "QOS - 'normal'\nQOS - 'GPU_high':Priority=1000\nQOS - 'long':Priority=0\n"
      "QOS - 'low':Priority=5\nQOS - 'huge':Priority=4294967295\n");
  EXPECT_THAT(text, HasSubstr("# For the configuration of subakd, not for this file:\n"
                              "#   priorityClasses:\n"
                              "#   - {name: normal, value: 0}\n"
                              "#   - {name: low, value: 5}\n"
                              "#   - {name: gpu-high, value: 1000}\n"
                              "accounts: []\n"));
  EXPECT_THAT(text, HasSubstr("#   d:3  QOS 'long': value 0\n"));
  EXPECT_THAT(text, HasSubstr("#   d:5  QOS 'huge': value 4294967295\n"));
  // One class of value 0 would change nothing.
  EXPECT_THAT(classes("QOS - 'normal'\n"), Not(HasSubstr("priorityClasses")));
}

TEST(MigrateSlurm, MistakesNameLineFieldValueAndRemedy) {
  const std::string lines = "Account - 'a'\nParent - 'a'\nAccount - 'b'\nParent - 'b'\n";
  EXPECT_EQ(refused(dump(lines + "Account - 'a'\n")),
            "d:7: Account: was \"a\", want a tree: this account is above its parent 'b'");
  EXPECT_EQ(refused(dump(lines + "Account - 'b'\n")),
            "d:7: Account: was \"b\", want a tree: this account is above its parent 'b'");
  EXPECT_EQ(refused(dump("Account - 'a'\nAccount - 'a'\n")),
            "d:4: Account: was \"a\", want each account once: it is in line 3");
  EXPECT_EQ(refused(dump("Parent - 'x'\n")),
            "d:3: Parent: was \"x\", want an account that an earlier line declares");
  EXPECT_EQ(refused(dump("Account - 'a':Fairsahre=3\n")),
            "d:3: Fairsahre: was \"3\", want a field that Slurm's accounts or QOS have; did you "
            "mean Fairshare?");
  EXPECT_EQ(refused(dump("Account - 'a':Fairshare=x\n")),
            "d:3: Fairshare: was \"x\", want a whole number from -1");
  EXPECT_EQ(refused(dump("Account - 'a':Fairshare=1000000001\n")),
            "d:3: Fairshare: was \"1000000001\", want at most 1000000000, or parent");
  EXPECT_EQ(refused(dump("Account - 'a':GrpTRES=gres/gpu\n")),
            "d:3: GrpTRES: was \"gres/gpu\", want TYPE=NUMBER, such as gres/gpu=8 or "
            "gres/gpu:h100=8");
  EXPECT_EQ(refused(dump("Cluster - 'd'\n")),
            "d:3: Cluster: was \"d\", want one cluster in a file");
  EXPECT_EQ(refused("Parent - 'root'\n"),
            "d:1: Cluster: want a line Cluster - 'NAME', as `sacctmgr dump` writes it");
  EXPECT_THAT(refused(dump("Acount - 'a'\n")), HasSubstr("d:3: was \"Acount - 'a'\", want a line"));
}

TEST(MigrateSlurm, HalfALineIsRefused) {
  EXPECT_EQ(refused(dump("Account - 'a':Description='x")),
            "d:3: Description: was \"'x\", want a closing ': is the line complete?");
  EXPECT_EQ(refused(dump("Account - 'a':Fair")),
            "d:3: was \"Fair\", want FIELD=VALUE: is the line complete?");
  EXPECT_EQ(refused(dump("Account - ")), "d:3: Account: want a name, as in Account - 'NAME'");
  EXPECT_THAT(refused(dump("Accou")), HasSubstr("d:3: was \"Accou\", want a line"));
  // This half may be a whole line.
  EXPECT_THAT(migrated(dump("Account - 'a':Fairshare=1")),
              HasSubstr("#   d:3  The last line has no line end\n"));
}

TEST(MigrateSlurm, LimitsOfLinesAccountsAndLevels) {
  std::string lines = dump("");
  for (std::size_t i = 2; i < limits::kMaxMigratedLines; ++i) lines += "#\n";
  EXPECT_TRUE(read_migration({{"d", lines}}, {}).ok());
  EXPECT_EQ(refused(lines + "#\n"), "d:500001: want at most 500000 lines");

  std::string users = dump("Account - 'a'\nParent - 'a'\n");
  for (std::size_t i = 1; i < limits::kMaxAccounts; ++i) {
    users += "User - 'u" + std::to_string(i) + "'\n";
  }
  EXPECT_TRUE(read_migration({{"d", users}}, {}).ok());
  EXPECT_THAT(refused(users + "User - 'more'\n"), HasSubstr("want at most 100000 accounts"));

  std::string deep = dump("");
  for (std::size_t i = 1; i <= limits::kMaxAccountDepth; ++i) {
    deep += "Account - 'a" + std::to_string(i) + "'\nParent - 'a" + std::to_string(i) + "'\n";
  }
  EXPECT_TRUE(read_migration({{"d", deep}}, {}).ok());
  EXPECT_EQ(refused(deep + "User - 'x'\n"), "d:35: User: was \"x\", want at most 16 levels");
}

TEST(MigrateSlurm, TheCaseForSimShareIsSlurmsTree) {
  const auto read = read_migration(
      {{"d", dump("User - 'root':Fairshare=1\nUser - 'joe':Fairshare=2\n"
                  "Account - 'a':Fairshare=parent\nParent - 'a'\nUser - 'x':Fairshare=3\n")}},
      {});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(
      share_case_text(*read),
      "{\"tree\": [\n"
      "  {\"account\": \"(root)\", \"user\": null, \"parent\": null, \"shares\": 1, "
      "\"raw_usage\": 0, \"order\": 0},\n"
      "  {\"account\": \"(root)\", \"user\": \"root\", \"parent\": \"(root)\", \"shares\": 1, "
      "\"raw_usage\": 0, \"order\": 1},\n"
      "  {\"account\": \"(root)\", \"user\": \"joe\", \"parent\": \"(root)\", \"shares\": 2, "
      "\"raw_usage\": 0, \"order\": 2},\n"
      "  {\"account\": \"a\", \"user\": null, \"parent\": \"(root)\", \"shares\": \"parent\", "
      "\"raw_usage\": 0, \"order\": 3},\n"
      "  {\"account\": \"a\", \"user\": \"x\", \"parent\": \"a\", \"shares\": 3, "
      "\"raw_usage\": 0, \"order\": 4}\n"
      "]}\n");
}

}  // namespace
}  // namespace subak::cli
