// The bodies and the signature.
#include "server/notify/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"
#include "server/notify/notice_limits.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Notice started(std::uint64_t seq) {
  return {seq,   1'767'225'600'000,   NoticeKind::kJobStarted, "ml", "3-1042", "train",
          "ana", "Job 3-1042 starts."};
}

TEST(NoticeMessage, OneNoticeHasAllThatIsKnown) {
  const NoticeMessage one{{started(12)}, 0, 0};
  EXPECT_EQ(notice_body(one, NoticeForm::kJson),
            R"({"id":"12","kind":"job_started","time":"2026-01-01T00:00:00.000Z","account":"ml",)"
            R"("job":"3-1042","name":"train","user":"ana","text":"Job 3-1042 starts."})");
  EXPECT_EQ(notice_body(one, NoticeForm::kSlack), R"({"text":"Job 3-1042 starts."})");
}

TEST(NoticeMessage, ASummaryNamesEachId) {
  NoticeMessage many;
  for (std::uint64_t seq = 5; seq < 30; ++seq) many.notices.push_back(started(seq));
  many.notices.back().kind = NoticeKind::kJobEnded;
  EXPECT_EQ(many.id(), "5-29");
  const std::string body = notice_body(many, NoticeForm::kJson);
  EXPECT_THAT(body, HasSubstr(R"("kind":"summary")"));
  EXPECT_THAT(body, HasSubstr(R"("count":25,"ids":["5","6")"));
  EXPECT_THAT(body, HasSubstr("25 notices: 24 job_started, 1 job_ended."));
  EXPECT_THAT(body, HasSubstr("The other 15 are not quoted."));
}

TEST(NoticeMessage, LossesAreCounted) {
  NoticeMessage lost;
  lost.lost = 3;
  lost.lost_seq = 77;
  const std::string body = notice_body(lost, NoticeForm::kJson);
  EXPECT_THAT(body, HasSubstr(R"({"id":"lost-77","kind":"notices_lost","count":3,)"));
  EXPECT_THAT(notice_body(lost, NoticeForm::kSlack), HasSubstr("3 notices were lost"));
}

// A name may neither end the JSON string, nor mention people in Slack, nor hide or turn text.
TEST(NoticeMessage, NamesOfUsersStayText) {
  Notice odd = started(1);
  odd.name = "a\"},{\xe2\x80\xae<!channel>\n\xff";
  odd.text = "Job (" + odd.name + ") & <@U1>";
  const NoticeMessage one{{odd}, 0, 0};
  for (const NoticeForm form : {NoticeForm::kJson, NoticeForm::kSlack}) {
    const std::string body = notice_body(one, form);
    json::Parser parser;
    ASSERT_EQ(parser.parse(body).error(), simdjson::SUCCESS) << body;
    EXPECT_THAT(body, HasSubstr("\\\\u202e"));
    EXPECT_THAT(body, HasSubstr("\\\\n\\\\xff"));
  }
  const std::string slack = notice_body(one, NoticeForm::kSlack);
  EXPECT_THAT(slack, HasSubstr("&lt;!channel&gt;"));
  EXPECT_THAT(slack, HasSubstr("&amp; &lt;@U1&gt;"));
  EXPECT_THAT(slack, Not(HasSubstr("<")));
}

// Source of the value: printf '1767225600.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
TEST(NoticeMessage, TheSignatureIsThatOfOpenssl) {
  EXPECT_EQ(notice_signature("0123456789abcdef", 1'767'225'600'999, "{}"),
            "t=1767225600,v1=99902517b3069f78750aa0520b0493482454c2d30a579c7acc839f3363ca1b88");
}

}  // namespace
}  // namespace subak
