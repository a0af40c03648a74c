#include "server/api/common/sessions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/api/common/browser_limits.h"
#include "tests/server/temp_folder.h"

namespace subak::api {
namespace {

constexpr char kViewer[] = "viewer-secret-0123456", kAdmin[] = "admin-secret-01234567";

class MovedClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return 5000; }
  std::int64_t monotonic_us() const override { return ms * 1000; }
  DurationMs ms = 1000;
};

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest() { write(std::string(kViewer) + " viewer ana\n" + kAdmin + " admin root\n"); }
  void write(const std::string& text) {
    std::ofstream(folder_.path() / "tokens") << text;
    ASSERT_FALSE(auth_.load());
  }
  std::optional<Caller> caller(const std::string& secret) {
    return sessions_.caller("Session " + secret);
  }
  std::string signed_in(const char* token = kViewer) {
    clock_.ms += limits::kSignInWindowMs;  // so that no limit on sign-ins is met
    auto made = sessions_.sign_in(token, "ipv4:10.0.0.7");
    EXPECT_TRUE(made.ok());
    return made->secret;
  }

  TempFolder folder_;
  MovedClock clock_;
  Authenticator auth_{(folder_.path() / "tokens").string()};
  Sessions sessions_{auth_, clock_};
};

TEST_F(SessionsTest, StandsForItsTokenAndHasTurnsOfItsOwn) {
  const std::string a = signed_in(), b = signed_in();
  EXPECT_NE(a, b);
  EXPECT_EQ(caller(a)->actor, "token:ana");
  EXPECT_EQ(caller(a)->role, Role::kViewer);
  EXPECT_NE(caller(a)->turn(), caller(b)->turn());
  EXPECT_NE(caller(a)->turn(), sessions_.caller("Bearer " + std::string(kViewer))->turn());
  EXPECT_EQ(caller(signed_in(kAdmin))->role, Role::kAdmin);
  sessions_.sign_out(a);
  EXPECT_FALSE(caller(a));
  EXPECT_TRUE(caller(b));
}

TEST_F(SessionsTest, HasThePresentRoleOfTheToken) {
  const std::string admin = signed_in(kAdmin);
  write(std::string(kAdmin) + " viewer root\n");
  EXPECT_EQ(caller(admin)->role, Role::kViewer);
  write(std::string(kAdmin) + " admin somebody-else\n");
  EXPECT_FALSE(caller(admin)) << "the token is another person's now";
  write(std::string(kViewer) + " viewer ana\n");
  EXPECT_FALSE(caller(admin));
}

TEST_F(SessionsTest, EndsAfterItsLife) {
  const std::string secret = signed_in();
  clock_.ms += limits::kSessionLifeMs - 1;
  EXPECT_TRUE(caller(secret));
  clock_.ms += 1;
  EXPECT_FALSE(caller(secret));
}

TEST_F(SessionsTest, UnknownTokensAndSecrets) {
  EXPECT_EQ(sessions_.sign_in("wrong", "a").error().code, ErrorCode::kDenied);
  EXPECT_EQ(sessions_.sign_in("", "a").error().code, ErrorCode::kDenied);
  EXPECT_FALSE(caller(""));
  EXPECT_FALSE(caller("0"));
  EXPECT_FALSE(sessions_.caller(""));
  EXPECT_EQ(sessions_.caller(sessions_.own())->role, Role::kViewer);
}

TEST_F(SessionsTest, AnAddressThatSignsInTooOften) {
  for (std::size_t i = 0; i < limits::kMaxSignInsPerAddress; ++i) {
    EXPECT_EQ(sessions_.sign_in("wrong", "a").error().code, ErrorCode::kDenied);
  }
  EXPECT_EQ(sessions_.sign_in(kViewer, "a").error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(sessions_.sign_in(kViewer, "b").ok());
  clock_.ms += limits::kSignInWindowMs;
  EXPECT_TRUE(sessions_.sign_in(kViewer, "a").ok());
}

TEST_F(SessionsTest, ManyAddresses) {
  for (std::size_t i = 0; i < limits::kMaxSignInAddresses; ++i) {
    EXPECT_TRUE(!sessions_.sign_in("wrong", std::to_string(i)).ok());
  }
  EXPECT_EQ(sessions_.sign_in(kViewer, "x").error().code, ErrorCode::kExhausted);
  clock_.ms += limits::kSignInWindowMs;
  EXPECT_TRUE(sessions_.sign_in(kViewer, "x").ok());
}

TEST_F(SessionsTest, OneMoreEndsTheOldestOfTheToken) {
  const std::string other = signed_in(kAdmin), oldest = signed_in();
  std::string last;
  for (std::size_t i = 0; i < limits::kMaxSessionsPerToken; ++i) last = signed_in();
  EXPECT_FALSE(caller(oldest));
  EXPECT_TRUE(caller(last));
  EXPECT_TRUE(caller(other));
  EXPECT_EQ(sessions_.count(), limits::kMaxSessionsPerToken + 1);
}

TEST(SessionsWithoutTokens, NobodySignsIn) {
  const MovedClock clock;
  const Authenticator auth{""};
  Sessions sessions(auth, clock);
  EXPECT_EQ(sessions.sign_in("any-token-0123456789", "a").error().code, ErrorCode::kPrecondition);
  EXPECT_EQ(sessions.caller("")->actor, "loopback");
  EXPECT_NE(sessions.caller("")->turn(), "loopback") << "browsers do not take a script's turns";
  const Authenticator closed{"", false};
  EXPECT_FALSE(Sessions(closed, clock).caller(""));
}

}  // namespace
}  // namespace subak::api
