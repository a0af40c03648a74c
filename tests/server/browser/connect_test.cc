#include "server/browser/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "server/api/common/browser_limits.h"
#include "server/api/common/status.h"
#include "server/browser/reads.h"
#include "server/browser/sign_in.h"
#include "subak/v1/job_service.pb.h"

namespace subak::browser {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A request with any headers.
class Request final : public HttpHeaders {
 public:
  Request(std::string method, std::string target, std::string body,
          std::map<std::string, std::string> headers)
      : method_(std::move(method)),
        target_(std::move(target)),
        body_(std::move(body)),
        headers_(std::move(headers)) {}
  std::string_view find(std::string_view name) const override {
    const auto it = headers_.find(std::string(name));
    return it == headers_.end() ? std::string_view() : it->second;
  }
  HttpRequest get() const {
    HttpRequest out{method_, target_, {body_.data(), body_.size()}, "127.0.0.1:9445"};
    out.headers = this;
    return out;
  }

 private:
  std::string method_, target_, body_;
  std::map<std::string, std::string> headers_;
};

constexpr char kQueue[] = "/subak.v1.JobService/ListQueue";

std::variant<Asked, HttpResponse> parse(const std::string& body,
                                        std::map<std::string, std::string> headers = {},
                                        const std::string& target = kQueue) {
  headers.emplace("Content-Type", "application/json");
  return parse_call(Request("POST", target, body, std::move(headers)).get());
}

boost::json::object refusal(const std::variant<Asked, HttpResponse>& got, int status) {
  const auto* const response = std::get_if<HttpResponse>(&got);
  EXPECT_NE(response, nullptr);
  if (response == nullptr) return {};
  EXPECT_EQ(response->status, status) << response->body;
  return boost::json::parse(response->body).as_object();
}

TEST(Reads, TheListIsClosedAndOfReadsAlone) {
  for (const std::string_view path : read_methods()) {
    const auto* const method = find_read(path);
    ASSERT_NE(method, nullptr) << path;
    EXPECT_FALSE(method->client_streaming() || method->server_streaming()) << path;
    const std::string name = method->name();
    EXPECT_TRUE(name.starts_with("Get") || name.starts_with("List") || name == "ExplainJob" ||
                name == "ReportUsage")
        << path;
    // What changes something may be repeated under an id, or only checked.
    EXPECT_EQ(method->input_type()->FindFieldByName("request_id"), nullptr) << path;
    EXPECT_EQ(method->input_type()->FindFieldByName("validate_only"), nullptr) << path;
  }
  EXPECT_EQ(find_read("/subak.v1.JobService/CreateJob"), nullptr);
  EXPECT_EQ(find_read("/subak.v1.JobService/listqueue"), nullptr);
  EXPECT_EQ(find_read(""), nullptr);
}

TEST(Connect, ACall) {
  auto got = parse(R"({"account":"ml","pageSize":7})", {{"Connect-Timeout-Ms", "1500"},
                                                        {"Subak-Min-Sequence", "42"},
                                                        {"Subak-At", "2026-11-30T16:00:00Z"}});
  const auto* const asked = std::get_if<Asked>(&got);
  ASSERT_NE(asked, nullptr) << std::get<HttpResponse>(got).body;
  v1::ListQueueRequest request;
  ASSERT_TRUE(request.ParseFromString(asked->message));
  EXPECT_EQ(request.account(), "ml");
  EXPECT_EQ(request.page_size(), 7);
  EXPECT_EQ(asked->timeout_ms, 1500);
  EXPECT_EQ(asked->min_sequence, "42");
  EXPECT_EQ(asked->at, "2026-11-30T16:00:00Z");
  EXPECT_EQ(std::get<Asked>(parse("{}")).timeout_ms, limits::kBrowserCallMs);
  EXPECT_EQ(std::get<Asked>(parse("{}", {{"Connect-Timeout-Ms", "999999999"}})).timeout_ms,
            limits::kBrowserCallMs);
}

TEST(Connect, AnAnswerSaysOfWhichMomentItIs) {
  Answered answered{grpc::Status::OK, "{}", "42", "1767225600000"};
  EXPECT_THAT(connect_answer(answered).headers,
              HasSubstr("\r\nSubak-Sequence: 42\r\nTrailer-Subak-Sequence: 42"
                        "\r\nSubak-Time: 1767225600000\r\nTrailer-Subak-Time: 1767225600000"));
  answered.time.clear();
  EXPECT_THAT(connect_answer(answered).headers, Not(HasSubstr("Subak-Time")));
}

TEST(Connect, AnAnswerNamesTheReplicaThatGaveIt) {
  Answered answered{grpc::Status::OK, "{}", "42", "", "no", "7", "1500"};
  EXPECT_THAT(connect_answer(answered).headers,
              HasSubstr("\r\nSubak-Leads: no\r\nTrailer-Subak-Leads: no"
                        "\r\nSubak-Epoch: 7\r\nTrailer-Subak-Epoch: 7"
                        "\r\nSubak-Behind-Ms: 1500\r\nTrailer-Subak-Behind-Ms: 1500"));
  answered.leads = answered.epoch = answered.behind_ms = "";
  EXPECT_THAT(connect_answer(answered).headers, Not(HasSubstr("Subak-Leads")));
  EXPECT_THAT(connect_answer(answered).headers, Not(HasSubstr("Subak-Behind-Ms")));
}

TEST(Connect, RefusalsNameFieldValueAndRemedy) {
  auto error = refusal(parse(R"({"acount":"ml"})"), 400);
  EXPECT_EQ(error["code"], "invalid_argument");
  EXPECT_THAT(std::string(error["message"].as_string()), HasSubstr("subak.v1.ListQueueRequest"));
  EXPECT_EQ(error["details"].as_array().at(1).at("debug").at("metadata").at("field"), "body");
  error = refusal(parse("{}", {{"Content-Type", "text/plain"}}), 415);
  EXPECT_THAT(std::string(error["message"].as_string()), HasSubstr("was \"text/plain\""));
  EXPECT_EQ(refusal(parse("{}", {}, "/subak.v1.JobService/CreateJob"), 501)["code"],
            "unimplemented");
  EXPECT_EQ(refusal(parse("{}", {{"Connect-Timeout-Ms", "soon"}}), 400)["code"],
            "invalid_argument");
  EXPECT_EQ(refusal(parse("{}", {{"Connect-Protocol-Version", "2"}}), 400)["code"],
            "invalid_argument");
  for (const char* type : {"application/json", "application/json; charset=utf-8",
                           "application/json;charset=\"UTF-8\""}) {
    EXPECT_TRUE(std::holds_alternative<Asked>(parse("{}", {{"Content-Type", type}}))) << type;
  }
  for (const char* type : {"", "application/jsonx", "application/json; charset=latin1"}) {
    refusal(parse("{}", {{"Content-Type", type}}), 415);
  }
}

TEST(Connect, ABodyAtItsBoundAndAboveIt) {
  std::string body(limits::kMaxBrowserBodyBytes, ' ');
  body.replace(0, 2, "{}");
  EXPECT_TRUE(std::holds_alternative<Asked>(parse(body)));
  EXPECT_EQ(refusal(parse(body + " "), 429)["code"], "resource_exhausted");
}

TEST(Connect, AnErrorHasItsDetails) {
  const HttpResponse response = connect_error(
      api::to_status({ErrorCode::kExhausted, "reads", "", "the queue is full; try again later"}));
  EXPECT_EQ(response.status, 429);
  const auto error = boost::json::parse(response.body).as_object();
  const auto& details = error.at("details").as_array();
  EXPECT_EQ(details.at(0).at("type"), "google.rpc.RetryInfo");
  EXPECT_EQ(details.at(0).at("value"), "CgIIAQ");  // retry_delay of one second, without padding
  EXPECT_EQ(details.at(0).at("debug").at("retryDelay"), "1s");
  EXPECT_EQ(connect_error({grpc::StatusCode::UNAVAILABLE, "x"}).body,
            R"({"code":"unavailable","message":"x"})");
}

TEST(Query, Parameters) {
  EXPECT_EQ(parameter_of("/live?topics=a%2Cb&x=1", "topics"), "a,b");
  EXPECT_EQ(parameter_of("/live?x=1&topics=a+b", "topics"), "a b");
  EXPECT_EQ(parameter_of("/live?topics=%zz%4", "topics"), "%zz%4");
  EXPECT_EQ(parameter_of("/live?mytopics=a", "topics"), "");
  EXPECT_EQ(parameter_of("/live", "topics"), "");
}

TEST(SignIn, TheCookieAmongOthers) {
  const std::string secret(64, 'a');
  EXPECT_EQ(session_of("a=b; __Host-subak=" + secret + "; c=d"), secret);
  EXPECT_EQ(session_of("x__Host-subak=" + secret), "");
  EXPECT_EQ(session_of("__Host-subak=" + secret + "0"), "");
  EXPECT_EQ(session_of("__Host-subak=" + std::string(64, 'G')), "");
  EXPECT_EQ(session_of(";=;__Host-subak"), "");
}

TEST(SignIn, OnlyOwnPaths) {
  EXPECT_EQ(own_path("/queue?a=1#x"), "/queue?a=1#x");
  for (const char* foreign :
       {"", "queue", "//evil", "/\\evil", "https://evil", "/a\r\nb", "/a b"}) {
    EXPECT_EQ(own_path(foreign), "/") << foreign;
  }
}

TEST(SignIn, OriginsAndPlaces) {
  const auto foreign = [](std::map<std::string, std::string> headers) {
    const Request request("POST", "/", "", std::move(headers));
    return is_foreign(request.get());
  };
  EXPECT_FALSE(foreign({}));
  EXPECT_FALSE(foreign({{"Origin", "http://127.0.0.1:9445"}}));
  EXPECT_FALSE(foreign({{"Origin", "https://127.0.0.1:9445"}, {"Sec-Fetch-Site", "cross-site"}}));
  EXPECT_TRUE(foreign({{"Origin", "http://127.0.0.1"}}));
  EXPECT_TRUE(foreign({{"Origin", "null"}}));
  EXPECT_TRUE(foreign({{"Origin", "http://127.0.0.1:9445.evil.example.com"}}));
  EXPECT_TRUE(foreign({{"Sec-Fetch-Site", "same-site"}}));
  Peer peer;
  EXPECT_FALSE(is_local(peer)) << "no IP address";
  peer.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 3, 0, 1};
  peer.port = 80;
  EXPECT_TRUE(is_local(peer));
  EXPECT_EQ(address_text(peer), "ipv4:127.3.0.1:80");
  peer.address[12] = 10;
  EXPECT_FALSE(is_local(peer));
  peer.address = {};
  peer.address[15] = 1;
  EXPECT_TRUE(is_local(peer));
  EXPECT_EQ(address_text(peer), "ipv6:[::1]:80");
}

}  // namespace
}  // namespace subak::browser
