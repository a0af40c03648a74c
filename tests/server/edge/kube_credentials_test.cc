// Who we are at an API server: token files, and exec plugins, which here are small shell scripts.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/duration.h"
#include "core/limits.h"
#include "kube/json.h"
#include "server/edge/client/credentials.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr TimeMs kNow = 1'800'000'000'000;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::string name = (fs::temp_directory_path() / "subak-credentials-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  ~CredentialsTest() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return folder + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string contents(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // A plugin whose script this is; it stands in our folder.
  KubeAccess plugin(const std::string& script) const {
    write("plugin", "#!/bin/sh\ncd " + folder + "\n" + script + "\n");
    EXPECT_EQ(chmod(path("plugin").c_str(), 0700), 0);
    KubeAccess access;
    access.user = "users[ana].user";
    access.server = "https://10.0.0.1:6443";
    access.exec.emplace();
    access.exec->command = path("plugin");
    access.exec->api_version = "client.authentication.k8s.io/v1";
    return access;
  }
  std::string folder;
};

std::string printing(const std::string& status) {
  return R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
         status + "}'";
}

using Refreshed = Result<std::optional<Credential>>;

// Until the plugin has ended, by a clock that stands.
Refreshed settle(Credentials& credentials, TimeMs now_ms = kNow, bool refused = false) {
  Refreshed r = credentials.refresh(now_ms, refused);
  while (credentials.running()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    r = credentials.refresh(now_ms, false);
  }
  return r;
}
// The token, or what is wrong.
std::string told(const Refreshed& r) {
  if (!r.ok()) return r.error().message();
  return r->has_value() ? (**r).token : "(as before)";
}

// --- tokens --------------------------------------------------------------------------------------

TEST_F(CredentialsTest, AStaticTokenIsToldOnce) {
  KubeAccess access;
  access.token = "t1";
  Credentials credentials(access);
  EXPECT_FALSE(credentials.known());
  EXPECT_EQ(told(credentials.refresh(kNow, false)), "t1");
  EXPECT_TRUE(credentials.known());
  EXPECT_EQ(told(credentials.refresh(kNow + kDayMs, true)), "(as before)");
  Credentials nobody{KubeAccess{}};
  EXPECT_EQ(told(nobody.refresh(kNow, false)), "") << "a certificate may say it";
}

TEST_F(CredentialsTest, ATokenFileIsReadAgain) {
  write("token", "t1\n");
  KubeAccess access;
  access.token_path = path("token");
  Credentials credentials(access);
  EXPECT_EQ(told(credentials.refresh(kNow, false)), "t1");
  write("token", "t2");
  EXPECT_EQ(told(credentials.refresh(kNow + limits::kTokenFileMs - 1, false)), "(as before)");
  EXPECT_EQ(told(credentials.refresh(kNow + limits::kTokenFileMs, false)), "t2");
  write("token", "t3");
  EXPECT_EQ(told(credentials.refresh(kNow + limits::kTokenFileMs + 1, true)), "t3")
      << "at once after a 401";
  write("token", "t4");
  EXPECT_EQ(told(credentials.refresh(kNow - kDayMs, false)), "t4") << "the clock went back";
}

TEST_F(CredentialsTest, ATokenFileThatIsNone) {
  KubeAccess access;
  access.user = "users[ana].user";
  access.token_path = path("token");
  Credentials credentials(access);
  const auto none = credentials.refresh(kNow, false);
  EXPECT_THAT(told(none), HasSubstr("users[ana].user.tokenFile: was \"" + path("token")));
  EXPECT_THAT(told(none), HasSubstr("No such file"));
  EXPECT_EQ(told(credentials.refresh(kNow + 1, false)), "(as before)") << "it is told once";
  TimeMs now = kNow;
  for (const std::string& text : {std::string(), std::string(" \n"), std::string("s3cret\nb"),
                                  std::string(limits::kMaxCredentialBytes + 1, 's')}) {
    write("token", text);
    const auto odd = credentials.refresh(now += limits::kCredentialAgainMs, false);
    ASSERT_FALSE(odd.ok());
    EXPECT_THAT(odd.error().message(), HasSubstr("tokenFile"));
    EXPECT_THAT(odd.error().message(), Not(HasSubstr("s3cret")));
  }
  EXPECT_FALSE(credentials.known());
  write("token", "t1");
  EXPECT_EQ(told(credentials.refresh(now += limits::kCredentialAgainMs, false)), "t1");
  fs::remove(path("token"));
  EXPECT_FALSE(credentials.refresh(now += limits::kTokenFileMs, false).ok());
  EXPECT_TRUE(credentials.known()) << "what was had stays";
}

// --- plugins -------------------------------------------------------------------------------------

TEST_F(CredentialsTest, APluginIsToldWhoAsks) {
  KubeAccess access = plugin(
      "printf %s \"$KUBERNETES_EXEC_INFO\" > info\n"
      "printf '%s ' \"$1\" \"$A\" \"$HOME\" > told\n"
      "cat > input; cut -d' ' -f1,5 /proc/$$/stat > group\n" +
      printing(R"({"token":"t1","clientCertificateData":"C","clientKeyData":"K"})"));
  access.exec->args = {"get token"};
  access.exec->env = {{"A", "b"}, {"HOME", "/h"}};
  Credentials credentials(access);
  const auto first = settle(credentials);
  ASSERT_EQ(told(first), "t1");
  EXPECT_EQ((**first).certificate, "C");
  EXPECT_EQ((**first).key, "K");
  EXPECT_EQ(contents("told"), "get token b /h ");
  EXPECT_EQ(contents("input"), "");
  EXPECT_EQ(contents("info"),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
            R"("spec":{"interactive":false}})");
  std::istringstream group(contents("group"));
  std::string pid, its_group;
  group >> pid >> its_group;
  EXPECT_EQ(pid, its_group) << "its own group";
}

TEST_F(CredentialsTest, APluginGetsNoneOfOurFiles) {
  write("secret", "s3cret");
  std::vector<int> open_files;
  for (int i = 0; i < 20; ++i) open_files.push_back(open(path("secret").c_str(), O_RDONLY));
  Credentials credentials(plugin("for f in /proc/$$/fd/*; do readlink $f; done > files\n" +
                                 printing(R"({"token":"t1"})")));
  EXPECT_EQ(told(settle(credentials)), "t1");
  for (const int fd : open_files) close(fd);
  EXPECT_THAT(contents("files"), HasSubstr("/dev/null"));
  EXPECT_THAT(contents("files"), Not(HasSubstr("secret")));
}

TEST_F(CredentialsTest, ThePluginMayAskForTheCluster) {
  KubeAccess access =
      plugin("printf %s \"$KUBERNETES_EXEC_INFO\" > info\n" + printing(R"({"token":"t1"})"));
  access.exec->wants_cluster = true;
  access.tls_server_name = "api";
  access.authority.pem = "ca";
  Credentials in_place(access);
  EXPECT_EQ(told(settle(in_place)), "t1");
  const std::string info = contents("info");
  EXPECT_THAT(info, HasSubstr(R"("cluster":{"server":"https://10.0.0.1:6443",)"
                              R"("tls-server-name":"api","certificate-authority-data":"Y2E="})"));
  access.authority = {"", path("ca")};
  Credentials missing(access);
  EXPECT_THAT(told(settle(missing)), HasSubstr("certificate-authority: was"));
  write("ca", "ca");
  Credentials by_path(access);
  EXPECT_EQ(told(settle(by_path)), "t1");
  EXPECT_EQ(contents("info"), info);
  access.authority = {};
  access.insecure = true;
  Credentials insecure(access);
  EXPECT_EQ(told(settle(insecure)), "t1");
  EXPECT_THAT(contents("info"), HasSubstr(R"("insecure-skip-tls-verify":true)"));
}

TEST_F(CredentialsTest, WhatAPluginPrintedIsKeptUntilItExpires) {
  const TimeMs expires = kNow + kHourMs;
  Credentials credentials(plugin(
      "echo run >> runs\n" + printing(R"({"token":"'$(wc -l < runs)'","expirationTimestamp":")" +
                                      format_time(expires) + "\"}")));
  EXPECT_EQ(told(settle(credentials)), "1");
  const TimeMs due = expires - limits::kCredentialEarlyMs;
  EXPECT_EQ(told(settle(credentials, due - 1)), "(as before)");
  EXPECT_EQ(contents("runs"), "run\n");
  EXPECT_EQ(told(settle(credentials, due)), "2");
  const auto late = settle(credentials, expires);
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message(), HasSubstr("status.expirationTimestamp"));
  EXPECT_TRUE(credentials.known()) << "what was had stays";
  EXPECT_EQ(told(settle(credentials, expires + limits::kCredentialAgainMs - 1)), "(as before)");
  EXPECT_EQ(contents("runs"), "run\nrun\nrun\n");
}

TEST_F(CredentialsTest, ARefusalRunsThePluginAgainButNotAtOnce) {
  Credentials credentials(
      plugin("echo run >> runs\n" + printing(R"({"token":"'$(wc -l < runs)'"})")));
  EXPECT_EQ(told(settle(credentials)), "1");
  EXPECT_EQ(told(settle(credentials, kNow + 300 * kDayMs)), "(as before)") << "it does not expire";
  Credentials other(plugin("echo run >> runs\n" + printing(R"({"token":"'$(wc -l < runs)'"})")));
  EXPECT_EQ(told(settle(other)), "2");
  EXPECT_EQ(told(settle(other, kNow + limits::kCredentialAgainMs - 1, true)), "(as before)");
  EXPECT_EQ(told(settle(other, kNow + limits::kCredentialAgainMs)), "3") << "it was not forgotten";
  EXPECT_EQ(told(settle(other, kNow + kDayMs)), "(as before)") << "once for each refusal";
}

// A process that is gone, or dead and not yet waited for.
bool is_dead(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/stat");
  std::string number, name, state;
  in >> number >> name >> state;
  return !in || state == "Z";
}
std::string first_word(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_F(CredentialsTest, APluginThatHangsIsKilledWithAllThatItStarted) {
  Credentials credentials(plugin("sleep 1000 & echo $! > child; mv child pid; wait"));
  EXPECT_EQ(told(credentials.refresh(kNow, false)), "(as before)");
  while (!fs::exists(path("pid"))) {
    EXPECT_EQ(told(credentials.refresh(kNow + limits::kExecPluginMs - 1, false)), "(as before)");
    EXPECT_TRUE(credentials.running());
  }
  const auto killed = credentials.refresh(kNow + limits::kExecPluginMs, false);
  ASSERT_FALSE(killed.ok());
  EXPECT_THAT(killed.error().message(), HasSubstr("users[ana].user.exec"));
  EXPECT_THAT(killed.error().message(), HasSubstr("30s"));
  EXPECT_FALSE(credentials.running());
  while (!is_dead(first_word(contents("pid")))) std::this_thread::yield();
}

TEST_F(CredentialsTest, NobodyWaitsForAPluginAtTheEnd) {
  {
    Credentials credentials(plugin("echo $$ > child; mv child pid; exec sleep 1000"));
    EXPECT_EQ(told(credentials.refresh(kNow, false)), "(as before)");
    while (!fs::exists(path("pid"))) std::this_thread::yield();
  }
  EXPECT_TRUE(is_dead(first_word(contents("pid"))));
}

TEST_F(CredentialsTest, APluginThatPrintsWithoutEndIsKilled) {
  Credentials credentials(plugin("exec yes s3cret"));
  const auto wordy = settle(credentials);
  ASSERT_FALSE(wordy.ok());
  EXPECT_THAT(wordy.error().message(), HasSubstr(std::to_string(limits::kMaxCredentialBytes)));
  EXPECT_THAT(wordy.error().message(), Not(HasSubstr("s3cret")));
}

TEST_F(CredentialsTest, WhatAPluginLeavesRunningHoldsNobodyUp) {
  Credentials credentials(plugin("sleep 1000 & echo $! > pid\n" + printing(R"({"token":"t1"})")));
  EXPECT_EQ(told(settle(credentials)), "t1") << "though the pipe is still open";
  kill(std::stoi(contents("pid")), SIGKILL);
}

TEST_F(CredentialsTest, WhatIsNoCredentialIsToldWithoutItsSecrets) {
  const std::string v1 = R"("apiVersion":"client.authentication.k8s.io/v1")";
  const std::string kind = R"("kind":"ExecCredential")";
  const auto says = [&](const std::string& text) { return "echo '" + text + "'"; };
  const std::pair<std::string, std::string> cases[] = {
      {"echo s3cret; exit 3", "exit code was 3"},
      {"kill -9 $$", "exit code was 137"},
      {"true", "an ExecCredential in JSON"},
      {"echo s3cret", "an ExecCredential in JSON"},
      {says(R"(["s3cret"])"), "an ExecCredential in JSON"},
      {says("{" + v1 + R"(,"kind":"s3cret"})"), "users[ana].user.exec: kind"},
      {says(R"({"apiVersion":"client.authentication.k8s.io/v1beta1",)" + kind +
            R"(,"status":{"token":"s3cret"}})"),
       "was \"client.authentication.k8s.io/v1beta1\", want the plugin to print the apiVersion of "
       "the kubeconfig, client.authentication.k8s.io/v1"},
      {says("{" + v1 + "," + kind + "}"), "users[ana].user.exec: status"},
      {printing("{}"), "a token, or a certificate"},
      {printing(R"({"token":""})"), "a token, or a certificate"},
      {printing(R"({"token":7})"), "a token, or a certificate"},
      {printing(R"({"clientCertificateData":"s3cret"})"), "status.clientKeyData"},
      {printing(R"({"clientKeyData":"s3cret","token":"s3cret"})"), "status.clientCertificateData"},
      {printing(R"({"token":"s3cret\\r\\nX: y"})"), "a token of one line"},
      {printing(R"({"token":"s3cret","expirationTimestamp":"soon"})"), "expirationTimestamp"},
  };
  for (const auto& [script, what] : cases) {
    Credentials credentials(plugin(script));
    const std::string error = told(settle(credentials));
    EXPECT_THAT(error, HasSubstr(what)) << script;
    EXPECT_THAT(error, HasSubstr("users[ana].user.exec")) << script;
    EXPECT_THAT(error, Not(HasSubstr("s3cret"))) << script;
    EXPECT_FALSE(credentials.known());
  }
}

TEST_F(CredentialsTest, APluginThatIsNotThere) {
  KubeAccess access = plugin("");
  access.exec->command = "subak-no-such-plugin";
  access.exec->install_hint = "Get it from your platform team.";
  Credentials credentials(access);
  const auto none = credentials.refresh(kNow, false);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message(),
              HasSubstr("users[ana].user.exec.command: was \"subak-no-such-plugin\""));
  EXPECT_THAT(none.error().message(), HasSubstr("Get it from your platform team."));
  EXPECT_FALSE(credentials.running());
  write("text", "no program");
  access.exec->command = path("text");
  Credentials forbidden(access);
  EXPECT_EQ(forbidden.refresh(kNow, false).error().code, ErrorCode::kPrecondition);
}

TEST_F(CredentialsTest, WhatTheKubeconfigHasGoesBeforeItsPlugin) {
  KubeAccess access = plugin("touch ran");
  access.token = "t1";
  Credentials by_token(access);
  EXPECT_EQ(told(settle(by_token)), "t1");
  access.token.clear();
  access.certificate.pem = access.key.pem = "x";
  Credentials by_certificate(access);
  EXPECT_EQ(told(settle(by_certificate)), "");
  EXPECT_FALSE(fs::exists(path("ran")));
}

}  // namespace
}  // namespace subak
