// The receivers file, and the marks.
#include "server/notify/receivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "server/notify/marks.h"
#include "server/notify/notice_limits.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReceiversFile : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.file(name);
    std::ofstream(path) << text;
    return path;
  }
  Result<std::vector<NoticeReceiver>> read(const std::string& text) {
    return read_receivers(write("receivers.yaml", text));
  }
  // Returns the message of the refusal of one receiver with these members.
  std::string refusal(const std::string& members) {
    const auto got = read("receivers:\n- {" + members + "}\n");
    return got ? "" : got.error().message();
  }

  TempFolder folder_;
};

TEST_F(ReceiversFile, HasAllKeys) {
  const std::string secret = write("secret", "0123456789abcdef\n");
  const auto got = read(
      "receivers:\n- name: ml\n  url: https://a.example/x?y=z\n  account: ml.vision\n"
      "  secretFile: " +
      secret +
      "\n  caFile: /ca.pem\n"
      "- {name: chat, url: 'http://127.0.0.1:8080/x', form: slack}\n");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, (std::vector<NoticeReceiver>{
                      {"ml", "https://a.example/x?y=z", "ml.vision", NoticeForm::kJson,
                       "0123456789abcdef", "/ca.pem"},
                      {"chat", "http://127.0.0.1:8080/x", "", NoticeForm::kSlack, "", ""}}));
}

TEST_F(ReceiversFile, RefusesWhatIsNotSafe) {
  const std::string slack = "name: a, form: slack, url: ";
  for (const char* const good : {"'https://h/x'", "'http://localhost/x'", "'http://[::1]:9/x'"}) {
    EXPECT_EQ(refusal(slack + good), "") << good;
  }
  for (const char* const bad : {"'http://example.com/x'", "'http://127.0.0.1@example.com/'",
                                "'https://u:p@h/'", "'http://127.0.0.1.example.com/'", "'ftp://h/'",
                                "'file:///etc/passwd'", "'https://h/#x'", "h/x"}) {
    const std::string got = refusal(slack + bad);
    EXPECT_THAT(got, HasSubstr("receivers.yaml:2: url")) << bad;
    EXPECT_THAT(got, HasSubstr("want a URL with https")) << bad;
    EXPECT_THAT(got, Not(HasSubstr("example"))) << "a URL may have a secret in it";
  }
}

TEST_F(ReceiversFile, NamesEachMistake) {
  EXPECT_THAT(refusal("name: a, url: 'https://h/'"), HasSubstr("secretFile"));
  EXPECT_THAT(refusal("name: a, url: 'https://h/', secretFile: /nowhere"),
              HasSubstr("want a file that can be read"));
  EXPECT_THAT(refusal("name: a, url: 'https://h/', secretFile: " + write("s", "short\n")),
              HasSubstr("16 to 1024 bytes"));
  EXPECT_THAT(refusal("name: A b, url: 'https://h/'"), HasSubstr("want a name of a-z"));
  EXPECT_THAT(refusal("url: 'https://h/'"), HasSubstr("name"));
  EXPECT_THAT(refusal("name: a, form: slack"), HasSubstr("url"));
  EXPECT_THAT(refusal("name: a, form: teams"), HasSubstr("want json or slack"));
  EXPECT_THAT(refusal("name: a, colour: red"), HasSubstr("colour"));
  EXPECT_THAT(read("other: 1\n").error().message(), HasSubstr("want the key receivers"));
  const std::string one = "- {name: a, form: slack, url: 'https://h/'}\n";
  EXPECT_THAT(read("receivers:\n" + one + one).error().message(), HasSubstr("each name once"));
  std::string many = "receivers:\n";
  for (std::size_t i = 0; i <= limits::kMaxReceivers; ++i) many += one;
  EXPECT_THAT(read(many).error().message(), HasSubstr("at most 32 receivers"));
  EXPECT_THAT(read_receivers("/nowhere").error().message(), HasSubstr("notices"));
}

TEST(NoticeMarks, ReadBackAsWritten) {
  const NoticeMarks marks{{"a", {1, 2, 3, 4}}, {"b", {18'446'744'073'709'551'615u, 0, 0, 0}}};
  EXPECT_EQ(*parse_marks(marks_text(marks)), marks);
  EXPECT_EQ(*parse_marks(""), NoticeMarks());
  for (const char* const bad : {"a\n", "a 1 2 3\n", "a 1 2 3 x\n", " 1 2 3 4\n", "a 1 2 3 4 5\n",
                                "a 1 2 3 4\na 1 2 3 4\n", "a -1 2 3 4\n"}) {
    EXPECT_FALSE(parse_marks(bad)) << bad;
  }
}

TEST(NoticeMarks, SayWhereAReceiverBegins) {
  const TimeMs now = 10 * limits::kMaxNoticeAgeMs;
  const NoticeMark mark{50, 1, 2, now - limits::kMaxNoticeAgeMs};
  const NoticeMarks marks{
      {"a", mark}, {"old", {50, 1, 2, mark.time_ms - 1}}, {"far", {99, 0, 0, now}}};
  EXPECT_EQ(where_to_begin(marks, "a", 80, now), mark);
  EXPECT_EQ(where_to_begin(marks, "new", 80, now), (NoticeMark{80, 0, 0, now}));
  EXPECT_EQ(where_to_begin(marks, "old", 80, now), (NoticeMark{80, 3, 0, now}));
  EXPECT_EQ(where_to_begin(marks, "far", 80, now), (NoticeMark{80, 0, 0, now}));
}

}  // namespace
}  // namespace subak
