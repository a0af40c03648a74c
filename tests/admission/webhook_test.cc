#include "admission/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

class WebhookTest : public ::testing::Test {
 protected:
  HttpResponse call(std::string_view target, std::string body, std::string_view method = "POST") {
    body.reserve(body.size() + kBodyPadding);
    return webhook_.handle({method, target, {body.data(), body.size()}});
  }
  std::uint64_t count(Verdict v, Because b) const {
    return webhook_.counters().decisions[static_cast<std::size_t>(v)][static_cast<std::size_t>(b)];
  }

  std::shared_ptr<const View> view_ = test::fixed_view();
  std::int64_t now_ns_ = 0;
  std::vector<std::string> seen_;
  Webhook webhook_{
      {[this] {
         return AdmissionBasis{view_, std::make_shared<const AdmissionConfig>()};
       },
       false, [this] { return now_ns_ += 5'000; },
       [this](std::string_view d, std::string_view r, std::int64_t us) {
         seen_.push_back(std::string(d) + " " + std::string(r) + " " + std::to_string(us));
       },
       [this](std::string_view way) { seen_.push_back("bypass " + std::string(way)); }}};
  std::string gpu_ = test::review_text(test::pod(test::container("nvidia.com/gpu", "1")));
};

TEST_F(WebhookTest, Routes) {
  for (const char* target :
       {"/mutate", "/mutate/", "/mutate/c1", "/mutate/c1?timeout=5s", "/mutate?timeout=10s"}) {
    const HttpResponse r = call(target, gpu_);
    EXPECT_EQ(r.status, 200) << target;
    EXPECT_EQ(r.content_type, "application/json");
    EXPECT_THAT(r.body, HasSubstr("\"patchType\":\"JSONPatch\"")) << target;
  }
  EXPECT_THAT(call("/validate/c1", gpu_).body, HasSubstr("\"allowed\":false"));
  for (const char* target : {"/", "/mutates", "/mutate/c1/x", "/metrics"}) {
    EXPECT_EQ(call(target, gpu_).status, 404) << target;
  }
  EXPECT_EQ(call("/mutate", "", "GET").status, 405);
}

TEST_F(WebhookTest, AnUnknownClusterIsLeftAlone) {
  EXPECT_THAT(call("/mutate/c7", gpu_).body, HasSubstr(R"("allowed":true,"warnings":["the web)"));
  EXPECT_EQ(count(Verdict::kUntouched, Because::kUnknownCluster), 1u);
}

TEST_F(WebhookTest, IdleConnectionsOutliveThoseOfTheApiServer) {
  constexpr DurationMs kClientGoIdleMs = 90 * kSecondMs;
  EXPECT_GT(ListenerOptions().idle_ms, kClientGoIdleMs + ListenerOptions().tick_ms);
}

TEST_F(WebhookTest, BadRequestsSayWhy) {
  const HttpResponse r = call("/mutate/c1", "{");
  EXPECT_EQ(r.status, 400);
  EXPECT_THAT(r.body, HasSubstr("body: "));
  EXPECT_EQ(count(Verdict::kBadRequest, Because::kMalformed), 1u);
  EXPECT_EQ(call("/mutate/c1", gpu_).status, 200);
}

TEST_F(WebhookTest, CountsAndTimes) {
  call("/mutate/c1", gpu_);
  call("/mutate/c1", test::review_text(test::pod(R"({"securityContext":{"privileged":true}})")));
  EXPECT_EQ(seen_,
            (std::vector<std::string>{"patched gated 5", "bypass privileged", "denied bypass 5"}));
  EXPECT_EQ(count(Verdict::kPatched, Because::kGated), 1u);
  EXPECT_EQ(webhook_.counters().bypasses[static_cast<std::size_t>(Bypass::kPrivileged)], 1u);
}

TEST_F(WebhookTest, WithoutAViewItIsNotReady) {
  view_ = nullptr;
  EXPECT_EQ(call("/mutate/c1", gpu_).status, 503);
}

TEST(WithoutAView, AReplicaGates) {
  WebhookOptions options;
  options.basis = [] { return AdmissionBasis{nullptr, std::make_shared<const AdmissionConfig>()}; };
  options.gates_without_view = true;
  options.now_ns = [] { return 0; };
  Webhook webhook(std::move(options));
  std::string body = test::review_text(test::pod(test::container("nvidia.com/gpu", "1")));
  body.reserve(body.size() + kBodyPadding);
  const HttpResponse r = webhook.handle({"POST", "/mutate/any", {body.data(), body.size()}});
  EXPECT_EQ(r.status, 200);
  EXPECT_THAT(r.body, HasSubstr(R"("allowed":true)"));
  EXPECT_THAT(r.body, HasSubstr("has not heard from its leader yet"));
}

}  // namespace
}  // namespace subak
