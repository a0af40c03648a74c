// The command line without a server: usage errors, what is not there, help, completion.
#include "cli/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/client.h"
#include "cli/text/failure.h"

namespace subak::cli {
namespace {

struct Ran {
  int code;
  std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = run_cli(arguments, Screen{out, err});
  return {code, out.str(), err.str()};
}

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Run, UsageErrorsAreTwoLinesAndExitTwo) {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"nonsense"},
      {"account"},
      {"account", "set", "ml"},  // no --reason
      {"why"},
      {"status", "--output", "xml"},
      {"job", "submit", "--account", "ml"},
      {"job", "submit", "--account", "ml", "--gpus", "many"},
      {"job", "list", "--state", "lost"},
      {"account", "set", "ml", "--quota", "gpu=-1", "--reason", "x"},
      {"cluster", "import"},
      {"cluster", "mode", "c", "loud", "--reason", "x"},
      {"usage", "report", "--from", "noon"},
      {"usage", "report", "--by", "colour"},
      {"status", "--token-file", "/nonexistent"},
      {"queue", "--output", "svg"},
      {"plan", "--rows", "0"},
      {"plan", "--lanes", "5"},
      {"plan", "--until", "noon"},
      {"plan", "--file", "plan.svg"},
  };
  for (const auto& arguments : wrong) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, kExitUsage) << ran.err;
    EXPECT_EQ(lines(ran.err), 2) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Run, NobodyThereExitsThree) {
  // Port 1 on loopback: refused at once.
  const Ran ran = run({"--server", "127.0.0.1:1", "status"});
  EXPECT_EQ(ran.code, kExitUnreachable);
  EXPECT_EQ(lines(ran.err), 2) << ran.err;
  EXPECT_NE(ran.err.find("127.0.0.1:1"), std::string::npos);
}

TEST(Client, PlainTextIsForLoopbackAlone) {
  for (const char* server : {"127.0.0.1:9444", "127.1.2.3:1", "localhost:9444", "[::1]:9444"}) {
    EXPECT_TRUE(is_loopback(server)) << server;
  }
  for (const char* server : {"127.example.com:9444", "localhost.example.com:1", "10.0.0.1:9444",
                             "[::2]:9444", "gpu.example.com:9444", ""}) {
    EXPECT_FALSE(is_loopback(server)) << server;
  }
}

TEST(Run, MissingFileExitsFour) {
  EXPECT_EQ(run({"cluster", "import", "-f", "/nonexistent.json"}).code, kExitNotFound);
}

TEST(Run, WhatThisVersionLacksIsUnknown) {
  for (const char* command : {"quote", "lease"}) {
    const Ran ran = run({command, "list"});
    EXPECT_EQ(ran.code, kExitUsage) << command;
    EXPECT_NE(ran.err.find("there is no command \"" + std::string(command) + "\""),
              std::string::npos)
        << ran.err;
  }
  const Ran ran = run({"account", "set", "ml", "--cells", "1", "--reason", "x"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_NE(ran.err.find("there is no option --cells"), std::string::npos) << ran.err;
}

TEST(Run, HelpOfEveryCommand) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.code, kExitDone);
  EXPECT_NE(ran.out.find("cluster"), std::string::npos);
  const std::string submit = run({"job", "submit", "--help"}).out;
  EXPECT_NE(submit.find("Usage: subak job submit "), std::string::npos) << submit;
  EXPECT_NE(submit.find("--topology"), std::string::npos);
  EXPECT_EQ(run({"version"}).out.rfind("subak ", 0), 0U);
}

TEST(Run, ArgumentsMayBeNamedLikeCommands) {
  // "queue" is an account here: the call goes out and finds nobody.
  EXPECT_EQ(run({"--server", "127.0.0.1:1", "share", "queue"}).code, kExitUnreachable);
}

TEST(Run, CompletionKnowsCommandsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = run({"completion", shell});
    EXPECT_EQ(ran.code, kExitDone);
    for (const char* word : {"account", "undrain", "gpus-per-pod", "table wide json yaml csv"}) {
      EXPECT_NE(ran.out.find(word), std::string::npos) << shell << ' ' << word;
    }
  }
}

}  // namespace
}  // namespace subak::cli
